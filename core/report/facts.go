package report

import (
	"fmt"
	"slices"
	"strings"

	"rigup.dev/rigup/core/units"
	"rigup.dev/rigup/hooks/sdk"
)

// Facts returns what was observed of a machine as one screen.
func Facts(m sdk.Machine, o Options) string {
	f := m.Facts
	p := &page{width: min(o.width(), maxText), st: style(o.Color), label: longLabels}
	p.head(bold, clean(m.Title))
	p.gap()
	p.item("System", hostLine(f.Host))
	p.item("WSL", wslLine(f.Host.WSL))
	enginePage(p, f.Engine)
	p.gap()
	several(p, "GPU", f.PCI, func(d sdk.PCIDevice) string { return pciLine(d, f.Host.OS) })
	several(p, "Nodes", together(f.Devices, func(n sdk.DeviceNode) string { return n.Path }), func(s string) string { return s })
	several(p, "Modules", together(f.Modules, func(n sdk.Module) string { return strings.TrimSpace(n.Name + " " + n.Version) }), func(s string) string { return s })
	several(p, "Library", f.Libraries, func(l sdk.Library) string { return strings.TrimSpace(l.Path + " " + l.Version) })
	several(p, "Tool", f.Tools, toolLine)
	p.gap()
	p.hang("", "Hooks are told this. As a document, for a hook's tests or a ticket: rigup facts --output json")
	return strings.Join(p.lines, "\n") + "\n"
}

// several writes a fact of several things, each on its line.
func several[T any](p *page, label string, f sdk.Fact[[]T], line func(T) string) {
	switch {
	case f.Status == sdk.Unknown:
		p.item(label, "unknown: "+clean(f.Why))
	case len(f.Value) == 0:
		p.item(label, "none")
	}
	for i, v := range f.Value {
		text := clean(line(v))
		if i == 0 {
			p.item(label, text)
			continue
		}
		p.hang(strings.Repeat(" ", 2+p.label), text)
	}
}

// together makes one thing of several that are short.
func together[T any](f sdk.Fact[[]T], line func(T) string) sdk.Fact[[]string] {
	out := sdk.Fact[[]string]{Status: f.Status, Why: f.Why}
	var all []string
	for _, v := range f.Value {
		all = append(all, line(v))
	}
	if len(all) > 0 {
		out.Value = []string{strings.Join(all, ", ")}
	}
	return out
}

// fact is a fact of one thing; what is absent is empty.
func fact[T any](f sdk.Fact[T], line func(T) string) string {
	switch f.Status {
	case sdk.Known:
		return clean(line(f.Value))
	case sdk.Unknown:
		return "unknown (" + clean(f.Why) + ")"
	}
	return ""
}

func hostLine(h sdk.Host) string {
	return list(
		fact(h.Distro, func(d sdk.Distro) string { return d.Name }), h.OS+"/"+h.Arch,
		prefixed("kernel ", fact(h.Kernel, func(s string) string { return s })),
		virtual(h.Virtual),
	)
}

// virtual is the hypervisor by name, where it has one.
func virtual(f sdk.Fact[string]) string {
	if f.Status == sdk.Known && (f.Value == "vm-other" || f.Value == "") {
		return "in a virtual machine"
	}
	return prefixed("in a virtual machine: ", fact(f, func(s string) string { return s }))
}

func wslLine(f sdk.Fact[sdk.WSL]) string {
	return fact(f, func(w sdk.WSL) string {
		return list(fmt.Sprintf("version %d", w.Version), w.Distro, prefixed("GPU drivers of Windows: ", strings.Join(w.Drivers, " ")))
	})
}

