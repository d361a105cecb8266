package sdk

import (
	"context"
	"strings"
	"testing"
)

func TestAMachineAnswersItsProbes(t *testing.T) {
	m := Machine{Probes: []Case{
		{Probe: Probe{Kind: ToolVersion, Tool: "nvidia-smi", Args: []string{"--version"}}, Result: ProbeResult{Status: Known, Text: "550"}},
		{Probe: Probe{ID: "x", Kind: DeviceStat, Path: "/dev/kfd"}, Result: ProbeResult{Status: Absent}},
	}}
	for _, c := range []struct {
		probe Probe
		want  ProbeResult
	}{
		{Probe{ID: "a", Kind: ToolVersion, Tool: "nvidia-smi", Args: []string{"--version"}}, ProbeResult{ID: "a", Kind: ToolVersion, Status: Known, Text: "550"}},
		{Probe{ID: "b", Kind: DeviceStat, Path: "/dev/kfd", Args: []string{}}, ProbeResult{ID: "b", Kind: DeviceStat, Status: Absent}},
		{Probe{ID: "c", Kind: DeviceStat, Path: "/dev/dxg"}, ProbeResult{ID: "c", Kind: DeviceStat, Status: Unknown, Why: "not in this case"}},
		{Probe{ID: "d", Kind: ToolVersion, Tool: "nvidia-smi"}, ProbeResult{ID: "d", Kind: ToolVersion, Status: Unknown, Why: "not in this case"}},
	} {
		got := m.Probe(context.Background(), c.probe)
		if got.ID != c.want.ID || got.Kind != c.want.Kind || got.Status != c.want.Status || got.Why != c.want.Why || got.Text != c.want.Text {
			t.Errorf("%+v: %+v, want %+v", c.probe, got, c.want)
		}
	}
}

func TestMachinesAreReadStrictly(t *testing.T) {
	for doc, want := range map[string]string{
		`{"api":"rigup.machine/v1","title":"x"}`:                                     "",
		`{"api":"rigup.machine/v2","title":"x"}`:                                     "rigup.machine/v2",
		`{"api":"rigup.machine/v1","title":"x","facts":{"host":{"wls":{}}}}`:         "facts.host.wls",
		`{"api":"rigup.machine/v1","title":"x","facts":{"pci":{"value":[{"X":1}]}}}`: "facts.pci.value[0].X",
		`{"api":"rigup.machine/v1","title":"x"} {}`:                                  "follows",
	} {
		_, err := DecodeMachine([]byte(doc))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", doc, err, want)
		}
	}
}
