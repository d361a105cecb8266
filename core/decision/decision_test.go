package decision

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/hookfake"
	"rigup.dev/rigup/hooks/sdk"
)

// world is a machine with hooks.
type world struct {
	t      *testing.T
	run    *hookfake.Runner
	hooks  []Hook
	facts  sdk.Facts
	mu     sync.Mutex // probes of one round run side by side
	probes []sdk.Probe
	answer func(sdk.Probe) sdk.ProbeResult
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, run: &hookfake.Runner{Hooks: map[string]sdk.Hook{}, Raw: map[string]func([]byte) []byte{}, Failures: map[string]*hookhost.Failure{}},
		facts:  sdk.Facts{Host: sdk.Host{OS: "linux"}, Engine: sdk.Engine{System: "Test OS"}, PCI: known[[]sdk.PCIDevice](), Devices: known[[]sdk.DeviceNode]()},
		answer: func(p sdk.Probe) sdk.ProbeResult { return sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: sdk.Known} },
	}
}

func known[T any](v ...T) sdk.Fact[T] {
	f := sdk.Fact[T]{Status: sdk.Known}
	if len(v) > 0 {
		f.Value = v[0]
	}
	return f
}

func (w *world) Probe(_ context.Context, p sdk.Probe) sdk.ProbeResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.probes = append(w.probes, p)
	return w.answer(p)
}

// card puts a PCI device into the machine.
func (w *world) card(vendor, address string) {
	w.facts.PCI.Value = append(w.facts.PCI.Value, sdk.PCIDevice{Address: address, Vendor: vendor, Device: "0x0001", Class: "0x030000"})
}

// hook installs a hook for one PCI vendor, with the permissions of its resource.
func (w *world) hook(id, vendor string, h sdk.Hook) {
	w.install(sdk.Manifest{ID: id, Version: "1.0.0", Publisher: "Test", Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{vendor}},
		Permissions: sdk.Permissions{
			Probes: []sdk.ProbeKind{sdk.DeviceStat}, Devices: []string{"/dev/" + id + "*"}, Attach: []sdk.AttachKind{sdk.AttachDevices, sdk.AttachNVIDIA},
			Resources: []string{id + ".example/gpu"}, Targets: []string{"node", "node-nvidia"},
		}}, h)
}

func (w *world) environment(id string, confidence int, attach ...sdk.AttachKind) {
	w.install(sdk.Manifest{ID: id, Version: "1.0.0", Kinds: []sdk.Kind{sdk.EnvironmentHook}}, func(req sdk.Request) sdk.Response {
		if req.Phase == sdk.Detect {
			return sdk.Claiming(sdk.Claim{Confidence: confidence})
		}
		return sdk.Surrounding(sdk.Environment{ID: id, Title: id, Attach: attach, Memory: sdk.HostMemory, Paths: sdk.SamePaths})
	})
}

func (w *world) install(m sdk.Manifest, h sdk.Hook) {
	w.hooks = append(w.hooks, Hook{Manifest: m, Grant: m.Permissions, BuiltIn: true})
	w.run.Hooks[m.ID] = h
}

