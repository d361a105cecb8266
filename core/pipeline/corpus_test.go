package pipeline

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/builtin/catalog"
	"rigup.dev/rigup/hooks/sdk"
	"rigup.dev/rigup/test/machines"
)

// become makes the simulated machine one that was written down, with rigup's own hooks.
func (m *machine) become(c machines.Named) {
	h, e := c.Facts.Host, c.Facts.Engine
	m.facts.machine = facts.Machine{
		OS: h.OS, Arch: h.Arch, Kernel: h.Kernel, Distro: h.Distro, WSL: h.WSL, Virtual: h.Virtual, PCI: c.Facts.PCI, Devices: c.Facts.Devices,
		Modules: c.Facts.Modules, Libraries: c.Facts.Libraries, Tools: c.Facts.Tools, Watches: facts.Of(int64(1 << 20)),
	}
	m.engine.About = engine.Info{
		Name: e.Host, Product: e.Product, ServerVersion: e.Version, API: e.API, OS: e.OS, Arch: e.Arch, Distro: e.System, Kernel: e.Kernel,
		CgroupVersion: e.CgroupVersion, CgroupDriver: e.CgroupDriver, StorageDriver: e.StorageDriver, Rootless: e.Rootless, Snap: e.Snap,
		Security: e.Security, Runtimes: e.Runtimes, DefaultRuntime: e.DefaultRuntime, CDIDirs: e.CDIDirs, CDIDevices: e.CDIDevices.Value,
		CDIDevicesKnown: e.CDIDevices.Known(), CPUs: e.CPUs, Memory: e.Memory, RootDir: "/var/lib/docker",
	}
	m.endpoint = engine.Endpoint{Host: strings.ReplaceAll(e.Endpoint, "[host]", "build.test"), Source: "test"}
	if e.Context != "" {
		m.endpoint.Source = "context " + e.Context
	}
	for ref, img := range m.engine.Registry {
		img.Arch = e.Arch
		m.engine.Registry[ref] = img
	}
	m.runner.Hooks, m.hooks = catalog.Hooks(), nil
	for _, man := range catalog.Manifests() {
		m.hooks = append(m.hooks, decision.Hook{Manifest: man, Grant: man.Permissions, BuiltIn: true})
	}
	m.probe = func(p sdk.Probe) sdk.ProbeResult { return c.Probe(m.t.Context(), p) }
}

func document(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// On every machine that was written down a plan ends with a cluster to make, or with what stands in its way; and without
// a GPU there is exactly one reason, which can be acted on where a GPU was seen (G4, G5).
func TestG4_EveryMachineOfTheCorpusHasAPlanOrAReason(t *testing.T) {
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			m := newMachine(t)
			m.become(c)
			about := m.engine.About
			if have := m.facts.machine.Facts(about, m.endpoint); document(t, have.Engine) != document(t, c.Facts.Engine) {
				t.Errorf("the facts of this engine would be\n%+v, not\n%+v", have.Engine, c.Facts.Engine)
			}
			h, ended := m.run(true)
			res := h.result()
			if res.Reason == nil || res.Mode != "cpu" {
				t.Fatalf("%+v", res)
			}
			stops := []reason.ID{reason.EnvironmentBlocked, reason.EngineNotLinux, reason.MachineMemory, reason.EngineArch}
			switch {
			case ended.Exit == 0 && len(h.changes()) == 0:
				t.Error("nothing is planned")
			case ended.Exit != 0 && !slices.Contains(stops, ended.Reason.ID):
				t.Errorf("%d %+v", ended.Exit, ended.Reason)
			}
			for _, e := range h.all {
				if e.Type == event.TypeHook && e.Hook.Failure != "" {
					t.Errorf("a hook failed: %+v", e.Hook)
				}
			}
		})
	}
}
