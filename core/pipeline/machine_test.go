package pipeline

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/hookfake"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/kube/kubefake"
	"rigup.dev/rigup/core/lock"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

// machine is a simulated machine: an engine in memory, a cluster that answers, a Helm release that remembers.
type machine struct {
	t      *testing.T
	home   string
	engine *enginefake.Engine
	// endpoint is where the engine listens; zero: somewhere.
	endpoint engine.Endpoint
	facts    constant
	kube     *kubefake.API
	release  *releaseFake
	hooks    []decision.Hook
	runner   *hookfake.Runner
	notes    []reason.Reason // about hooks that are not used
	probe    func(sdk.Probe) sdk.ProbeResult
	loaded   map[string]string // images in the node: reference and id
	ask      report.Asker
	now      time.Time
	mu       sync.Mutex
}

// constant are facts that do not change.
type constant struct {
	machine facts.Machine
	place   facts.Place
}

func (f constant) Machine(context.Context, []string) facts.Machine { return f.machine }
func (f constant) Place(context.Context, string) facts.Place       { return f.place }

func newMachine(t *testing.T) *machine {
	m := &machine{
		t: t, home: t.TempDir(), engine: enginefake.New(), loaded: map[string]string{}, ask: report.Never{},
		now:     time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		kube:    &kubefake.API{},
		release: &releaseFake{},
		runner:  &hookfake.Runner{Hooks: map[string]sdk.Hook{}, Failures: map[string]*hookhost.Failure{}},
		probe:   func(p sdk.Probe) sdk.ProbeResult { return sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: sdk.Absent} },
	}
	m.vendor("nvidia", "NVIDIA", "0x10de")
	m.vendor("amd", "AMD", "0x1002")
	m.facts = constant{
		machine: facts.Machine{OS: "linux", Arch: "amd64", Distro: facts.Of(sdk.Distro{Name: "Test OS"}), PCI: facts.Of([]sdk.PCIDevice(nil)), Devices: facts.Of([]sdk.DeviceNode(nil)), Watches: facts.Of(int64(1 << 20))},
		place:   facts.Place{Type: facts.Of("ext4"), Free: facts.Of(uint64(500e9))},
	}
	m.engine.About.CPUs, m.engine.About.Memory = 8, 32<<30
	m.engine.About.ServerVersion, m.engine.About.Distro, m.engine.About.RootDir = "29.0.0", "Test OS", "/var/lib/docker"
	m.engine.About.Arch = "amd64"
	m.engine.Registry[m.pins().K3s.Image] = engine.Image{ID: "sha256:k3s", OS: "linux", Arch: "amd64", Size: 200e6}
	m.engine.Run = m.ctr
	m.engine.Fail = m.boot
	m.kube.OnSnapshot = func(context.Context, string, time.Time) (kube.Snapshot, error) {
		return kube.Snapshot{
			Node: facts.Of(kube.Node{Ready: true}), Core: facts.Of([]kube.WorkloadStatus{{OK: true}}),
		}, nil
	}
	m.kube.OnPodsSummary = func(_ context.Context, ws []kube.Workload, _ kube.WaitOptions) ([]kube.WorkloadStatus, error) {
		var all []kube.WorkloadStatus
		for _, w := range ws {
			all = append(all, kube.WorkloadStatus{Workload: w, Ready: 1, Total: 1, OK: m.release.deployed})
		}
		return all, nil
	}
	return m
}

