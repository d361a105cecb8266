package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

func TestInstallThenNothingToDo(t *testing.T) {
	m := newMachine(t)
	h, ended := m.install()
	if ended.Exit != 0 || !h.result().Result.Changed || h.result().Mode != "cpu" {
		t.Fatalf("%+v %+v", ended, h.result())
	}
	var order []string
	for _, e := range h.all {
		if e.Type == event.TypeStage && e.State == event.Running {
			order = append(order, e.Stage)
		}
	}
	if got := strings.Join(order, " "); got != "observe preflight decide prove image cluster provision verify deploy ready report" {
		t.Errorf("stages: %s", got)
	}
	before := len(m.engine.Changes)
	h, ended = m.install()
	if ended.Exit != 0 || h.result().Result.Changed || len(h.changes()) > 0 || len(m.engine.Changes) != before || m.release.applied != 1 {
		t.Errorf("the second run changed something: %v %v", h.changes(), m.engine.Changes[before:])
	}
	if h.result().Result.API == "" || h.result().Result.Context != "rigup-demo" || h.result().Result.Restart == "" {
		t.Errorf("%+v", h.result().Result)
	}
}

// plan and install are one path: plan tells the changes that install then makes, and makes none.
func TestPlanTellsWhatInstallDoes(t *testing.T) {
	m := newMachine(t)
	planned, ended := m.run(true)
	if ended.Exit != 0 || len(m.engine.Changes) > 0 || m.release.applied > 0 {
		t.Fatalf("%+v %v", ended, m.engine.Changes)
	}
	if left, _ := os.ReadDir(m.home); len(left) > 0 {
		t.Error("plan wrote", left)
	}
	made, _ := m.install()
	if p, i := strings.Join(planned.changes(), "\n"), strings.Join(made.changes(), "\n"); p != i {
		t.Errorf("planned:\n%s\nmade:\n%s", p, i)
	}
	if h, _ := m.run(true); len(h.changes()) > 0 || h.result().Result.Changed {
		t.Error("a plan after the install has", h.changes())
	}
}