func enginePage(p *page, e sdk.Engine) {
	if e.Version == "" {
		p.item("Engine", "unknown: "+clean(e.CDIDevices.Why))
		return
	}
	p.item("Engine", list(engineName(e), "API "+e.API, e.OS+"/"+e.Arch, prefixed("host ", e.Host), prefixed("context ", e.Context)))
	rest := []string{
		list(e.Endpoint, when(e.Remote, "on another machine")),
		list(e.System, "kernel "+e.Kernel, fmt.Sprintf("%d CPUs", e.CPUs), units.Size(e.Memory)+" memory"),
		list("cgroup v"+e.CgroupVersion, e.CgroupDriver, e.StorageDriver, when(e.Rootless, "rootless"), when(e.Snap, "a snap"), prefixed("runtimes ", strings.Join(defaultFirst(e), " "))),
		cdiLine(e),
	}
	for _, l := range rest {
		if l = clean(l); l != "" {
			p.hang(strings.Repeat(" ", 2+p.label), l)
		}
	}
}

// engineName is what the engine is called, with its version.
func engineName(e sdk.Engine) string {
	switch name := or(e.Product, "Docker"); {
	case strings.ContainsAny(name, "0123456789"): // a desktop's own version
		return name + ", engine " + e.Version
	default:
		return name + " " + e.Version
	}
}

func when(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// defaultFirst are the runtimes, the one that containers get first.
func defaultFirst(e sdk.Engine) []string {
	all := slices.DeleteFunc(slices.Clone(e.Runtimes), func(s string) bool { return s == e.DefaultRuntime })
	if e.DefaultRuntime != "" {
		all = append([]string{e.DefaultRuntime}, all...)
	}
	return all
}

func cdiLine(e sdk.Engine) string {
	devices := "its devices unknown: " + e.CDIDevices.Why
	if e.CDIDevices.Known() {
		devices = "no devices"
		if len(e.CDIDevices.Value) > 0 {
			devices = strings.Join(e.CDIDevices.Value, " ")
		}
	}
	if len(e.CDIDirs) == 0 {
		if e.CDIDevices.Known() && len(e.CDIDevices.Value) > 0 {
			return "CDI: " + devices
		}
		return "no CDI"
	}
	return "CDI in " + strings.Join(e.CDIDirs, " ") + ": " + devices
}

func pciLine(d sdk.PCIDevice, os string) string {
	id := strings.TrimPrefix(d.Vendor, "0x") + ":" + strings.TrimPrefix(d.Device, "0x")
	parts := []string{d.Model}
	if d.Address != d.Model { // macOS has no other address
		parts = append(parts, "at "+d.Address)
	}
	if d.Device != "" {
		parts = append(parts, "PCI "+id)
	}
	if driver := strings.TrimSpace(d.Driver + " " + d.DriverVersion); driver != "" {
		parts = append(parts, "driver "+driver)
	} else if os == "linux" { // macOS does not say
		parts = append(parts, "no driver")
	}
	if d.Memory > 0 {
		parts = append(parts, units.Size(d.Memory))
	}
	if d.Partitions > 0 {
		parts = append(parts, fmt.Sprintf("cut into %d", d.Partitions))
	}
	return list(append(parts, d.Nodes...)...)
}

func toolLine(t sdk.Tool) string {
	if t.Version != "" {
		return t.Path + " " + t.Version
	}
	return t.Path + ": " + t.Output
}

// FactsTitle describes a machine in one line: its system, its GPUs, its engine.
func FactsTitle(f sdk.Facts) string {
	system := f.Host.OS
	if f.Host.Distro.Known() {
		system = f.Host.Distro.Value.Name
	}
	parts := []string{system}
	if f.Host.WSL.Known() {
		parts[0] += fmt.Sprintf(" on WSL%d", f.Host.WSL.Value.Version)
	}
	count := map[string]int{}
	var models []string
	for _, d := range f.PCI.Value {
		if count[d.Model]++; count[d.Model] == 1 && d.Model != "" {
			models = append(models, d.Model)
		}
	}
	for _, m := range models {
		if count[m] > 1 {
			m = fmt.Sprintf("%d x %s", count[m], m)
		}
		parts = append(parts, m)
	}
	if f.Engine.Version == "" {
		return list(append(parts, "no engine that answers")...)
	}
	return list(append(parts, engineName(f.Engine))...)
}
