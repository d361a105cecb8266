package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

var update = flag.Bool("update", false, "write the golden files")

// scripted is a runner that does what a test says, and keeps what it was asked.
type scripted struct {
	asked  options
	calls  []string
	play   func(ctx context.Context, sink event.Sink) int
	status report.Status
	err    error

	machine sdk.Machine
}

func (s *scripted) run(ctx context.Context, call string, sink event.Sink) int {
	s.calls = append(s.calls, call)
	if s.play != nil {
		return s.play(ctx, sink)
	}
	exit := 0
	sink.Emit(event.Event{Type: event.TypeRun, Run: &event.Run{Schema: event.Schema, Command: call, Cluster: s.asked.Cluster.Value, Version: "0.1.0"}})
	sink.Emit(event.Event{Type: event.TypeResult, Mode: "cpu", Exit: &exit, Result: &event.Result{Changed: true}})
	return 0
}

func (s *scripted) Install(ctx context.Context, sink event.Sink, plan bool) int {
	if plan {
		return s.run(ctx, "plan", sink)
	}
	return s.run(ctx, "install", sink)
}

func (s *scripted) Uninstall(ctx context.Context, sink event.Sink) int {
	return s.run(ctx, "uninstall", sink)
}

func (s *scripted) Status(context.Context) (report.Status, error) { return s.status, s.err }

func (s *scripted) Kubeconfig(_ context.Context, merge bool) (kubeconfigFile, error) {
	path := "/own/kubeconfig"
	if merge {
		path = "/home/ada/.kube/config"
	}
	return kubeconfigFile{[]byte("apiVersion: v1\n"), path, "rigup"}, s.err
}

// machine is a program in a world of its own.
type machine struct {
	*program
	out, err bytes.Buffer
	fake     *scripted
	env      map[string]string
	dir      string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{fake: &scripted{}, env: map[string]string{}, dir: t.TempDir()}
	at := func(s string) func() (string, error) {
		return func() (string, error) { return filepath.Join(m.dir, s), nil }
	}
	m.program = &program{
		in: strings.NewReader(""), out: &m.out, err: &m.err, env: func(k string) string { return m.env[k] },
		now:  func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC) },
		home: at("home"), configDir: at("config"), workDir: at("work"),
		runner: func(_ context.Context, o options) (runner, error) {
			m.fake.asked = o
			return m.fake, nil
		},
	}
	return m
}