func (w *world) decide() Plan {
	w.t.Helper()
	p, err := Decider{Hooks: w.hooks, Run: w.run, Probe: w}.Decide(context.Background(), w.facts, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// vendor is a well-behaved hook: it claims the devices of a PCI vendor and decides for them.
func vendor(id, pci string, integrated bool) sdk.Hook {
	return func(req sdk.Request) sdk.Response {
		var mine []sdk.Device
		for _, d := range req.Facts.PCI.Value {
			if d.Vendor == pci {
				mine = append(mine, sdk.Device{ID: d.Address, Integrated: integrated})
			}
		}
		if req.Phase == sdk.Detect {
			return sdk.Claiming(sdk.Claim{Confidence: 90, Devices: mine})
		}
		return sdk.Using(sdk.GPU{
			Vendor: id, Devices: mine, Resource: id + ".example/gpu",
			Attach: []sdk.Attach{{Kind: sdk.AttachDevices, Nodes: []string{"/dev/" + id + "0"}}},
			Check:  sdk.Check{Compute: sdk.ComputeDevices}, Node: sdk.Node{Target: "node-nvidia"}, CDI: sdk.CDI{Mode: sdk.CDINVIDIA, Kind: id + ".example/gpu"},
		})
	}
}

func names(p Plan) (out []string) {
	for _, g := range p.GPUs {
		out = append(out, g.Hook)
	}
	return out
}

// G11: whatever the order of the devices and of the hooks, the card goes before the GPU inside of the processor.
func TestG11_EnumerationOrderDecidesNothing(t *testing.T) {
	cards := [][2]string{{"0x1002", "0000:00:08.0"}, {"0x10de", "0000:01:00.0"}, {"0x8086", "0000:00:02.0"}}
	install := []func(*world){
		func(w *world) { w.hook("amd", "0x1002", vendor("amd", "0x1002", true)) },
		func(w *world) { w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false)) },
		func(w *world) { w.hook("intel", "0x8086", vendor("intel", "0x8086", true)) },
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		w := newWorld(t)
		for _, i := range order {
			w.card(cards[i][0], cards[i][1])
			install[i](w)
		}
		if got := strings.Join(names(w.decide()), " "); got != "nvidia amd intel" {
			t.Errorf("%v: %s", order, got)
		}
	}
}

// G11: memory counts only if everybody says how much there is; otherwise who says least would lose.
func TestG11_MemoryThatOneVendorDoesNotTellDecidesNothing(t *testing.T) {
	give := func(amd, nvidia int64) []GPU {
		return []GPU{
			{Hook: "amd", GPU: sdk.GPU{Devices: []sdk.Device{{ID: "a", Memory: amd}}}},
			{Hook: "nvidia", GPU: sdk.GPU{Devices: []sdk.Device{{ID: "b", Memory: nvidia}, {ID: "c", Memory: nvidia}}}},
		}
	}
	for _, c := range []struct {
		amd, nvidia int64
		first       string
	}{{16 << 30, 0, "nvidia"}, {16 << 30, 1 << 30, "amd"}, {16 << 30, 24 << 30, "nvidia"}, {0, 0, "nvidia"}} {
		list := give(c.amd, c.nvidia)
		order(list, func(g GPU) (string, []sdk.Device) { return g.Hook, g.Devices })
		if list[0].Hook != c.first {
			t.Errorf("%+v: %s", c, list[0].Hook)
		}
	}
}

// A hook that does not match the machine is neither loaded nor run.
func TestOnlyHooksThatCanApplyAreAsked(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false))
	w.hook("amd", "0x1002", vendor("amd", "0x1002", false))
	w.hooks[1].Load = func() (hookhost.Module, error) { t.Error("loaded"); return hookhost.Module{}, nil }
	w.decide()
	for _, req := range w.run.Asked() {
		if req.Hook == "amd" {
			t.Errorf("amd was asked for %s", req.Phase)
		}
	}
}

func TestMatch(t *testing.T) {
	f := sdk.Facts{Host: sdk.Host{OS: "linux"}, Engine: sdk.Engine{Product: "Docker Engine - Community", System: "Docker Desktop", Host: "docker-desktop"},
		PCI:     known([]sdk.PCIDevice{{Vendor: "0x10de", Address: "0000:01:00.0"}}),
		Devices: known([]sdk.DeviceNode{{Path: "/dev/dxg"}, {Path: "/dev/dri/renderD128"}})}
	unknown := f
	unknown.PCI = sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: "permission denied"}
	for name, c := range map[string]struct {
		m    sdk.Match
		f    sdk.Facts
		want bool
	}{
		"nothing asked":              {sdk.Match{}, f, true},
		"system":                     {sdk.Match{OS: []string{"darwin", "linux"}}, f, true},
		"other system":               {sdk.Match{OS: []string{"windows"}}, f, false},
		"vendor":                     {sdk.Match{PCI: []string{"0x10de"}}, f, true},
		"other vendor":               {sdk.Match{PCI: []string{"0x1002"}}, f, false},
		"vendor or node":             {sdk.Match{PCI: []string{"0x1002"}, Devices: []string{"/dev/dxg"}}, f, true},
		"node glob":                  {sdk.Match{Devices: []string{"/dev/dri/renderD*"}}, f, true},
		"engine, whatever the case":  {sdk.Match{Engines: []string{"docker desktop"}}, f, true},
		"other engine":               {sdk.Match{Engines: []string{"orbstack"}}, f, false},
		"engine and vendor":          {sdk.Match{Engines: []string{"docker*"}, PCI: []string{"0x1002"}}, f, false},
		"unknown is not absent (C1)": {sdk.Match{PCI: []string{"0x1002"}}, unknown, true},
	} {
		if _, ok := match(c.m, c.f); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
}