func (m *machine) pins() pins.Pins {
	p, err := pins.Read(os.DirFS("../.."))
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// prober answers probes.
type prober func(sdk.Probe) sdk.ProbeResult

func (f prober) Probe(_ context.Context, p sdk.Probe) sdk.ProbeResult { return f(p) }

// card puts a GPU into the machine.
func (m *machine) card(vendor, address string) {
	m.facts.machine.PCI.Value = append(m.facts.machine.PCI.Value, sdk.PCIDevice{Address: address, Vendor: vendor, Device: "0x0001", Class: "0x030000"})
}

// hook installs a hook.
func (m *machine) hook(man sdk.Manifest, h sdk.Hook) {
	m.hooks = append(m.hooks, decision.Hook{Manifest: man, Grant: man.Permissions, BuiltIn: man.Publisher == ""})
	m.runner.Hooks[man.ID] = h
}

// vendor installs a gpu hook that claims every device of a PCI vendor and decides for them.
func (m *machine) vendor(id, name, pci string) {
	resource := id + ".com/gpu"
	m.hook(sdk.Manifest{ID: id, Version: "1.0.0", Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{pci}}, Permissions: sdk.Permissions{
		Attach: []sdk.AttachKind{sdk.AttachNVIDIA}, Resources: []string{resource}, Targets: []string{"node-nvidia"},
	}}, func(req sdk.Request) sdk.Response {
		var mine []sdk.Device
		for _, d := range req.Facts.PCI.Value {
			if d.Vendor == pci {
				mine = append(mine, sdk.Device{ID: d.Address})
			}
		}
		switch {
		case len(mine) == 0:
			return sdk.No("there is none")
		case req.Phase == sdk.Detect:
			return sdk.Claiming(sdk.Claim{Confidence: 90, Devices: mine}, "PCI")
		}
		return sdk.Using(sdk.GPU{
			Vendor: name, Devices: mine, Resource: resource, Attach: []sdk.Attach{{Kind: sdk.AttachNVIDIA, Capabilities: []string{"gpu"}}},
			Check: sdk.Check{Compute: sdk.ComputeCUDA}, Node: sdk.Node{Target: "node-nvidia"}, CDI: sdk.CDI{Mode: sdk.CDINVIDIA, Kind: resource},
		})
	})
}

// boot is asked before every call of the engine; it lets a started node write its kubeconfig.
func (m *machine) boot(op, _ string) error {
	if op == "CopyFrom" {
		for _, n := range m.engine.Nodes {
			if n.State == "running" {
				n.Files["/etc/rancher/k3s/k3s.yaml"] = engine.File{Data: []byte(nodeKubeconfig)}
			}
		}
	}
	return nil
}

const nodeKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: default, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: QQ==}}]
users: [{name: default, user: {client-certificate-data: QQ==, client-key-data: QQ==}}]
contexts: [{name: default, context: {cluster: default, user: default}}]
current-context: default
`

// ctr answers containerd's client in the node.
func (m *machine) ctr(_ *enginefake.Container, o engine.ExecOptions) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := strings.Join(o.Cmd, " ")
	switch {
	case strings.Contains(line, "images ls"):
		filter := o.Cmd[len(o.Cmd)-1]
		for ref, id := range m.loaded {
			if strings.Contains(filter, ref) && (id == "" || strings.Contains(filter, id)) {
				_, _ = fmt.Fprintln(o.Stdout, ref)
			}
		}
	case strings.Contains(line, "images import"):
		_, err := io.Copy(io.Discard, o.Stdin)
		return 0, err
	case strings.Contains(line, "images label"):
		_, id, _ := strings.Cut(o.Cmd[len(o.Cmd)-1], "=")
		m.loaded[o.Cmd[len(o.Cmd)-2]] = id
	}
	return 0, nil
}

// tree is the embedded tree with a helper program that was not built.
type tree struct{ fs.FS }

func (t tree) Open(name string) (fs.File, error) {
	if name != "assets/helpers/jobs-manager.zst" {
		return t.FS.Open(name)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	return fstest.MapFS{name: {Data: w.EncodeAll([]byte("a program"), nil)}}.Open(name)
}

func (m *machine) deps() Deps {
	return Deps{
		Version: "1.2.3", Files: tree{os.DirFS("../..")}, Pins: m.pins(),
		Now:      func() time.Time { m.now = m.now.Add(time.Second); return m.now },
		Env:      func(string) string { return "" },
		UserHome: m.home, Owner: lock.Owner{PID: 1, Host: "box", User: "ada"},
		Facts:  m.facts,
		Hooks:  func() ([]decision.Hook, []reason.Reason, error) { return m.hooks, m.notes, nil },
		Runner: m.runner,
		Prober: func(Engine, bool) decision.Prober { return prober(m.probe) },
		Engine: func(context.Context, string) (Engine, error) {
			return served{m.engine, m.endpoint}, nil
		},
		Host:        cluster.Host{Listen: func(string) error { return nil }, Networks: func() ([]netip.Prefix, error) { return nil, nil }},
		Credentials: func(context.Context, string) (engine.Credentials, error) { return engine.Credentials{}, nil },
		Kube:        func([]byte) (kube.API, error) { return m.kube, nil },
		Release:     func(o release.Options) (Release, error) { m.release.o = o; return m.release, nil },
		Ask:         m.ask,
	}
}

// served is the engine in memory, reached at an endpoint.
type served struct {
	*enginefake.Engine
	at engine.Endpoint
}

func (s served) Endpoint() engine.Endpoint {
	if s.at.Host == "" {
		return engine.Endpoint{Host: "unix:///test.sock", Source: "test"}
	}
	return s.at
}
func (served) Close() error { return nil }

// config is a command line.
func (m *machine) config(flags ...string) config.Config {
	m.t.Helper()
	given := map[string][]string{"cluster": {"demo"}}
	for _, f := range flags {
		k, v, _ := strings.Cut(f, "=")
		given[k] = append(given[k], v)
	}
	c, err := config.Load(config.Input{
		Flags: given, Env: func(string) string { return "" }, ReadFile: os.ReadFile, UserHome: m.home, WorkDir: m.home,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return c
}

// heard keeps the events of a run.
type heard struct{ all []event.Event }

func (h *heard) Emit(e event.Event) { h.all = append(h.all, e) }

func (h *heard) result() event.Event { return h.all[len(h.all)-1] }

// final is the last state of a stage.
func (h *heard) final(stage string) event.Event {
	for _, e := range slices.Backward(h.all) {
		if e.Type == event.TypeStage && e.Stage == stage {
			return e
		}
	}
	return event.Event{}
}

func (h *heard) changes() []string {
	var all []string
	for _, e := range h.all {
		if e.Type == event.TypeChange {
			all = append(all, fmt.Sprintf("%s: %s %s %s", e.Stage, e.Change.Action, e.Change.Kind, e.Change.Name))
		}
	}
	return all
}

func (m *machine) install(flags ...string) (*heard, Ended) { return m.run(false, flags...) }

func (m *machine) run(plan bool, flags ...string) (*heard, Ended) {
	m.t.Helper()
	h := &heard{}
	e := Install(context.Background(), m.deps(), m.config(flags...), h, plan)
	return h, e
}

// releaseFake is a Helm release in memory.
type releaseFake struct {
	o        release.Options
	deployed bool
	status   release.Status
	applied  int
	fail     error
}

func (f *releaseFake) Status(context.Context) (release.Status, error) { return f.status, f.fail }

func (f *releaseFake) Plan(_ context.Context, c *release.Chart, values map[string]any) (*release.Plan, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	p, err := release.Preview(c, values, release.Target{Release: f.o.Release, Namespace: f.o.Namespace, KubeVersion: "v1.36.0"})
	if err != nil {
		return nil, err
	}
	if f.deployed {
		p.Action, p.Why = release.Upgrade, []string{"values"}
		if fmt.Sprint(f.status.Values) == fmt.Sprint(values) {
			p.Action, p.Why = release.Nothing, nil
		}
	}
	p.Status = f.status
	f.status.Values = values
	return p, nil
}

func (f *releaseFake) Apply(_ context.Context, p *release.Plan, _ time.Duration) (release.Status, error) {
	if p.Action == release.Nothing {
		return f.status, nil
	}
	f.applied++
	f.deployed = true
	f.status.State, f.status.Release, f.status.Namespace = release.Deployed, f.o.Release, f.o.Namespace
	f.status.Chart, f.status.ChartVersion = "rigup", "0.1.0"
	return f.status, nil
}

func (m *machine) dir() string { return filepath.Join(m.home, ".rigup/clusters/demo") }