// Every run without a GPU has exactly one reason: in the result, the state file and the status.
func TestG4_OneReason(t *testing.T) {
	cards := func(vendors ...string) func(*machine) {
		return func(m *machine) {
			for i, v := range vendors {
				m.card(v, fmt.Sprintf("0000:%02x:00.0", i))
			}
		}
	}
	unknown := func(why string) func(*machine) {
		return func(m *machine) { m.facts.machine.PCI = facts.Not[[]sdk.PCIDevice](why) }
	}
	ruledOut := func(m *machine) {
		cards("0x10de")(m)
		m.runner.Hooks["nvidia"] = func(req sdk.Request) sdk.Response {
			if req.Phase == sdk.Detect {
				return sdk.Claiming(sdk.Claim{Confidence: 90, Devices: []sdk.Device{{ID: "0000:00:00.0"}}})
			}
			return sdk.Giving(sdk.Reason{ID: "driver-missing", Text: "The driver is not installed.", Remedy: []string{"install it"}})
		}
	}
	held := func(m *machine) {
		ruledOut(m)
		cards("0x8086")(m)
		m.vendor("intel", "Intel", "0x8086")
		well := m.runner.Hooks["intel"]
		m.runner.Hooks["intel"] = func(req sdk.Request) sdk.Response {
			r := well(req)
			if r.GPU != nil {
				r.GPU.Devices[0].Integrated = true
			}
			return r
		}
	}
	crashes := func(m *machine) {
		cards("0x10de")(m)
		m.runner.Failures["nvidia"] = &hookhost.Failure{Cause: hookhost.TimedOut, Text: "did not end within 2 s"}
	}
	gpuLess := func(m *machine) {
		cards("0x106b")(m)
		m.environment(sdk.Environment{GPULess: &sdk.Reason{ID: "no-gpu", Text: "Its virtual machine has no GPU.", Remedy: []string{"use another"}}})
	}
	greedy := func(m *machine) {
		cards("0x10de")(m)
		m.hooks[0].Grant.Resources = []string{"other.example/gpu"}
	}
	for name, c := range map[string]struct {
		machine func(*machine)
		flag    string
		want    reason.ID
		says    string
	}{
		"none":         {cards(), "gpu=auto", reason.GPUNone, ""},
		"one":          {cards("0x10de"), "gpu=auto", reason.GPUNotInUse, "an NVIDIA GPU"},
		"two vendors":  {cards("0x1002", "0x10de", "0x10de"), "gpu=auto", reason.GPUNotInUse, "2 NVIDIA GPUs and an AMD GPU"},
		"unknown":      {unknown("permission denied"), "gpu=auto", reason.GPUUnknown, ""},
		"other system": {unknown("timed out"), "gpu=auto", reason.GPUUnknown, ""},
		"off":          {cards("0x10de"), "gpu=off", reason.GPUOff, ""},
		"ruled out":    {ruledOut, "gpu=auto", "nvidia.driver-missing", "not installed"},
		"G11: a card ruled out, beside the GPU of the processor": {held, "gpu=auto", "nvidia.driver-missing", "not installed"},
		"hook failed":                            {crashes, "gpu=auto", reason.GPUHookFailed, "nvidia did not end within 2 s"},
		"H4":                                     {greedy, "gpu=auto", reason.GPUHookFailed, "nvidia.com/gpu, which it was not allowed"},
		"no hook":                                {cards("0x1ed5"), "gpu=auto", reason.GPUNoHook, "a GPU (PCI 1ed5:0001)"},
		"G4: what no hook can change goes first": {gpuLess, "gpu=auto", "desktop.no-gpu", "no GPU"},
		"only screens":                           {cards("0x1a03"), "gpu=auto", reason.GPUNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			c.machine(m)
			h, ended := m.install(c.flag)
			// A remedy is given only where it can work: who may not read the devices can; who is on another system cannot.
			if r := h.result().Reason; name == "unknown" && len(r.Remedy) != 1 || name == "other system" && len(r.Remedy) != 0 {
				t.Errorf("remedies %q", r.Remedy)
			}
			if ended.Exit != 0 || h.result().Reason == nil || h.result().Reason.ID != c.want || !strings.Contains(h.result().Reason.Text, c.says) {
				t.Fatalf("%+v", h.result())
			}
			for _, s := range []string{"prove", "provision", "verify"} {
				if e := h.final(s); e.State != event.Skipped || e.Reason == nil || e.Reason.ID != c.want {
					t.Errorf("E3: %s: %+v", s, e)
				}
			}
			s := Status(context.Background(), m.deps(), m.config())
			if s.Mode != "cpu" || s.Reason == nil || s.Reason.ID != c.want {
				t.Errorf("status: %+v", s)
			}
			if err := os.Remove(filepath.Join(m.dir(), "state.json")); err != nil {
				t.Fatal(err)
			}
			s = Status(context.Background(), m.deps(), m.config(c.flag))
			if s.Reason == nil || s.Reason.ID != c.want {
				t.Errorf("status without a state file: %+v", s.Reason)
			}
		})
	}
}

func TestG5_RequireTurnsTheReasonIntoAFailure(t *testing.T) {
	m := newMachine(t)
	m.card("0x1002", "0000:03:00.0")
	h, ended := m.install("gpu=require")
	if ended.Exit != 3 || ended.Reason.ID != reason.GPURequired || !strings.Contains(ended.Reason.Text, "an AMD GPU") {
		t.Errorf("%+v", ended)
	}
	if len(m.engine.Changes) > 0 || h.final("prove").State != event.Failed {
		t.Error("something was made first:", m.engine.Changes)
	}
}

// What cannot be read stops the run before it changes anything.
func TestC1_UnknownIsNotNothing(t *testing.T) {
	for _, op := range []string{"Info", "Containers", "Networks", "Volumes", "Image"} {
		t.Run(op, func(t *testing.T) {
			m := newMachine(t)
			m.engine.Fail = func(o, what string) error {
				if o == op {
					return engine.Failure(engine.Timeout, "look", "slow")
				}
				return m.boot(o, what)
			}
			_, ended := m.install()
			if ended.Exit == 0 || len(m.engine.Changes) > 0 {
				t.Errorf("%+v, changes %v", ended, m.engine.Changes)
			}
		})
	}
}