func TestTheMostConfidentEnvironmentDecides(t *testing.T) {
	w := newWorld(t)
	w.environment("native", 50, sdk.AttachNVIDIA)
	w.environment("rootless", 80, sdk.AttachCDI)
	if p := w.decide(); p.Environment.ID != "rootless" || p.Environment.Hook != "rootless" {
		t.Errorf("%+v", p.Environment)
	}
	w.run.Failures["rootless"] = &hookhost.Failure{Cause: hookhost.TimedOut, Text: "did not end within 2 s"}
	if p := w.decide(); p.Environment.ID != "native" || len(p.Failed) != 1 {
		t.Errorf("%+v %+v", p.Environment, p.Failed)
	}
}

// An engine that no hook knows keeps no GPU away: what works is proven, not assumed.
func TestAnUnknownEnvironmentAllowsEveryAttachment(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false))
	if p := w.decide(); p.Environment.Hook != "" || len(p.GPUs) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestAttachmentsThatTheEngineCannotHonourAreLeftOut(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false))
	w.environment("cdi-only", 50, sdk.AttachCDI)
	p := w.decide()
	if len(p.GPUs) != 0 || len(p.Unusable) != 1 || p.Unusable[0].Reason.ID != "no-way-to-attach" {
		t.Errorf("%+v", p)
	}
}

// G5, H1: a hook that fails is named, and the others decide.
func TestG5_AFailedHookIsLeftOutAndNamed(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.card("0x1002", "0000:02:00.0")
	w.hook("amd", "0x1002", vendor("amd", "0x1002", false))
	w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false))
	w.run.Failures["amd"] = &hookhost.Failure{Cause: hookhost.Crashed, Text: "trapped: unreachable", Log: "about to fail"}
	p := w.decide()
	if got := names(p); !slices.Equal(got, []string{"nvidia"}) {
		t.Errorf("%v", got)
	}
	if len(p.Failed) != 1 || p.Failed[0].Hook != "amd" || p.Failed[0].Text != "trapped: unreachable" {
		t.Errorf("%+v", p.Failed)
	}
	if len(p.Unclaimed) != 1 || p.Unclaimed[0].Vendor != "0x1002" {
		t.Errorf("%+v", p.Unclaimed)
	}
}

// H4: what is beyond the grant refuses the whole response, even what would have been allowed.
func TestH4_ADecisionOutsideTheGrantIsRefusedAsAWhole(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", func(req sdk.Request) sdk.Response {
		r := vendor("nvidia", "0x10de", false)(req)
		if r.GPU != nil {
			r.GPU.Attach = append(r.GPU.Attach, sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{"/dev/kmsg"}})
		}
		return r
	})
	p := w.decide()
	if len(p.GPUs) != 0 || len(p.Failed) != 1 || !p.Failed[0].Beyond || !strings.Contains(p.Failed[0].Text, "/dev/kmsg") {
		t.Errorf("%+v", p)
	}
}

func TestH4_AProbeOutsideTheGrantIsNotRun(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", func(sdk.Request) sdk.Response {
		return sdk.Probing(sdk.Probe{ID: "ok", Kind: sdk.DeviceStat, Path: "/dev/nvidia0"}, sdk.Probe{ID: "bad", Kind: sdk.FileRead, Path: "/etc/passwd"})
	})
	p := w.decide()
	if len(w.probes) != 0 || len(p.Failed) != 1 || !p.Failed[0].Beyond {
		t.Errorf("%v %+v", w.probes, p.Failed)
	}
}

