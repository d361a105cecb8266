// Command bench measures rigup against what the same work costs by hand, in the same run on the same machine,
// and prints ratios: absolute times say little on shared machines. It runs inside the lab (see bench.sh).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/pins"
)

const cluster = "bench"

type bench struct {
	rigup, home, image string
	rounds             int
}

func main() {
	b := bench{}
	flag.StringVar(&b.rigup, "rigup", "bin/rigup", "the executable")
	flag.IntVar(&b.rounds, "rounds", 3, "how often the slow things are measured; medians are printed")
	flag.Parse()
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run() (err error) {
	if b.rigup, err = filepath.Abs(b.rigup); err != nil {
		return err
	}
	p, err := pins.Read(os.DirFS("."))
	if err != nil {
		return err
	}
	b.image = p.K3s.Image
	if b.home, err = os.MkdirTemp("", "rigup-bench-*"); err != nil {
		return err
	}
	defer os.RemoveAll(b.home)
	defer b.clean()
	fmt.Printf("%-46s %12s %12s %8s\n", "", "rigup", "by hand", "ratio")
	for _, m := range []func() error{b.start, b.size, b.decide, b.install, b.nothing, b.load} {
		if err := m(); err != nil {
			return err
		}
	}
	return nil
}

func row(what, rigup, hand, ratio string) {
	fmt.Printf("%-46s %12s %12s %8s\n", what, rigup, hand, ratio)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
func millis(d time.Duration) string  { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }

func compare(what string, rigup, hand time.Duration) {
	row(what, seconds(rigup), seconds(hand), fmt.Sprintf("%.2f", rigup.Seconds()/hand.Seconds()))
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// start compares with a program that does nothing.
func (b *bench) start() error {
	var mine, floor []time.Duration
	var memory int64
	for range 21 {
		for _, c := range []struct {
			into *[]time.Duration
			args []string
		}{{&mine, []string{b.rigup, "version"}}, {&floor, []string{"/bin/true"}}} {
			cmd := exec.Command(c.args[0], c.args[1:]...)
			begun := time.Now()
			if err := cmd.Run(); err != nil {
				return err
			}
			*c.into = append(*c.into, time.Since(begun))
			if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && c.into == &mine {
				memory = max(memory, u.Maxrss)
			}
		}
	}
	row("start-up (rigup version; by hand: /bin/true)", millis(median(mine)), millis(median(floor)), "")
	row("start-up, largest memory", fmt.Sprintf("%d MB", memory/1024), "", "")
	return nil
}

func (b *bench) size() error {
	info, err := os.Stat(b.rigup)
	if err != nil {
		return err
	}
	row("executable", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "", "")
	return nil
}

// install compares a whole install, and its cluster stage, with a node that is started by hand and awaited.
func (b *bench) install() error {
	var whole, stage, hand []time.Duration
	for range b.rounds {
		b.clean()
		d, err := b.byHand()
		if err != nil {
			return err
		}
		hand = append(hand, d)
		b.clean()
		begun := time.Now()
		events, err := b.events("install")
		if err != nil {
			return err
		}
		whole = append(whole, time.Since(begun))
		for _, e := range events {
			if e.Type == event.TypeStage && e.Stage == "cluster" && e.State == event.Done {
				stage = append(stage, time.Duration(e.Seconds*float64(time.Second)))
			}
		}
	}
	compare("cluster stage (by hand: docker run until ready)", median(stage), median(hand))
	compare("whole install (by hand: the same node alone)", median(whole), median(hand))
	return nil
}

func (b *bench) nothing() error {
	var all []time.Duration
	for range 7 {
		begun := time.Now()
		events, err := b.events("install")
		if err != nil {
			return err
		}
		if events[len(events)-1].Result.Changed {
			return fmt.Errorf("a run with nothing to do changed something")
		}
		all = append(all, time.Since(begun))
	}
	row("install with nothing to do", seconds(median(all)), "", "")
	return nil
}

// load compares loading an image of the engine with docker save | ctr import.
func (b *bench) load() error {
	node := "rigup-" + cluster + "-server-0"
	var mine, hand []time.Duration
	forget := func() error { return sh("docker exec " + node + " ctr -n k8s.io images rm --sync " + b.image) }
	for range b.rounds {
		begun := time.Now()
		if err := sh("docker save " + b.image + " | docker exec -i " + node + " ctr -n k8s.io images import -"); err != nil {
			return err
		}
		hand = append(hand, time.Since(begun))
		if err := forget(); err != nil {
			return err
		}
		events, err := b.events("install", "--load-image", b.image)
		if err != nil {
			return err
		}
		for i, e := range events {
			if e.Type == event.TypeStep && e.Text == "loading "+b.image {
				mine = append(mine, at(events[i+1]).Sub(at(e)))
			}
		}
		if err := forget(); err != nil {
			return err
		}
	}
	compare("image load (by hand: docker save | ctr import)", median(mine), median(hand))
	return nil
}

func at(e event.Event) time.Time {
	t, err := time.Parse(time.RFC3339, e.Time)
	if err != nil {
		panic(err) // the program's own output
	}
	return t
}

func (b *bench) events(args ...string) ([]event.Event, error) {
	cmd := exec.Command(b.rigup, append(args, "--cluster", cluster, "--output", "json")...)
	cmd.Env = append(os.Environ(), "HOME="+b.home)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("rigup %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	var all []event.Event
	for line := range bytes.Lines(out) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

const byHand = `set -e
docker network create bench-hand >/dev/null
id=$(docker create --name bench-hand --hostname bench-hand --privileged --tmpfs /run --tmpfs /var/run --network bench-hand \
  -v bench-hand-k3s:/var/lib/rancher/k3s -v bench-hand-kubelet:/var/lib/kubelet -v bench-hand-node:/etc/rancher/node \
  -p 127.0.0.1:16443:6443 IMAGE server --disable=traefik,servicelb --node-name=bench-hand --tls-san=127.0.0.1 \
  --kubelet-arg=fail-cgroupv1=false)
mirror=$(docker info --format '{{index .RegistryConfig.Mirrors 0}}')
mkdir -p HOME/etc/rancher/k3s
printf 'mirrors:\n  docker.io:\n    endpoint: ["%s"]\n' "$mirror" > HOME/etc/rancher/k3s/registries.yaml
docker cp HOME/etc bench-hand:/ >/dev/null
docker start bench-hand >/dev/null
`

// byHand starts the node with the Docker client and awaits what rigup awaits: the API, the node, DNS.
func (b *bench) byHand() (time.Duration, error) {
	begun := time.Now()
	if err := sh(strings.NewReplacer("IMAGE", b.image, "HOME", b.home).Replace(byHand)); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var cs kubernetes.Interface
	for ready := false; !ready; ready = cs != nil && up(ctx, cs) {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if cs == nil {
			cs = b.connect()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(begun), nil
}

func (b *bench) connect() kubernetes.Interface {
	file := filepath.Join(b.home, "hand.yaml")
	if sh("docker cp bench-hand:/etc/rancher/k3s/k3s.yaml "+file) != nil {
		return nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("https://127.0.0.1:16443", file)
	if err != nil {
		return nil
	}
	cfg.QPS = -1
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil
	}
	return cs
}

func up(ctx context.Context, cs kubernetes.Interface) bool {
	n, err := cs.CoreV1().Nodes().Get(ctx, "bench-hand", metav1.GetOptions{})
	if err != nil || !slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == "Ready" && c.Status == "True" }) {
		return false
	}
	d, err := cs.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	return err == nil && d.Status.AvailableReplicas > 0
}

// clean removes what earlier rounds left.
func (b *bench) clean() {
	_ = sh("docker rm -fv bench-hand")
	_ = sh("docker network rm bench-hand")
	_ = sh("docker volume rm bench-hand-k3s bench-hand-kubelet bench-hand-node")
	cmd := exec.Command(b.rigup, "uninstall", "--cluster", cluster, "--delete-data", "--yes")
	cmd.Env = append(os.Environ(), "HOME="+b.home)
	_ = cmd.Run()
}

func sh(script string) error {
	out, err := exec.Command("bash", "-o", "pipefail", "-c", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
