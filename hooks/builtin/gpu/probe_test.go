package gpu_test

import (
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// TestProbesFillWhatFactsLack takes facts away that probes can still find out, and holds that the decision is the
// same, and that it is one of the hook's own vendor.
func TestProbesFillWhatFactsLack(t *testing.T) {
	for id, c := range map[string]struct{ on, vendor string }{
		"nvidia": {"laptop-nvidia-amd", "0x10de"},
		"amd":    {"laptop-nvidia-amd", "0x1002"},
		"intel":  {"laptop-nvidia-intel", "0x8086"},
	} {
		m := machine(t, c.on)
		e := plan(t, m).Environment.Environment
		want := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: m.Facts, Environment: &e}, m)

		asked := m
		asked.Probes = nil
		answer := func(p sdk.Probe, r sdk.ProbeResult) {
			asked.Probes = append(asked.Probes, sdk.Case{Probe: p, Result: r})
		}
		var ours []sdk.PCIDevice
		for _, d := range m.Facts.PCI.Value {
			for _, n := range d.Nodes {
				if name, ok := strings.CutPrefix(n, "/dev/dri/renderD"); ok {
					answer(sdk.Probe{Kind: sdk.FileRead, Path: "/sys/class/drm/renderD" + name + "/device/uevent"},
						sdk.ProbeResult{Status: sdk.Known, Text: "DRIVER=" + d.Driver + "\nPCI_CLASS=30000\nPCI_SLOT_NAME=" + d.Address + "\nMODALIAS=x\n"})
				}
			}
			if d.Nodes = nil; d.Vendor == c.vendor {
				ours = append(ours, d, sdk.PCIDevice{Address: strings.TrimSuffix(d.Address, "0") + "1", Vendor: c.vendor, Class: "0x040300"})
			}
		}
		answer(sdk.Probe{Kind: sdk.PCIList, Vendor: c.vendor}, sdk.ProbeResult{Status: sdk.Known, PCI: ours})
		for _, n := range m.Facts.Devices.Value {
			answer(sdk.Probe{Kind: sdk.DeviceStat, Path: n.Path}, sdk.ProbeResult{Status: sdk.Known, Node: &n})
		}
		answer(sdk.Probe{Kind: sdk.FileRead, Path: "/sys/module/nvidia/version"}, sdk.ProbeResult{Status: sdk.Known, Text: "560.35.03\n"})

		f := m.Facts
		f.PCI = sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: "timed out"}
		f.Devices = sdk.Fact[[]sdk.DeviceNode]{Status: sdk.Unknown, Why: "timed out"}
		f.Modules = sdk.Fact[[]sdk.Module]{Status: sdk.Unknown, Why: "timed out"}
		got := ask(t, id, sdk.Request{Phase: sdk.Decide, Facts: f, Environment: &e}, asked)
		if want.GPU == nil || got.GPU == nil || encode(t, got.GPU) != encode(t, want.GPU) {
			t.Errorf("%s: %s\nwith all facts: %s", id, encode(t, got), encode(t, want))
		}
		f.Modules.Status, f.Modules.Why = "", "" // a request of a rigup that does not know this fact
		f.Devices.Status, f.Devices.Why = "", ""
		if r := ask(t, id, sdk.Request{Phase: sdk.Detect, Facts: f, Environment: &e}, asked); r.Kind != sdk.Claimed {
			t.Errorf("%s: %+v", id, r)
		}
	}
}