func TestProbesAreAnsweredRoundByRoundAndKeptForTheNextPhase(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", func(req sdk.Request) sdk.Response {
		if n := len(req.Probes); n < 4 {
			return sdk.Probing(sdk.Probe{ID: fmt.Sprint("p", n), Kind: sdk.DeviceStat, Path: fmt.Sprint("/dev/nvidia", n)},
				sdk.Probe{ID: fmt.Sprint("p", n+1), Kind: sdk.DeviceStat, Path: fmt.Sprint("/dev/nvidia", n+1)})
		}
		return vendor("nvidia", "0x10de", false)(req)
	})
	if p := w.decide(); len(p.GPUs) != 1 || len(w.probes) != 4 {
		t.Errorf("%+v, %d probes", p, len(w.probes))
	}
	last := w.run.Asked()[len(w.run.Asked())-1]
	if last.Phase != sdk.Decide || last.Round != 0 || len(last.Probes) != 4 || last.Probes[3].ID != "p3" {
		t.Errorf("%+v", last)
	}
}

func TestAHookThatKeepsAskingIsGivenUp(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", func(req sdk.Request) sdk.Response {
		return sdk.Probing(sdk.Probe{ID: fmt.Sprint("r", req.Round), Kind: sdk.DeviceStat, Path: "/dev/nvidia0"})
	})
	p := w.decide()
	if len(w.probes) != sdk.MaxRounds || len(p.Failed) != 1 {
		t.Errorf("%d probes, %+v", len(w.probes), p.Failed)
	}
}

func TestAReasonOfAHookIsKept(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", func(req sdk.Request) sdk.Response {
		if req.Phase == sdk.Detect {
			return vendor("nvidia", "0x10de", false)(req)
		}
		return sdk.Giving(sdk.Reason{ID: "driver-missing", Text: "The driver is not installed."})
	})
	p := w.decide()
	if len(p.Unusable) != 1 || p.Unusable[0].Reason.ID != "driver-missing" || len(p.Unusable[0].Devices) != 1 || len(p.Unclaimed) != 0 {
		t.Errorf("%+v", p)
	}
}

// Adapters that only show a screen are no GPUs that a hook is missing for.
func TestUnclaimedGPUs(t *testing.T) {
	w := newWorld(t)
	w.card("0x1a03", "0000:03:00.0")
	w.card("0x1ed5", "0000:04:00.0")
	if p := w.decide(); len(p.Unclaimed) != 1 || p.Unclaimed[0].Vendor != "0x1ed5" {
		t.Errorf("%+v", p.Unclaimed)
	}
}

func TestDiagnose(t *testing.T) {
	w := newWorld(t)
	w.hook("nvidia", "0x10de", func(req sdk.Request) sdk.Response {
		if req.Failure != nil && strings.Contains(req.Failure.Output, "could not select device driver") {
			return sdk.Giving(sdk.Reason{ID: "no-device-driver", Text: "The engine has no GPU support."})
		}
		return sdk.No()
	})
	d := Decider{Hooks: w.hooks, Run: w.run, Probe: w}
	ask := func(hook, output string) (sdk.Reason, error) {
		return d.Diagnose(context.Background(), hook, w.facts, sdk.Environment{}, sdk.Failure{Step: sdk.StepAttach, Output: output})
	}
	if r, err := ask("nvidia", `could not select device driver "" with capabilities: [[gpu]]`); err != nil || r.ID != "no-device-driver" {
		t.Errorf("%+v %v", r, err)
	}
	for _, c := range [][2]string{{"nvidia", "something else"}, {"amd", ""}} {
		if _, err := ask(c[0], c[1]); !errors.Is(err, ErrNoHook) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestEverythingSaidIsKeptForExplain(t *testing.T) {
	w := newWorld(t)
	w.card("0x10de", "0000:01:00.0")
	w.hook("nvidia", "0x10de", vendor("nvidia", "0x10de", false))
	p := w.decide()
	if len(p.Said) != 2 || p.Said[0].Answer != sdk.Claimed || p.Said[1].Answer != sdk.Decision || p.Said[0].Hook != "nvidia 1.0.0 (built in)" ||
		!slices.Equal(p.Said[0].Because, []string{"PCI 0x10de:0x0001 at 0000:01:00.0"}) {
		t.Errorf("%+v", p.Said)
	}
}

func TestAnEndedContextEndsTheDecision(t *testing.T) {
	w := newWorld(t)
	w.environment("native", 50)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Decider{Hooks: w.hooks, Run: w.run, Probe: w}).Decide(ctx, w.facts, true); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