// A run that dies after any change on the engine is completed by the next one, with the same end.
func TestC9_KilledAfterAnyChange(t *testing.T) {
	whole := newMachine(t)
	if _, ended := whole.install(); ended.Exit != 0 {
		t.Fatal(ended)
	}
	for n := range len(whole.engine.Changes) {
		t.Run(fmt.Sprintf("after %d", n), func(t *testing.T) {
			m := newMachine(t)
			m.engine.Kill = n
			if _, ended := m.install(); ended.Exit == 0 {
				t.Fatal("it was not killed")
			}
			m.engine.Revive()
			h, ended := m.install()
			if ended.Exit != 0 {
				t.Fatalf("%+v", ended)
			}
			if len(m.engine.Nodes) != 1 || len(m.engine.Nets) != 1 || len(m.engine.Vols) != len(whole.engine.Vols) {
				t.Errorf("%d nodes, %d networks, %d volumes", len(m.engine.Nodes), len(m.engine.Nets), len(m.engine.Vols))
			}
			if again, _ := m.install(); again.result().Result.Changed {
				t.Error("not settled:", again.changes(), h.changes())
			}
		})
	}
}

func TestPreflightTellsEverythingAtOnce(t *testing.T) {
	m := newMachine(t)
	m.engine.About.Memory = 1 << 30
	m.facts.place.Free = facts.Of(uint64(1e9))
	h, ended := m.install("data-dir=/etc/x", "chart=/no/chart", "set=image.tag=latest")
	var said []string
	for _, e := range h.all {
		if e.State == event.Failed && e.Reason != nil {
			said = append(said, string(e.Reason.ID))
		}
	}
	for _, want := range []reason.ID{reason.MachineMemory, reason.MachineDisk, reason.DataPlace, reason.ChartNotFound} {
		if !slices.Contains(said, string(want)) {
			t.Errorf("%s is not told: %v", want, said)
		}
	}
	if ended.Exit != 2 || len(m.engine.Changes) > 0 {
		t.Errorf("%+v", ended)
	}
}

func TestC9_InterruptedAndTimedOut(t *testing.T) {
	m := newMachine(t)
	ctx, cancel := context.WithCancel(context.Background())
	m.kube.OnReady = func(ctx context.Context, _ kube.ReadyOptions, _ func(event.Progress)) error {
		cancel()
		return ctx.Err()
	}
	h := &heard{}
	ended := Install(ctx, m.deps(), m.config(), h, false)
	if ended.Exit != 130 || h.result().Reason.ID != reason.Interrupted || h.final("cluster").State != event.Failed {
		t.Errorf("%+v %+v", ended, h.result())
	}
	m.kube.OnReady = func(ctx context.Context, _ kube.ReadyOptions, _ func(event.Progress)) error {
		<-ctx.Done()
		return ctx.Err()
	}
	h, ended = m.install("timeout=1s")
	if ended.Exit != 1 || h.result().Reason.ID != reason.RunTimeout {
		t.Errorf("E1: a deadline is told as one: %+v", ended)
	}
	m.kube.OnReady = nil
	if _, ended = m.install(); ended.Exit != 0 {
		t.Errorf("%+v", ended)
	}
}

// What an earlier run was asked for stays when a later one does not say it again.
func TestLaterRunsKeepWhatWasAskedFor(t *testing.T) {
	m := newMachine(t)
	if _, ended := m.install("namespace=team", "release=mine", "gpu=off", "set=env.A=b"); ended.Exit != 0 {
		t.Fatalf("%+v", ended)
	}
	h, ended := m.install()
	if ended.Exit != 0 || h.result().Result.Changed || h.result().Result.Namespace != "team" || h.result().Result.Release != "mine" || h.result().Reason.ID != reason.GPUOff {
		t.Errorf("%+v %v", h.result(), h.changes())
	}
	if h, _ = m.install("reset-values=true"); !h.result().Result.Changed {
		t.Error("--reset-values changed nothing")
	}
}

func TestADifferenceNeedsConsent(t *testing.T) {
	m := newMachine(t)
	m.install()
	nodes := fmt.Sprint(m.engine.Nodes)
	_, ended := m.install("api-port=7777")
	if ended.Exit != 2 || ended.Reason.ID != reason.ClusterDiffers || fmt.Sprint(m.engine.Nodes) != nodes {
		t.Fatalf("%+v", ended)
	}
	m.ask = report.Always{}
	if _, ended = m.install("api-port=7777"); ended.Exit != 0 || fmt.Sprint(m.engine.Nodes) == nodes {
		t.Errorf("with consent: %+v", ended)
	}
}

