package machines

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/hookhost/hookfake"
	"rigup.dev/rigup/hooks/builtin/catalog"
)

// builtIn is a decider with rigup's own hooks as Go functions. hooks/builtin holds that the module says the same.
func builtIn(m Named) decision.Decider {
	d := decision.Decider{Run: &hookfake.Runner{Hooks: catalog.Hooks()}, Probe: m}
	for _, man := range catalog.Manifests() {
		d.Hooks = append(d.Hooks, decision.Hook{Manifest: man, Grant: man.Permissions, BuiltIn: true})
	}
	return d
}

// decided is a golden decision.
type decided struct {
	Environment decision.Environment `json:"environment"`
	GPUs        []decision.GPU       `json:"gpus,omitempty"`
	Unusable    []decision.Unusable  `json:"unusable,omitempty"`
	// Unclaimed are the GPUs that no hook took, as VENDOR:DEVICE at ADDRESS.
	Unclaimed []string `json:"unclaimed,omitempty"`
	// Asked is who was asked what, and the answer, with what it rests on.
	Asked []string `json:"asked"`
}

func TestGoldenDecisions(t *testing.T) {
	names := map[string]bool{}
	for _, m := range all(t) {
		names[m.Name+".json"] = true
		t.Run(m.Name, func(t *testing.T) {
			p, err := builtIn(m).Decide(context.Background(), m.Facts, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range p.Failed {
				t.Errorf("the hook %s %s", f.Hook, f.Text)
			}
			if p.Environment.Hook == "" {
				t.Error("no hook knows the environment")
			}
			d := decided{Environment: p.Environment, GPUs: p.GPUs, Unusable: p.Unusable}
			for _, g := range p.Unclaimed {
				d.Unclaimed = append(d.Unclaimed, fmt.Sprintf("%s:%s at %s", g.Vendor, g.Device, g.Address))
			}
			for _, s := range p.Said {
				d.Asked = append(d.Asked, fmt.Sprintf("%s, %s: %s: %s", s.Hook, s.Phase, s.Answer, strings.Join(s.Why, "; ")))
				for _, r := range s.Probes {
					d.Asked = append(d.Asked, fmt.Sprintf("  probe %s %s: %s %s", r.Kind, r.ID, r.Status, strings.TrimSpace(r.Why+" "+strings.TrimSpace(r.Text))))
				}
			}
			golden(t, filepath.Join("golden", m.Name+".json"), encode(t, d))
		})
	}
	files, err := os.ReadDir("golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !names[f.Name()] {
			t.Errorf("golden/%s is of no machine", f.Name())
		}
	}
}

// TestG11_TheOrderOfDevicesDecidesNothing turns every list of devices around and holds that the same is decided.
func TestG11_TheOrderOfDevicesDecidesNothing(t *testing.T) {
	for _, m := range all(t) {
		there, err := builtIn(m).Decide(context.Background(), m.Facts, true)
		if err != nil {
			t.Fatal(err)
		}
		f := m.Facts
		f.PCI.Value = turned(f.PCI.Value)
		f.Devices.Value = turned(f.Devices.Value)
		f.Modules.Value = turned(f.Modules.Value)
		f.Libraries.Value = turned(f.Libraries.Value)
		f.Tools.Value = turned(f.Tools.Value)
		back, err := builtIn(m).Decide(context.Background(), f, true)
		if err != nil {
			t.Fatal(err)
		}
		a := decided{Environment: there.Environment, GPUs: there.GPUs, Unusable: there.Unusable}
		b := decided{Environment: back.Environment, GPUs: back.GPUs, Unusable: back.Unusable}
		if x, y := string(encode(t, a)), string(encode(t, b)); x != y {
			t.Errorf("%s: %s\nand the other way around: %s", m.Name, x, y)
		}
	}
}

func turned[T any](list []T) []T {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}
