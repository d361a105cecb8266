package grant

import (
	"encoding/json"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// Whatever a hook decides: the check ends, panics on nothing, and lets nothing through that the maxima forbid.
func FuzzGPU(f *testing.F) {
	seed, err := json.Marshal(decided())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"vendor":"x","devices":[{"id":"a"}],"resource":"acme.example/gpu","attach":[{"kind":"devices","nodes":["/dev/acme\u0000"]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d sdk.GPU
		if json.Unmarshal(b, &d) != nil || GPU(d, permitted()) != nil {
			return
		}
		for _, a := range d.Attach {
			for _, n := range a.Nodes {
				if Attachable(n) != nil || !matches(permitted().Devices, n) {
					t.Errorf("the node %q was allowed", n)
				}
			}
			for _, m := range a.Binds {
				if Bindable(m) != nil {
					t.Errorf("the mount %q was allowed", m)
				}
			}
		}
	})
}

func FuzzValid(f *testing.F) {
	f.Add([]byte(`{"api":"rigup.hook/v1","abi":"wasip1-json/1","id":"acme","version":"1.0.0","title":"t","publisher":"p","kinds":["gpu"],"permissions":{"files":["/sys/module/a"],"devices":["/dev/ac*"],"images":["a/b:1"]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m sdk.Manifest
		if json.Unmarshal(b, &m) != nil || Valid(m) != nil {
			return
		}
		for _, p := range m.Permissions.Files {
			if Readable(p) != nil {
				t.Errorf("%q can be read", p)
			}
		}
		if len(Words(m.Permissions)) == 0 && !Empty(m.Permissions) {
			t.Error("permissions without words")
		}
	})
}
