package view

import (
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// GPUs are the display controllers and accelerators of a vendor, by address: the order in which the system lists them
// decides nothing (G11). The status is unknown, with why, when the system did
// not tell.
func (v *View) GPUs(vendor string) sdk.Fact[[]sdk.PCIDevice] {
	seen := v.Facts.PCI
	if seen.Status != sdk.Known && seen.Status != sdk.Absent {
		r := v.Ask(sdk.Probe{Kind: sdk.PCIList, Vendor: vendor})
		if r.Status == sdk.Unknown {
			return sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: first(seen.Why, r.Why)}
		}
		seen.Value = r.PCI
	}
	out := sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Absent}
	for _, d := range seen.Value {
		if strings.EqualFold(d.Vendor, vendor) && isGPU(d.Class) {
			out.Status, out.Value = sdk.Known, append(out.Value, d)
		}
	}
	slices.SortFunc(out.Value, func(a, b sdk.PCIDevice) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// isGPU tells the GPU of a card from its other functions, such as sound. Class 0x03 is for displays, 0x12 for
// accelerators.
func isGPU(class string) bool {
	return class == "" || strings.HasPrefix(class, "0x03") || strings.HasPrefix(class, "0x12")
}

// Reserved reports whether a device is bound to a driver that only keeps it for virtual machines.
func Reserved(d sdk.PCIDevice) bool {
	return d.Driver == "vfio-pci" || d.Driver == "pci-stub" || d.Driver == "pciback" || d.Driver == "xen-pciback"
}

// Usable sorts out what is kept for virtual machines.
func Usable(devices []sdk.PCIDevice) (usable, kept []sdk.PCIDevice) {
	for _, d := range devices {
		if Reserved(d) {
			kept = append(kept, d)
		} else {
			usable = append(usable, d)
		}
	}
	return usable, kept
}

// BasicDisplay reports whether all of these have Windows' own driver, whose versions are those of Windows.
func BasicDisplay(devices []sdk.PCIDevice) bool {
	for _, d := range devices {
		if !strings.EqualFold(d.Driver, "BasicDisplay") && !strings.HasPrefix(d.DriverVersion, "10.0.") {
			return false
		}
	}
	return len(devices) > 0
}

// Node looks for a device node. Where the list of them is not known it asks for this one.
func (v *View) Node(path string) (sdk.DeviceNode, sdk.Status) {
	if v.Facts.Host.OS != "linux" {
		return sdk.DeviceNode{}, sdk.Unknown // what it names so is somewhere else
	}
	if v.Facts.Devices.Status != sdk.Known && v.Facts.Devices.Status != sdk.Absent {
		r := v.Ask(sdk.Probe{Kind: sdk.DeviceStat, Path: path})
		if r.Status == sdk.Known && r.Node != nil {
			return *r.Node, sdk.Known
		}
		return sdk.DeviceNode{}, r.Status
	}
	for _, n := range v.Facts.Devices.Value {
		if n.Path == path {
			return n, sdk.Known
		}
	}
	return sdk.DeviceNode{}, sdk.Absent
}

// Module looks for a loaded kernel module. File is one that it has in /sys or /proc, to look at where the list of
// modules is not known.
func (v *View) Module(name, file string) (sdk.Module, sdk.Status) {
	if v.Facts.Host.OS != "linux" {
		return sdk.Module{}, sdk.Unknown
	}
	if v.Facts.Modules.Status != sdk.Known && v.Facts.Modules.Status != sdk.Absent {
		r := v.Ask(sdk.Probe{Kind: sdk.FileRead, Path: file})
		return sdk.Module{Name: name, Version: strings.TrimSpace(r.Text)}, r.Status
	}
	for _, m := range v.Facts.Modules.Value {
		if m.Name == name {
			return m, sdk.Known
		}
	}
	return sdk.Module{}, sdk.Absent
}

// Tool looks for an installed program.
func (v *View) Tool(name string) (sdk.Tool, sdk.Status) {
	for _, t := range v.Facts.Tools.Value {
		if t.Name == name {
			return t, sdk.Known
		}
	}
	if v.Facts.Tools.Status == sdk.Known || v.Facts.Tools.Status == sdk.Absent {
		return sdk.Tool{}, sdk.Absent
	}
	return sdk.Tool{}, sdk.Unknown
}

// Libraries are the files of a name that were found, by path.
func (v *View) Libraries(name string) (out []sdk.Library) {
	for _, l := range v.Facts.Libraries.Value {
		if l.Name == name {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b sdk.Library) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// NoLibraries reports whether it is known that there is none of these.
func (v *View) NoLibraries(names ...string) bool {
	if v.Facts.Libraries.Status != sdk.Known && v.Facts.Libraries.Status != sdk.Absent {
		return false
	}
	for _, n := range names {
		if len(v.Libraries(n)) > 0 {
			return false
		}
	}
	return true
}

// CDIDevices are the devices of a CDI kind that the engine found; known is false when it does not say.
func (v *View) CDIDevices(kind string) (ids []string, known bool) {
	e := v.Facts.Engine
	for _, id := range e.CDIDevices.Value {
		if strings.HasPrefix(id, kind+"=") {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, e.CDIDevices.Status == sdk.Known || e.CDIDevices.Status == sdk.Absent
}

// WSL2 reports whether rigup runs in a distribution of WSL2, and which drivers Windows has, by name.
func (v *View) WSL2() (drivers []string, ok bool) {
	w := v.Facts.Host.WSL
	drivers = slices.Clone(w.Value.Drivers)
	slices.Sort(drivers)
	return drivers, w.Known() && w.Value.Version == 2
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