func TestC9_DamagedStateIsToldAndRebuilt(t *testing.T) {
	m := newMachine(t)
	m.install()
	file := filepath.Join(m.dir(), "state.json")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(file, whole[:40], 0o600)
	h, ended := m.install()
	told := slices.ContainsFunc(h.all, func(e event.Event) bool { return e.Reason != nil && e.Reason.ID == reason.StateDamaged })
	if ended.Exit != 0 || !told || h.result().Result.Changed {
		t.Errorf("%+v, told %v", ended, told)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("not rebuilt:", err)
	}
}

func TestUninstall(t *testing.T) {
	m := newMachine(t)
	m.install()
	data := filepath.Join(m.dir(), "data")
	os.WriteFile(filepath.Join(data, "mine"), nil, 0o644)
	h := &heard{}
	if e := Uninstall(context.Background(), m.deps(), m.config(), h); e.Exit != 0 {
		t.Fatalf("%+v", e)
	}
	if len(m.engine.Nodes)+len(m.engine.Nets) > 0 {
		t.Error("left:", m.engine.Nodes, m.engine.Nets)
	}
	if _, err := os.Stat(filepath.Join(data, "mine")); err != nil {
		t.Error("the data is gone:", err)
	}
	if _, ended := m.install(); ended.Exit != 0 {
		t.Fatal("it does not come back")
	}
	if e := Uninstall(context.Background(), m.deps(), m.config("delete-data=true"), h); e.Exit != 0 || len(m.engine.Vols) > 0 {
		t.Fatalf("%+v %v", e, m.engine.Vols)
	}
	if left, _ := filepath.Glob(filepath.Join(m.home, ".rigup")); len(left) > 0 {
		t.Error("files are left")
	}
	e := Uninstall(context.Background(), m.deps(), m.config(), h)
	if e.Exit != 2 || e.Reason.ID != reason.ClusterMissing {
		t.Errorf("nothing there: %+v", e)
	}
	if left, _ := filepath.Glob(filepath.Join(m.home, ".rigup")); len(left) > 0 {
		t.Error("asking for what is not there left files")
	}
}

func TestC8_TheSecondRunIsRefused(t *testing.T) {
	m := newMachine(t)
	m.kube.OnReady = func(context.Context, kube.ReadyOptions, func(event.Progress)) error {
		otherHeard, ended := m.install()
		if ended.Exit != 2 || ended.Reason.ID != reason.LockHeld || len(otherHeard.all) == 0 {
			t.Errorf("%+v", ended)
		}
		return nil
	}
	if _, ended := m.install(); ended.Exit != 0 {
		t.Errorf("%+v", ended)
	}
}

// The names that the command line accepts are those that a cluster can have.
func TestNamesOfTheCommandLineAreNamesOfClusters(t *testing.T) {
	for _, name := range []string{"a", "a1", "1a", "a-b", "a-", "-a", "A", "a_b", "a.b", strings.Repeat("a", 32), strings.Repeat("a", 33), ""} {
		_, err := config.Load(config.Input{Flags: map[string][]string{"cluster": {name}}, Env: func(string) string { return "" }, ReadFile: os.ReadFile, UserHome: "/", WorkDir: "/"})
		if (err == nil) != (cluster.CheckName(name) == nil) {
			t.Errorf("%q: the command line says %v, the cluster %v", name, err, cluster.CheckName(name))
		}
	}
}

// What failed before this run is tried again, and told as a change; what is only on its way is not.
func TestFailedPodsAreStartedAgain(t *testing.T) {
	m := newMachine(t)
	if _, ended := m.install(); ended.Exit != 0 {
		t.Fatal(ended)
	}
	well := m.kube.OnPodsSummary
	for _, failed := range []bool{true, false} {
		calls := 0
		m.kube.OnPodsSummary = func(ctx context.Context, ws []kube.Workload, o kube.WaitOptions) ([]kube.WorkloadStatus, error) {
			all, err := well(ctx, ws, o)
			if calls++; calls == 1 {
				all[0].OK, all[0].Failed = false, failed
			}
			return all, err
		}
		before := len(m.kube.Calls())
		h, ended := m.install()
		if ended.Exit != 0 || slices.Contains(m.kube.Calls()[before:], "Retry") != failed || h.result().Result.Changed != failed {
			t.Errorf("failed %v: %+v, calls %v, changes %v", failed, ended, m.kube.Calls()[before:], h.changes())
		}
	}
}