func (m *machine) do(t *testing.T, want int, args ...string) string {
	t.Helper()
	m.out.Reset()
	m.err.Reset()
	if got := m.run(t.Context(), args); got != want {
		t.Errorf("rigup %q: exit %d, want %d\n%s%s", args, got, want, &m.out, &m.err)
	}
	return m.out.String() + m.err.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestGoldenHelp(t *testing.T) {
	m := newMachine(t)
	golden(t, "welcome", m.do(t, 0))
	golden(t, "help", m.do(t, 0, "--help"))
	for _, c := range names(m.app().Commands) {
		golden(t, "help-"+c, m.do(t, 0, c, "--help"))
		if got := m.do(t, 0, "help", c); got != m.do(t, 0, c, "--help") {
			t.Errorf("help %s says something else:\n%s", c, got)
		}
		if !strings.Contains(m.do(t, 0, c, "--help"), "Example\n  ") {
			t.Errorf("%s has no example", c)
		}
	}
}

// A mistake on the command line names the word, the value and what is allowed, in two lines at most, ends with
// 2, and never dumps a help.
func TestMistakesAreNamed(t *testing.T) {
	for _, x := range []struct{ args, want string }{
		{"instal", "does not know the command instal.\n       did you mean rigup install?"},
		{"xyzzy", "rigup --help"},
		{"assets exprt .", "did you mean rigup assets export?"},
		{"assets", "needs one of: list, export, verify"},
		{"assets export", "rigup assets export needs DIR"},
		{"install --gpuu off", "the flag --gpuu.\n       did you mean --gpu?"},
		{"install --xyzzy", "rigup install --help"},
		{"--gpu off install", "did you mean rigup install --gpu?"},
		{"install --gpu maybe", "--gpu cannot be maybe: it is auto, off or require"},
		{"install --yes=maybe", "--yes cannot be maybe"},
		{"install --chart", "--chart needs a value: --chart CHART"},
		{"install --chart --yes", "--chart needs a value"},
		{"install now", "the argument now"},
		{"install --cluster Lab", "--cluster cannot be Lab: use up to 32"},
		{"status --output xml", "--output cannot be xml: it is text or json"},
		{"completion tcsh", "SHELL cannot be tcsh: it is bash, zsh, fish or powershell"},
		{"kubeconfig --merge --path", "--merge"},
		{"install --config none.yaml", "none.yaml has a mistake: it does not exist"},
	} {
		m := newMachine(t)
		got := m.do(t, reason.ExitUsage, strings.Fields(x.args)...)
		if !strings.Contains(got, x.want) || strings.Count(got, "\n") > 2 || m.out.Len() > 0 {
			t.Errorf("rigup %s:\n%s", x.args, got)
		}
		if len(m.fake.calls) > 0 {
			t.Errorf("rigup %s did something: %q", x.args, m.fake.calls)
		}

		got = m.do(t, reason.ExitUsage, append([]string{"--output", "json"}, strings.Fields(x.args)...)...)
		if strings.Contains(x.args, "--output") {
			continue
		}
		var e event.Event
		if err := json.Unmarshal([]byte(got), &e); err != nil || e.Type != event.TypeResult || *e.Exit != 2 || e.Reason == nil {
			t.Errorf("rigup --output json %s: %v\n%s", x.args, err, got)
		}
	}
}

// Global flags stand before the command or after it, and flags before arguments or after them.
func TestFlagsStandAnywhere(t *testing.T) {
	for _, args := range [][]string{
		{"--cluster", "lab", "--yes", "install", "--gpu=off"},
		{"install", "--cluster", "lab", "--gpu", "off", "--yes"},
		{"--cluster", "other", "install", "--gpu=off", "--cluster=lab", "--yes=true"},
	} {
		m := newMachine(t)
		m.do(t, 0, args...)
		a := m.fake.asked
		if a.Cluster.Value != "lab" || !a.Cluster.Set() || a.GPU.Value != "off" || !a.Yes.Value || a.Release.Set() {
			t.Errorf("%q: %+v", args, a.Config)
		}
	}
	m := newMachine(t)
	dir := filepath.Join(t.TempDir(), "out")
	m.do(t, 0, "assets", "export", dir)
	m.do(t, 2, "assets", "export", dir)
	m.do(t, 0, "assets", "export", dir, "--force")
}

func TestValuesKeepTheirCommas(t *testing.T) {
	m := newMachine(t)
	m.do(t, 0, "install", "--set", "a={x,y}", "--set", "b=1,c=2", "--values", "one,two.yaml")
	want := []string{"a={x,y}", "b=1,c=2"}
	if got := m.fake.asked.SetValues.Value; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := m.fake.asked.Values.Value; len(got) != 1 || filepath.Base(got[0]) != "one,two.yaml" {
		t.Errorf("%q", got)
	}
}

func TestEnvironmentAndFileReachTheRun(t *testing.T) {
	m := newMachine(t)
	file := filepath.Join(m.dir, "config", "rigup", "rigup.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("namespace: of-file\nrelease: of-file\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	m.env["RIGUP_RELEASE"] = "of-env"
	m.do(t, 0, "plan")
	if a := m.fake.asked; a.Namespace.Value != "of-file" || a.Release.Value != "of-env" || a.File != file {
		t.Errorf("%+v", a.Config)
	}
	if !slices.Equal(m.fake.calls, []string{"plan"}) {
		t.Errorf("%q", m.fake.calls)
	}
}

func TestExitCodeOfTheRun(t *testing.T) {
	for _, code := range []int{0, 1, 2, 3, 130} {
		m := newMachine(t)
		m.fake.play = func(_ context.Context, sink event.Sink) int {
			sink.Emit(event.Event{Type: event.TypeResult, Exit: &code})
			return code
		}
		m.do(t, code, "install")
	}
}

// A run that cannot begin ends with a result all the same.
func TestRunThatCannotBegin(t *testing.T) {
	m := newMachine(t)
	m.program.runner = func(context.Context, options) (runner, error) {
		return nil, reason.Fail(reason.New(reason.EngineDenied, "endpoint", "unix:///x"), errors.New("permission denied"))
	}
	got := m.do(t, 2, "install", "--output", "json")
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if last := lines[len(lines)-1]; !strings.Contains(last, `"type":"result"`) || !strings.Contains(last, "engine.permission") {
		t.Error(got)
	}
	if got := m.do(t, 2, "status"); !strings.Contains(got, "Seen  permission denied") || !strings.Contains(got, "engine.permission") {
		t.Error(got)
	}
}

func TestStatus(t *testing.T) {
	m := newMachine(t)
	m.fake.status = report.Status{Cluster: "rigup", State: report.StateRunning, Version: "0.1.0", Mode: "cpu"}
	if got := m.do(t, 0, "status"); !strings.HasPrefix(got, "Cluster rigup is running.") {
		t.Error(got)
	}
	m.fake.status.Problems = []reason.Reason{reason.New(reason.ReleaseFailed, "release", "rigup", "status", "failed")}
	var s report.Status
	if err := json.Unmarshal([]byte(m.do(t, 1, "status", "--output=json")), &s); err != nil || s.Mode != "cpu" || len(s.Problems) != 1 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestKubeconfig(t *testing.T) {
	m := newMachine(t)
	for args, want := range map[string]string{
		"kubeconfig":               "apiVersion: v1\n",
		"kubeconfig --path":        "/own/kubeconfig\n",
		"kubeconfig --merge":       "The context rigup is in /home/ada/.kube/config.\n",
		"kubeconfig --output json": `{"context":"rigup","kubeconfig":"apiVersion: v1\n","path":"/own/kubeconfig"}` + "\n",
	} {
		if got := m.do(t, 0, strings.Fields(args)...); got != want {
			t.Errorf("%s: %q", args, got)
		}
	}
}

// Without a terminal nothing is asked, and the run goes on as the command says.
func TestNoQuestionWithoutATerminal(t *testing.T) {
	m := newMachine(t)
	m.in = strings.NewReader("n\n")
	m.do(t, 0, "uninstall", "--delete-data")
	if _, never := m.fake.asked.Ask.(report.Never); !never || !m.fake.asked.DeleteData.Value || len(m.fake.calls) != 1 {
		t.Errorf("%+v", m.fake)
	}
	m.do(t, 0, "uninstall", "--yes")
	if _, always := m.fake.asked.Ask.(report.Always); !always {
		t.Errorf("%T", m.fake.asked.Ask)
	}
}

func TestVersion(t *testing.T) {
	m := newMachine(t)
	text := m.do(t, 0, "version")
	if text != m.do(t, 0, "--version") || !strings.HasPrefix(text, "rigup "+version) {
		t.Error(text)
	}
	var v map[string]string
	if err := json.Unmarshal([]byte(m.do(t, 0, "version", "--output", "json")), &v); err != nil || v["version"] != version || v["kubernetes"] == "" {
		t.Error(v, err)
	}
}

func TestCompletion(t *testing.T) {
	m := newMachine(t)
	for _, x := range []struct{ before, word, want string }{
		{"", "st", "status"},
		{"", "", "install plan status uninstall hooks facts kubeconfig assets version completion"},
		{"--cluster lab", "ins", "install"},
		{"install", "--gp", "--gpu"},
		{"install --gpu", "", "auto off require"},
		{"install --gpu =", "r", "require"},
		{"install", "--gpu=o", "--gpu=off"},
		{"install --chart", "", ""},
		{"assets", "e", "export"},
		{"completion", "f", "fish"},
		{"nonsense", "", ""},
	} {
		args := append([]string{completeCommand, "cur=" + x.word}, strings.Fields(x.before)...)
		if got := strings.Join(strings.Fields(m.do(t, 0, args...)), " "); got != x.want {
			t.Errorf("%s|%s: %q, want %q", x.before, x.word, got, x.want)
		}
	}
	for shell := range scripts {
		if got := m.do(t, 0, "completion", shell); !strings.Contains(got, completeCommand) {
			t.Errorf("%s: %s", shell, got)
		}
	}
}
