// Package grant knows what hooks may be allowed, and holds what they ask for and decide against what they were
// allowed (invariant H4).
//
// A manifest wishes, a person grants, and this package caps both: the maxima in limits.go hold whatever a
// manifest says and whatever a person approved.
package grant

import (
	"path"
	"reflect"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Beyond is what want has and have does not list. Something that have's globs would match but does not list counts
// as more: a person saw other words.
func Beyond(want, have sdk.Permissions) sdk.Permissions {
	var more sdk.Permissions
	w, h, m := reflect.ValueOf(want), reflect.ValueOf(have), reflect.ValueOf(&more).Elem()
	for i := range w.NumField() {
		listed := strs(h.Field(i))
		for j := range w.Field(i).Len() {
			if item := w.Field(i).Index(j); !slices.Contains(listed, item.String()) {
				m.Field(i).Set(reflect.Append(m.Field(i), item))
			}
		}
	}
	return more
}

// Empty reports whether nothing is allowed.
func Empty(p sdk.Permissions) bool {
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if v.Field(i).Len() > 0 {
			return false
		}
	}
	return true
}

// Words says in plain words what is allowed, one line for each kind of thing.
func Words(p sdk.Permissions) []string {
	var out []string
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		if items := strs(v.Field(i)); len(items) > 0 {
			out = append(out, phrase(v.Type().Field(i).Name, items))
		}
	}
	return out
}

// phrase is one line of Words. A test holds that every field has words.
func phrase(field string, items []string) string {
	verb, ok := map[string]string{
		"Files":      "read these files of this machine",
		"Devices":    "look at these device nodes, and hand them to the cluster",
		"Binds":      "mount these into the cluster, read-only",
		"Tools":      "ask these programs for their version",
		"Images":     "run containers of these images, without network",
		"Registries": "see whether these registries answer",
		"Resources":  "offer these to pods",
		"Env":        "set these variables in the cluster's container",
		"K3sArgs":    "start Kubernetes with these arguments",
		"Runtime":    "tell charts to use these runtime classes",
	}[field]
	if ok {
		return verb + ": " + strings.Join(items, ", ")
	}
	said := map[string]string{
		string(sdk.PCIList): "list PCI devices", string(sdk.DeviceStat): "look at device nodes", string(sdk.FileRead): "read files",
		string(sdk.EngineInfo): "read what the engine says about itself", string(sdk.EngineRun): "run containers on the engine",
		string(sdk.ToolVersion): "ask programs for their version", string(sdk.RegistryReach): "see whether registries answer",
		string(sdk.AttachCDI): "through CDI", string(sdk.AttachNVIDIA): "through the engine's NVIDIA support", string(sdk.AttachDevices): "as device nodes",
		"node": "the stock node image", "node-nvidia": "the node image with NVIDIA's toolkit",
		ownImage: "one of the images above, which then has all rights on the engine's machine",
	}
	for i, item := range items {
		if s, ok := said[item]; ok {
			items[i] = s
		}
	}
	lead := map[string]string{
		"Probes": "have rigup check the machine", "Attach": "hand GPUs to the cluster", "Targets": "choose the node image",
	}[field]
	return lead + ": " + strings.Join(items, ", ")
}

// strs are the items of a list of strings of any type.
func strs(list reflect.Value) []string {
	out := make([]string, list.Len())
	for i := range out {
		out[i] = list.Index(i).String()
	}
	return out
}

// matches reports whether one of the globs, or the words themselves, covers s.
func matches(globs []string, s string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, err := path.Match(g, s)
		return err == nil && ok
	})
}

// imageAllowed reports whether an image is listed, or is below a listed reference that ends in /*.
func imageAllowed(listed []string, image string) bool {
	return slices.ContainsFunc(listed, func(l string) bool {
		below, all := strings.CutSuffix(l, "*")
		return l == image || all && strings.HasPrefix(image, below)
	})
}
