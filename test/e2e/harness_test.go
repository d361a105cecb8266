// Package e2e runs bin/rigup as a user would, against the lab's real engine, registry and Kubernetes.
//
// The tests run inside the network of one of the lab's engines (see test/run.sh), with what `lab info`
// says in the file that RIGUP_LAB_INFO names. Without it they are skipped, and say so.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
	"github.com/google/jsonschema-go/jsonschema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/event"
)

// lab is what the lab says of itself.
type lab struct {
	Engine   string `json:"engine"`
	Socket   string `json:"socket"`
	Address  string `json:"address"`
	Lab      string `json:"lab"` // its program
	Mirror   string `json:"mirror"`
	Registry struct{ Address, User, Password string }
}

// world is one user on one machine: a home of its own, and the lab's engine.
type world struct {
	t    *testing.T
	lab  lab
	home string
	env  []string
	cli  *client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	file := os.Getenv("RIGUP_LAB_INFO")
	if file == "" {
		t.Skip("skipped: the lab is not up (make test brings it up where the machine can run it)")
	}
	w := &world{t: t, home: t.TempDir()}
	b, err := os.ReadFile(file)
	must(t, err)
	must(t, json.Unmarshal(b, &w.lab))
	w.cli, err = client.NewClientWithOpts(client.WithHost("unix://"+w.lab.Socket), client.WithAPIVersionNegotiation())
	must(t, err)
	t.Cleanup(func() { w.cli.Close() })
	w.env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "DOCKER_HOST=unix://" + w.lab.Socket, "LANG=C.UTF-8"}
	return w
}

// cluster names a cluster of this test and removes it in the end, whatever happened.
func (w *world) cluster(name string) string {
	w.t.Helper()
	w.purge(name)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.autopsy(name)
		}
		w.purge(name)
	})
	return name
}

// purge removes a cluster's objects by label, without rigup.
func (w *world) purge(cluster string) {
	ctx := w.ctx()
	f := filters.NewArgs(filters.Arg("label", "dev.rigup.cluster="+cluster))
	cs, _ := w.cli.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	for _, c := range cs {
		_ = w.cli.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}
	ns, _ := w.cli.NetworkList(ctx, network.ListOptions{Filters: f})
	for _, n := range ns {
		_ = w.cli.NetworkRemove(ctx, n.ID)
	}
	vs, _ := w.cli.VolumeList(ctx, volume.ListOptions{Filters: f})
	for _, v := range vs.Volumes {
		_ = w.cli.VolumeRemove(ctx, v.Name, true)
	}
}

