package env_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/hooks/builtin/env"
	"rigup.dev/rigup/hooks/sdk"
	"rigup.dev/rigup/test/machines"
)

func corpus(t *testing.T) []machines.Named {
	t.Helper()
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// decide asks one hook for its decision, as the host does, without the manifest's match.
func decide(t *testing.T, hook sdk.Hook, f sdk.Facts, probe func(sdk.Probe) sdk.ProbeResult) sdk.Response {
	t.Helper()
	req := sdk.Request{API: sdk.API, Kind: sdk.EnvironmentHook, Phase: sdk.Decide, Facts: f}
	for ; req.Round <= sdk.MaxRounds; req.Round++ {
		r := hook(req)
		if r.Kind != sdk.Ask {
			return r
		}
		for _, p := range r.Probes {
			req.Probes = append(req.Probes, probe(p))
		}
	}
	t.Fatal("the hook asks for ever")
	return sdk.Response{}
}

func TestManifestsAreValidAndNameWhatHooksAskFor(t *testing.T) {
	hooks := env.Hooks()
	for _, m := range env.Manifests() {
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

// TestOneHookClaimsAnEngine holds that the hooks tell engines apart without their manifests' help: each machine is
// claimed once, and who is asked about another's machine declines in both phases.
func TestOneHookClaimsAnEngine(t *testing.T) {
	won := map[string]int{}
	for _, m := range corpus(t) {
		var claims []string
		for id, hook := range env.Hooks() {
			r := hook(sdk.Request{API: sdk.API, Kind: sdk.EnvironmentHook, Phase: sdk.Detect, Facts: m.Facts})
			switch {
			case len(r.Why) == 0 || strings.TrimSpace(r.Why[0]) == "":
				t.Errorf("%s: %s does not say why", m.Name, id)
			case r.Kind == sdk.Claimed:
				claims = append(claims, id)
				won[id]++
			case r.Kind != sdk.Decline:
				t.Errorf("%s: %s answers %s", m.Name, id, r.Kind)
			default:
				if r := decide(t, hook, m.Facts, nil); r.Kind != sdk.Decline {
					t.Errorf("%s: %s declines and decides all the same", m.Name, id)
				}
			}
		}
		if len(claims) != 1 {
			t.Errorf("%s is claimed by %q", m.Name, claims)
		}
	}
	for id := range env.Hooks() {
		if won[id] == 0 {
			t.Errorf("no machine is of %s", id)
		}
	}
}

func TestHooksOfEnvironmentsDecideNothingElse(t *testing.T) {
	m := corpus(t)[0]
	for id, hook := range env.Hooks() {
		for _, req := range []sdk.Request{
			{Kind: sdk.GPUHook, Phase: sdk.Detect, Facts: m.Facts},
			{Kind: sdk.EnvironmentHook, Phase: sdk.Diagnose, Facts: m.Facts},
			{Kind: sdk.EnvironmentHook, Phase: sdk.Detect}, // no facts at all
		} {
			if r := hook(req); r.Kind != sdk.Decline || len(r.Why) != 1 {
				t.Errorf("%s: %+v", id, r)
			}
		}
	}
}

// TestG4_EnvironmentsSayWhatCanBeDone holds every reason of every machine to the form of reasons, and that all of
// them come up.
func TestG4_EnvironmentsSayWhatCanBeDone(t *testing.T) {
	seen := map[string]bool{}
	check := func(name string, r sdk.Reason) {
		seen[r.ID] = true
		switch {
		case !strings.HasSuffix(r.Text, ".") || strings.Count(r.Text, ". ") > 0 || strings.ContainsAny(r.Text, "\n\u2014"):
			t.Errorf("%s: %s: not one sentence: %q", name, r.ID, r.Text)
		case len(r.Remedy) == 0:
			t.Errorf("%s: %s has no remedy", name, r.ID)
		}
	}
	for _, m := range corpus(t) {
		for id, hook := range env.Hooks() {
			r := decide(t, hook, m.Facts, func(p sdk.Probe) sdk.ProbeResult { return m.Probe(context.Background(), p) })
			if r.Environment == nil {
				continue
			}
			e := *r.Environment
			if err := grant.Environment(e); err != nil {
				t.Errorf("%s: %v", m.Name, err)
			}
			if e.ID != id || len(r.Why) == 0 || e.Restart == "" && id != "remote" || e.Start == "" && id != "remote" {
				t.Errorf("%s: not complete: %+v", m.Name, e)
			}
			if (len(e.Attach) == 0) != (e.GPULess != nil) {
				t.Errorf("%s: no attachment and no reason for it, or both: %+v", m.Name, e)
			}
			if (e.Memory == sdk.VirtualMemory) != (e.Grow != "") {
				t.Errorf("%s: memory %s, grow %q", m.Name, e.Memory, e.Grow)
			}
			if e.GPULess != nil {
				check(m.Name, *e.GPULess)
			}
			for _, w := range append(slices.Clone(e.Warnings), e.Blockers...) {
				check(m.Name, w)
			}
		}
	}
	for _, id := range []string{
		"engine-elsewhere", "gpu-here-engine-there", "no-gpu-in-vm", "no-gpu-in-windows-containers", "no-gpu-in-wsl", "no-gpu-on-hyperv", "no-gpu-on-mac",
		"outside-of-wsl", "podman-api", "rootless-cgroup-v1", "rootless-delegation", "rootless-no-systemd", "rootless-not-delegated",
		"snap", "windows-containers", "wsl1",
	} {
		if !seen[id] {
			t.Errorf("no machine comes to %s", id)
		}
		delete(seen, id)
	}
	for id := range seen {
		t.Errorf("%s is not in this test's list", id)
	}
}

// TestC1_UnknownFactsBlockNothing takes away what hooks look at and holds that nothing becomes certain by that.
func TestC1_UnknownFactsBlockNothing(t *testing.T) {
	for _, name := range []string{"laptop-nvidia-intel", "wsl2-native-nvidia", "wsl2-desktop-nvidia", "rootless-nvidia"} {
		m, err := machines.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		f := m.Facts
		f.Host.Kernel = sdk.Fact[string]{Status: sdk.Unknown, Why: "timed out"}
		f.PCI = sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: "timed out"}
		f.Devices = sdk.Fact[[]sdk.DeviceNode]{Status: sdk.Unknown, Why: "timed out"}
		f.Tools = sdk.Fact[[]sdk.Tool]{Status: sdk.Unknown, Why: "timed out"}
		f.Engine.Runtimes = []string{"runc"}
		decided := 0
		for id, hook := range env.Hooks() {
			r := decide(t, hook, f, func(p sdk.Probe) sdk.ProbeResult { return sdk.Machine{}.Probe(context.Background(), p) })
			if r.Environment == nil {
				continue
			}
			decided++
			e := r.Environment
			if len(e.Blockers) > 0 || e.GPULess != nil || !slices.Contains(e.Attach, sdk.AttachNVIDIA) || !slices.Contains(e.Attach, sdk.AttachDevices) {
				t.Errorf("%s: %s: %+v", name, id, e)
			}
		}
		if decided != 1 {
			t.Errorf("%s: %d decisions", name, decided)
		}
	}
}

// TestAProfileOfColimaIsNamed holds that commands are about the machine that was seen.
func TestAProfileOfColimaIsNamed(t *testing.T) {
	m, err := machines.Read("mac-colima")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"colima":      "colima stop && colima start --memory 8",
		"colima-work": "colima stop --profile work && colima start --profile work --memory 8",
		"":            "colima stop && colima start --memory 8", // known by its socket
	} {
		f := m.Facts
		f.Engine.Host = host
		if r := decide(t, env.Hooks()["colima"], f, nil); r.Environment == nil || r.Environment.Grow != want {
			t.Errorf("%q: %+v", host, r.Environment)
		}
	}
}
