// Package drm is what the hooks have in common whose GPUs are used through render nodes.
package drm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/sdk"
)

// DXG and WSLDir are what a container needs of WSL2 for the GPU of any vendor: the device, and the drivers' libraries
// that Windows brings along.
const (
	DXG    = "/dev/dxg"
	WSLDir = "/usr/lib/wsl"
)

// Render is the render node of a GPU: through it programs compute and draw, and nothing can be shown or taken from
// the screen. Empty when it has none, or when that is not known.
func Render(d sdk.PCIDevice) string {
	for _, n := range d.Nodes {
		if strings.HasPrefix(n, "/dev/dri/renderD") {
			return n
		}
	}
	return ""
}

// Complete finds the render nodes of devices that came without: it asks which device each of the machine's render
// nodes belongs to. Facts that name no nodes at all are not evidence that there are none.
func Complete(v *view.View, devices []sdk.PCIDevice) []sdk.PCIDevice {
	if !slices.ContainsFunc(devices, func(d sdk.PCIDevice) bool { return Render(d) == "" }) {
		return devices
	}
	out := slices.Clone(devices)
	for _, node := range renderNodes(v) {
		if slices.ContainsFunc(out, func(d sdk.PCIDevice) bool { return Render(d) == node }) {
			continue
		}
		r := v.Ask(sdk.Probe{Kind: sdk.FileRead, Path: "/sys/class/drm/" + strings.TrimPrefix(node, "/dev/dri/") + "/device/uevent"})
		for i, d := range out {
			if Render(d) == "" && slices.Contains(strings.Fields(r.Text), "PCI_SLOT_NAME="+d.Address) {
				out[i].Nodes = append(slices.Clone(d.Nodes), node)
			}
		}
	}
	return out
}

// renderNodes are those of the machine, of all vendors. Where the list is not known, the kernel's numbers for the first
// few are tried: they begin with 128.
func renderNodes(v *view.View) (out []string) {
	if v.Facts.Devices.Status == sdk.Known || v.Facts.Devices.Status == sdk.Absent {
		for _, n := range v.Facts.Devices.Value {
			if strings.HasPrefix(n.Path, "/dev/dri/renderD") {
				out = append(out, n.Path)
			}
		}
		slices.Sort(out)
		return out
	}
	for i := range 8 {
		out = append(out, "/dev/dri/renderD"+strconv.Itoa(128+i))
	}
	return out
}

// Groups are the groups that may open these nodes, without root's and without those of nodes that everybody may open.
func Groups(v *view.View, nodes []string) (out []int) {
	for _, path := range nodes {
		n, status := v.Node(path)
		if status != sdk.Known || n.Group == 0 || strings.HasSuffix(n.Mode, "6") || strings.HasSuffix(n.Mode, "7") {
			continue
		}
		if !slices.Contains(out, n.Group) {
			out = append(out, n.Group)
		}
	}
	slices.Sort(out)
	return out
}

// Spec describes GPUs to containers: devices 0 to n-1, each with its own nodes, those that all of them need, and
// the groups that may open them, so that programs need not run as root.
func Spec(kind string, own [][]string, shared []string, groups []int) json.RawMessage {
	s := spec{Version: "0.5.0", Kind: kind} // the first that allows names which begin with a digit
	if len(groups) > 0 {
		s.Version = "0.7.0" // the first with groups
	}
	for i, nodes := range own {
		e := edits{GIDs: groups}
		for _, path := range append(slices.Clone(shared), nodes...) {
			e.Nodes = append(e.Nodes, node{Path: path, Permissions: "rw"})
		}
		s.Devices = append(s.Devices, device{Name: strconv.Itoa(i), Edits: e})
	}
	return encode(s)
}

// WSLSpec describes the one GPU that WSL2 has, whatever is behind it.
func WSLSpec(kind string) json.RawMessage {
	return encode(spec{Version: "0.5.0", Kind: kind, Devices: []device{{Name: "0", Edits: edits{
		Nodes:  []node{{Path: DXG, Permissions: "rw"}},
		Mounts: []mount{{Host: WSLDir, Container: WSLDir, Options: []string{"ro", "nosuid", "nodev", "rbind"}}},
	}}}})
}

func encode(s spec) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return nil // cannot be: there are only strings and numbers in it
	}
	return b
}

// The parts of a CDI spec that are needed here, as
// https://github.com/cncf-tags/container-device-interface/blob/main/SPEC.md defines them.
type spec struct {
	Version string   `json:"cdiVersion"`
	Kind    string   `json:"kind"`
	Devices []device `json:"devices"`
}

type device struct {
	Name  string `json:"name"`
	Edits edits  `json:"containerEdits"`
}

type edits struct {
	Nodes  []node  `json:"deviceNodes,omitempty"`
	Mounts []mount `json:"mounts,omitempty"`
	GIDs   []int   `json:"additionalGids,omitempty"`
}

type node struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
}

type mount struct {
	Host      string   `json:"hostPath"`
	Container string   `json:"containerPath"`
	Options   []string `json:"options"`
}
