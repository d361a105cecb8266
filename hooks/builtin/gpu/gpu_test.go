package gpu_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/hookfake"
	"rigup.dev/rigup/hooks/builtin/env"
	"rigup.dev/rigup/hooks/builtin/gpu"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
	"rigup.dev/rigup/test/machines"
)

// decider decides with the environment hooks and these, as the program does.
func decider(m sdk.Machine) decision.Decider {
	hooks := map[string]sdk.Hook{}
	maps.Copy(hooks, env.Hooks())
	maps.Copy(hooks, gpu.Hooks())
	d := decision.Decider{Run: &hookfake.Runner{Hooks: hooks}, Probe: m}
	for _, man := range append(env.Manifests(), gpu.Manifests()...) {
		d.Hooks = append(d.Hooks, decision.Hook{Manifest: man, Grant: man.Permissions, BuiltIn: true})
	}
	return d
}

func plan(t *testing.T, m sdk.Machine) decision.Plan {
	t.Helper()
	p, err := decider(m).Decide(context.Background(), m.Facts, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Failed {
		t.Errorf("%s: the hook %s %s", m.Title, f.Hook, f.Text)
	}
	return p
}

func machine(t *testing.T, name string) sdk.Machine {
	t.Helper()
	m, err := machines.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return m.Machine
}

func TestManifestsAreValid(t *testing.T) {
	hooks := gpu.Hooks()
	for _, m := range gpu.Manifests() {
		if err := grant.Valid(m); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if hooks[m.ID] == nil {
			t.Errorf("%s has a manifest and no hook", m.ID)
		}
		delete(hooks, m.ID)
	}
	for id := range hooks {
		t.Errorf("%s has no manifest", id)
	}
}

// ask asks one hook, as the host does, and holds the answer to the protocol and to the permissions.
func ask(t *testing.T, id string, req sdk.Request, m sdk.Machine) sdk.Response {
	t.Helper()
	req.API, req.Hook, req.Kind = sdk.API, id, sdk.GPUHook
	run := hookfake.Runner{Hooks: gpu.Hooks()}
	for ; req.Round <= sdk.MaxRounds; req.Round++ {
		a, err := run.Ask(context.Background(), hookhost.Module{}, req)
		if err != nil {
			t.Fatalf("%s, %s: %v", id, req.Phase, err)
		}
		g := manifest(id).Permissions
		if a.Response.GPU != nil {
			if err := grant.GPU(*a.Response.GPU, g); err != nil {
				t.Fatalf("%s %v", id, err)
			}
		}
		if a.Response.Kind != sdk.Ask {
			return a.Response
		}
		for _, p := range a.Response.Probes {
			if err := grant.Probe(p, g); err != nil {
				t.Fatalf("%s %v", id, err)
			}
			req.Probes = append(req.Probes, m.Probe(context.Background(), p))
		}
	}
	t.Fatalf("%s, %s: asks for ever", id, req.Phase)
	return sdk.Response{}
}

func manifest(id string) sdk.Manifest {
	all := gpu.Manifests()
	return all[slices.IndexFunc(all, func(m sdk.Manifest) bool { return m.ID == id })]
}

// TestH4_EveryHookAnswersOnEveryMachine asks each hook in each phase about each machine, also where its manifest does
// not match, with the environment of the machine and without one.
func TestH4_EveryHookAnswersOnEveryMachine(t *testing.T) {
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		e := plan(t, m.Machine).Environment.Environment
		for id := range gpu.Hooks() {
			for _, surroundings := range []*sdk.Environment{&e, nil} {
				claim := ask(t, id, sdk.Request{Phase: sdk.Detect, Facts: m.Facts, Environment: surroundings}, m.Machine)
				if len(claim.Why) == 0 {
					t.Errorf("%s: %s does not say why", m.Name, id)
				}
				r := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: m.Facts, Environment: surroundings}, m.Machine)
				if claim.Kind == sdk.Decline && (r.Reason == nil || r.Reason.ID != string(why.NotFound)) {
					t.Errorf("%s: %s declines and decides all the same: %+v", m.Name, id, r)
				}
				if g := r.GPU; g != nil {
					sameAsClaimed(t, m.Name+": "+id, claim.Claim.Devices, g.Devices)
				}
			}
		}
	}
}

// sameAsClaimed holds that a decision is about devices that were claimed.
func sameAsClaimed(t *testing.T, where string, claimed, decided []sdk.Device) {
	t.Helper()
	for _, d := range decided {
		if !slices.Contains(claimed, d) {
			t.Errorf("%s decides about %+v, which it did not claim", where, d)
		}
	}
}

// TestG11_AHookDecidesAboutItsOwnVendor takes the devices of all other vendors away and holds that each hook decides
// the same.
func TestG11_AHookDecidesAboutItsOwnVendor(t *testing.T) {
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	vendors := map[string]string{"nvidia": "0x10de", "amd": "0x1002", "intel": "0x8086"}
	for _, m := range all {
		e := plan(t, m.Machine).Environment.Environment
		for id, vendor := range vendors {
			f := m.Facts
			f.PCI.Value = slices.DeleteFunc(slices.Clone(f.PCI.Value), func(d sdk.PCIDevice) bool { return d.Vendor != vendor })
			with := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: m.Facts, Environment: &e}, m.Machine)
			without := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: f, Environment: &e}, m.Machine)
			if a, b := encode(t, with), encode(t, without); a != b {
				t.Errorf("%s: %s: %s\nwithout the others: %s", m.Name, id, a, b)
			}
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestG6_UnknownIsNotAbsent takes away all that can be unknown and holds that nobody says that there is no GPU, no
// driver or no toolkit.
func TestG6_UnknownIsNotAbsent(t *testing.T) {
	for _, name := range []string{"laptop-nvidia-intel", "desktop-amd-two", "desktop-intel-battlemage", "wsl2-native-nvidia", "wsl2-desktop-nvidia"} {
		m := machine(t, name)
		e := plan(t, m).Environment.Environment
		f := m.Facts
		why := "timed out"
		f.Devices = sdk.Fact[[]sdk.DeviceNode]{Status: sdk.Unknown, Why: why}
		f.Modules = sdk.Fact[[]sdk.Module]{Status: sdk.Unknown, Why: why}
		f.Libraries = sdk.Fact[[]sdk.Library]{Status: sdk.Unknown, Why: why}
		f.Tools = sdk.Fact[[]sdk.Tool]{Status: sdk.Unknown, Why: why}
		f.Engine.CDIDevices = sdk.Fact[[]string]{Status: sdk.Unknown, Why: why}
		decided := false
		for id := range gpu.Hooks() {
			r := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: f, Environment: &e}, sdk.Machine{})
			decided = decided || r.GPU != nil
			if r.Reason != nil && r.Reason.ID != "not-found" {
				t.Errorf("%s: %s: %+v", name, id, r.Reason)
			}
		}
		if !decided {
			t.Errorf("%s: nobody decides any more", name)
		}
		f.PCI = sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: why}
		for id := range gpu.Hooks() {
			r := ask(t, id, sdk.Request{Phase: sdk.Detect, Facts: f, Environment: &e}, sdk.Machine{})
			if r.Kind == sdk.Decline && f.Host.WSL.Status != sdk.Known && !strings.Contains(r.Why[0], "can be seen") {
				t.Errorf("%s: %s says that there is nothing: %q", name, id, r.Why)
			}
		}
	}
}