// autopsy shows what a failed test leaves.
func (w *world) autopsy(cluster string) {
	out, _ := w.dockerCommand("logs", "--tail", "30", "rigup-"+cluster+"-server-0").CombinedOutput()
	w.t.Logf("node log:\n%s", out)
	logs, _ := filepath.Glob(filepath.Join(w.home, ".rigup/clusters", cluster, "log/*.log"))
	if len(logs) > 0 {
		b, _ := os.ReadFile(logs[len(logs)-1])
		lines := strings.Split(string(b), "\n")
		w.t.Logf("run log:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
}

// dockerCommand is Docker's own client on the lab's engine, with the world's Docker configuration.
func (w *world) dockerCommand(args ...string) *exec.Cmd {
	return exec.Command("docker", append([]string{"--config", filepath.Join(w.home, ".docker"), "-H", "unix://" + w.lab.Socket}, args...)...)
}

// docker runs it, expects success and returns what it says.
func (w *world) docker(args ...string) string {
	w.t.Helper()
	out, err := w.dockerCommand(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("docker %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	w.t.Cleanup(cancel)
	return ctx
}

// binary is the program under test.
func binary(t *testing.T) string {
	t.Helper()
	p := os.Getenv("RIGUP_BIN")
	if p == "" {
		p = "../../bin/rigup"
	}
	p, err := filepath.Abs(p)
	must(t, err)
	return p
}

// ran is a finished run of the program.
type ran struct {
	stdout, stderr string
	exit           int
	took           time.Duration
}

func (r ran) all() string { return r.stdout + r.stderr }

// command is the program with the world's environment, extended by env.
func (w *world) command(env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(w.ctx(), binary(w.t), args...)
	c.Env = append(append([]string{}, w.env...), env...)
	c.Dir = w.home
	return c
}

// run runs the program to its end.
func (w *world) run(args ...string) ran { w.t.Helper(); return w.runEnv(nil, args...) }

func (w *world) runEnv(env []string, args ...string) ran {
	w.t.Helper()
	c := w.command(env, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	begun := time.Now()
	err := c.Run()
	r := ran{out.String(), errs.String(), c.ProcessState.ExitCode(), time.Since(begun)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("rigup %s: %v", strings.Join(args, " "), err)
	}
	w.t.Logf("rigup %s -> %d in %.1fs\n%s", strings.Join(args, " "), r.exit, r.took.Seconds(), indent(r.all()))
	return r
}

// ok runs the program and expects success.
func (w *world) ok(args ...string) ran {
	w.t.Helper()
	r := w.run(args...)
	if r.exit != 0 {
		w.t.Fatalf("rigup %s ended with %d", strings.Join(args, " "), r.exit)
	}
	return r
}

// fails runs the program, expects the exit code, and each of the words in what it says.
func (w *world) fails(exit int, words []string, args ...string) ran {
	w.t.Helper()
	r := w.run(args...)
	if r.exit != exit {
		w.t.Errorf("exit %d, want %d", r.exit, exit)
	}
	flat := strings.Join(strings.Fields(r.all()), " ")
	for _, word := range words {
		if !strings.Contains(flat, word) {
			w.t.Errorf("%q is not said", word)
		}
	}
	if strings.Contains(r.all(), "goroutine ") || strings.Contains(r.all(), "internal") && exit != 1 {
		w.t.Errorf("an internal error was shown")
	}
	return r
}

// events decodes the output of --output json, and holds each line against the published schema.
func events(t *testing.T, out string) []event.Event {
	t.Helper()
	schema := eventSchema(t)
	var all []event.Event
	for line := range strings.Lines(out) {
		var raw any
		if err := json.Unmarshal([]byte(line), &raw); err != nil {
			t.Fatalf("not JSON: %q: %v", line, err)
		}
		if err := schema.Validate(raw); err != nil {
			t.Errorf("not as the schema says: %s: %v", line, err)
		}
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("not an event: %q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func eventSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tree(), "core/report/schema/event.schema.json"))
	must(t, err)
	var s jsonschema.Schema
	must(t, json.Unmarshal(b, &s))
	r, err := s.Resolve(nil)
	must(t, err)
	return r
}

// tree is the root of the sources.
func tree() string {
	if dir := os.Getenv("RIGUP_TREE"); dir != "" {
		return dir
	}
	return "../.."
}

// result is the last event, which must be the result.
func result(t *testing.T, out string) event.Event {
	t.Helper()
	all := events(t, out)
	if len(all) == 0 || all[len(all)-1].Type != event.TypeResult || all[len(all)-1].Exit == nil {
		t.Fatalf("the output does not end with a result")
	}
	return all[len(all)-1]
}

// install installs with JSON output, expects success and returns the result.
func (w *world) install(cluster string, args ...string) event.Event {
	w.t.Helper()
	r := w.ok(append([]string{"install", "--cluster", cluster, "--output", "json"}, args...)...)
	e := result(w.t, r.stdout)
	if *e.Exit != 0 || e.Mode != "cpu" || e.Reason == nil || e.Result == nil {
		w.t.Fatalf("result %+v", e)
	}
	return e
}

// kube is a client for the context that rigup merged into the world's kubeconfig.
func (w *world) kube(cluster string) kubernetes.Interface {
	w.t.Helper()
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: filepath.Join(w.home, ".kube/config")},
		&clientcmd.ConfigOverrides{CurrentContext: "rigup-" + cluster}).ClientConfig()
	must(w.t, err)
	cs, err := kubernetes.NewForConfig(cfg)
	must(w.t, err)
	return cs
}

// node is the container of the cluster's node, by label.
func (w *world) node(cluster string) (container.Summary, bool) {
	w.t.Helper()
	cs, err := w.cli.ContainerList(w.ctx(), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "dev.rigup.cluster="+cluster))})
	must(w.t, err)
	if len(cs) == 0 {
		return container.Summary{}, false
	}
	return cs[0], true
}

// eventually asks until f answers without error.
func eventually(t *testing.T, what string, limit time.Duration, f func() error) {
	t.Helper()
	end := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(content), 0o644))
	return path
}

func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%s", w, indent(text))
		}
	}
}
