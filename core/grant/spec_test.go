package grant

import (
	"encoding/json"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// H4: whatever a CDI spec can do to a container is held against the grant, also by the fields that are hardly used.
func TestH4_ACDISpecCannotDoMoreThanItsPathsSay(t *testing.T) {
	lib := `"hostPath":"/opt/acme/lib","options":["ro"]`
	for want, edits := range map[string][]string{
		"a type or number of its own": {
			`{"deviceNodes":[{"path":"/dev/acme0","type":"b","major":8,"minor":0}]}`,
			`{"deviceNodes":[{"path":"/dev/acme0","type":"c","major":1,"minor":1}]}`,
			`{"deviceNodes":[{"path":"/dev/acme0","type":"p"}]}`,
			`{"deviceNodes":[{"path":"/dev/acme0","minor":1}]}`,
		},
		"is not known": {
			`{"deviceNodes":[{"path":"/dev/sda"}],"DeviceNodes":[{"path":"/dev/acme0"}]}`,
			`{"deviceNodes":[{"PATH":"/dev/acme0"}]}`,
			`{"mounts":[],"mountſ":[]}`,
		},
		"device node that is null": {`{"deviceNodes":[null]}`},
		"mount that is null":       {`{"mounts":[null]}`},
		"no hook may cover": {
			`{"mounts":[{` + lib + `,"containerPath":"/etc/ld.so.preload"}]}`,
			`{"mounts":[{` + lib + `,"containerPath":"/usr/lib/../../etc/ld.so.preload"}]}`,
			`{"mounts":[{` + lib + `,"containerPath":"/proc/1"}]}`,
			`{"mounts":[{` + lib + `,"containerPath":"/"}]}`,
			`{"mounts":[{` + lib + `}]}`,
		},
		`as "devtmpfs"`:  {`{"mounts":[{` + lib + `,"containerPath":"/opt/acme/lib","type":"devtmpfs"}]}`},
		"one short line": {`{"env":["ACME_VISIBLE_DEVICES=a\nb","ACME_VISIBLE_DEVICES=0"]}`},
	} {
		for _, e := range edits {
			d := decided()
			d.CDI.Spec = spec1(e)
			if err := GPU(d, permitted()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", e, err)
			}
		}
	}
	for _, fine := range []string{
		`{"mounts":[{` + lib + `,"containerPath":"/opt/acme/lib"}]}`,
		`{"mounts":[{` + lib + `,"containerPath":"/usr/local/lib/acme","type":"bind"}]}`,
		`{"deviceNodes":[{"path":"/dev/acme0","hostPath":"/dev/acme0","type":"c","permissions":"rw","fileMode":438,"uid":0,"gid":44}]}`,
		`{"env":["ACME_VISIBLE_DEVICES=0"],"additionalGids":[44]}`,
	} {
		d := decided()
		d.CDI.Spec = spec1(fine)
		if err := GPU(d, permitted()); err != nil {
			t.Errorf("%s: %v", fine, err)
		}
	}
}

// H1: no CDI spec brings the program down.
func FuzzSpec(f *testing.F) {
	f.Add(`{"deviceNodes":[{"path":"/dev/acme0"},null],"mounts":[null],"hooks":[null],"netDevices":[null],"intelRdt":null,"env":["A"]}`)
	f.Fuzz(func(_ *testing.T, edits string) {
		_ = spec(sdk.CDI{Mode: sdk.CDIStatic, Kind: "acme.example/gpu", Spec: spec1(edits)}, permitted())
		_ = spec(sdk.CDI{Mode: sdk.CDIStatic, Kind: "acme.example/gpu", Spec: json.RawMessage(edits)}, permitted())
	})
}
