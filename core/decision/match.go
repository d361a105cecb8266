package decision

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// match reports whether a hook can apply to the machine, and because of which facts. It errs on the side of asking:
// a fact that is unknown matches.
func match(m sdk.Match, f sdk.Facts) (because []string, ok bool) {
	if len(m.OS) > 0 {
		if !slices.Contains(m.OS, f.Host.OS) {
			return nil, false
		}
		because = append(because, "runs on "+f.Host.OS)
	}
	if len(m.Engines) > 0 {
		name, ok := matchEngine(m.Engines, f.Engine)
		if !ok {
			return nil, false
		}
		because = append(because, "engine "+name)
	}
	if len(m.PCI)+len(m.Devices) > 0 {
		hits := append(matchPCI(m.PCI, f.PCI), matchDevices(m.Devices, f.Devices)...)
		if len(hits) == 0 {
			return nil, false
		}
		because = append(because, hits...)
	}
	return because, true
}

func matchEngine(globs []string, e sdk.Engine) (string, bool) {
	for _, name := range []string{e.Product, e.System, e.Host, e.Endpoint} {
		for _, g := range globs {
			if ok, err := path.Match(strings.ToLower(g), strings.ToLower(strings.ReplaceAll(name, "/", " "))); err == nil && ok && name != "" {
				return name, true
			}
		}
	}
	return "", false
}

func matchPCI(vendors []string, seen sdk.Fact[[]sdk.PCIDevice]) (hits []string) {
	if len(vendors) == 0 {
		return nil
	}
	if seen.Status == sdk.Unknown {
		return []string{"PCI devices are unknown"}
	}
	for _, d := range seen.Value {
		if slices.Contains(vendors, d.Vendor) {
			hits = append(hits, "PCI "+d.Vendor+":"+d.Device+" at "+d.Address)
		}
	}
	return hits
}

func matchDevices(globs []string, seen sdk.Fact[[]sdk.DeviceNode]) (hits []string) {
	if len(globs) == 0 {
		return nil
	}
	if seen.Status == sdk.Unknown {
		return []string{"device nodes are unknown"}
	}
	for _, n := range seen.Value {
		if slices.ContainsFunc(globs, func(g string) bool { ok, err := path.Match(g, n.Path); return err == nil && ok }) {
			hits = append(hits, n.Path)
		}
	}
	return hits
}

// DeviceGlobs are the device nodes that the hooks' manifests match, for whoever observes the machine.
func DeviceGlobs(hooks []Hook) []string {
	var all []string
	for _, h := range hooks {
		all = append(all, h.Manifest.Match.Devices...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Names are the machine's GPUs as people call them, as far as they are known before any hook was asked: the model, or
// the vendor of those that everybody knows.
func Names(f sdk.Facts) (out []string) {
	for _, d := range f.PCI.Value {
		if shows(d) {
			continue
		}
		name := d.Model
		if vendor := map[string]string{"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}[d.Vendor]; name == "" && vendor != "" {
			name = vendor + " GPU"
		} else if name == "" {
			name = "GPU " + strings.TrimPrefix(d.Vendor, "0x") + ":" + strings.TrimPrefix(d.Device, "0x")
		}
		out = append(out, name)
	}
	return counted(out)
}

// counted puts equal names together: "2 x NVIDIA H100".
func counted(names []string) (out []string) {
	for i := 0; i < len(names); {
		n := i
		for n < len(names) && names[n] == names[i] {
			n++
		}
		if n-i > 1 {
			out = append(out, fmt.Sprintf("%d x %s", n-i, names[i]))
		} else {
			out = append(out, names[i])
		}
		i = n
	}
	return out
}
