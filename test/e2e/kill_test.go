package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rigup.dev/rigup/core/event"
)

// moment is where in its stream of events a run is killed: at the start of a stage, or once the stage has
// told of n steps, changes or progress.
type moment struct {
	stage string
	after int
}

func (m moment) String() string {
	if m.after == 0 {
		return m.stage + " start"
	}
	return fmt.Sprintf("%s middle (%d)", m.stage, m.after)
}

// TestC9_KilledAnywhere kills an install with -9 at the start and in the middle of every stage. The next run
// completes, and the end is the same.
func TestC9_KilledAnywhere(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("kill")
	// A whole run, with the image still to be pulled, tells how many events each stage has, so that its middle
	// is known.
	w.forgetImage()
	seen := map[string]int{}
	var order []string
	for _, e := range events(t, w.ok("install", "--cluster", c, "--output", "json").stdout) {
		switch e.Type {
		case event.TypeStage:
			if e.State == event.Running {
				order = append(order, e.Stage)
				seen[e.Stage] = 0
			}
		case event.TypeStep, event.TypeChange, event.TypeProgress:
			seen[e.Stage]++
		}
	}
	want := w.endState(c)
	var moments []moment
	for _, s := range order {
		moments = append(moments, moment{s, 0})
		if seen[s] > 0 {
			moments = append(moments, moment{s, (seen[s] + 1) / 2})
		}
		if seen[s] > 3 {
			moments = append(moments, moment{s, seen[s]})
		}
	}
	for _, m := range moments {
		t.Run(m.String(), func(t *testing.T) {
			w := w.at(t)
			w.ok("uninstall", "--cluster", c, "--delete-data", "--yes")
			if m.stage == "image" {
				w.forgetImage()
			}
			if !w.killAt(c, m) {
				t.Logf("the run was over before %v", m)
			}
			w.install(c)
			if got := w.endState(c); got != want {
				t.Errorf("the end differs:\n%s\nwant:\n%s", got, want)
			}
			if w.install(c).Result.Changed {
				t.Error("not settled after the second run")
			}
		})
	}
}

// forgetImage removes the node's image from the engine. Nothing runs it.
func (w *world) forgetImage() {
	w.t.Helper()
	ref := w.pinnedImage()
	if _, err := w.cli.ImageRemove(w.ctx(), ref, image.RemoveOptions{Force: true}); err != nil && !cerrdefs.IsNotFound(err) {
		w.t.Fatal(err)
	}
}

// killAt runs install and kills it at the moment; false if the run ended before.
func (w *world) killAt(c string, m moment) bool {
	w.t.Helper()
	cmd := w.command(nil, "install", "--cluster", c, "--output", "json")
	out, err := cmd.StdoutPipe()
	must(w.t, err)
	must(w.t, cmd.Start())
	n, here := 0, false
	for s := bufio.NewScanner(out); s.Scan(); {
		var e event.Event
		must(w.t, json.Unmarshal(s.Bytes(), &e))
		if e.Stage != m.stage {
			continue
		}
		switch e.Type {
		case event.TypeStage:
			here = e.State == event.Running && m.after == 0
		case event.TypeStep, event.TypeChange, event.TypeProgress:
			n++
			here = m.after > 0 && n == m.after
		}
		if here {
			break
		}
	}
	must(w.t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	return here
}

// endState is what an install leaves, without what differs from run to run.
func (w *world) endState(c string) string {
	w.t.Helper()
	var b strings.Builder
	n, _ := w.node(c)
	fmt.Fprintln(&b, "node", n.Names, n.Image, n.State)
	cs := w.kube(c)
	ns, err := cs.CoreV1().Namespaces().List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	for _, n := range ns.Items {
		fmt.Fprintln(&b, "namespace", n.Name)
	}
	d, err := cs.AppsV1().Deployments("").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	for _, d := range d.Items {
		fmt.Fprintln(&b, "deployment", d.Namespace, d.Name, d.Status.ReadyReplicas, d.Spec.Template.Spec.Containers[0].Image)
	}
	p, err := cs.CoreV1().PersistentVolumeClaims("").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	for _, p := range p.Items {
		fmt.Fprintln(&b, "claim", p.Namespace, p.Name, p.Status.Phase)
	}
	s, err := cs.CoreV1().Secrets("rigup").List(w.ctx(), metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	must(w.t, err)
	fmt.Fprintln(&b, "deployed releases", len(s.Items))
	info, err := os.Stat(w.home + "/.kube/config")
	must(w.t, err)
	fmt.Fprintln(&b, "kubeconfig", info.Mode())
	return b.String()
}

// TestC8_TwoInstallsAtOnce: one works, the other says who holds the lock.
func TestC8_TwoInstallsAtOnce(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("two")
	first := w.command(nil, "install", "--cluster", c, "--output", "json")
	out, err := first.StdoutPipe()
	must(t, err)
	must(t, first.Start())
	s := bufio.NewScanner(out)
	s.Scan() // its first event: it holds the lock
	w.fails(2, []string{"Another rigup works on cluster two", fmt.Sprintf("process %d", first.Process.Pid)}, "install", "--cluster", c)
	for s.Scan() {
	}
	must(t, first.Wait())
	w.install(c)
}

// TestC9_Interrupt: Ctrl-C ends the run soon, with 130 and what to do next.
func TestC9_Interrupt(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("intr")
	cmd := w.command(nil, "install", "--cluster", c, "--output", "json")
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var last event.Event
	var at time.Time
	for s := bufio.NewScanner(out); s.Scan(); {
		must(t, json.Unmarshal(s.Bytes(), &last))
		if last.Stage == "cluster" && last.Type == event.TypeStep && at.IsZero() {
			at = time.Now()
			must(t, cmd.Process.Signal(syscall.SIGINT))
		}
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 || last.Type != event.TypeResult || last.Exit == nil || *last.Exit != 130 || last.Reason == nil {
		t.Errorf("exit %d, last event %+v", cmd.ProcessState.ExitCode(), last)
	}
	if took := time.Since(at); took > 15*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	w.install(c)
}
