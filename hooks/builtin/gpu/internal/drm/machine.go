package drm

import (
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// Vendor is what tells the GPUs of a vendor from others.
type Vendor struct {
	Name string // AMD
	ID   string // of PCI: 0x1002
	// GPU reports whether a display controller or accelerator of the vendor is a GPU that belongs to the hook.
	GPU func(sdk.PCIDevice) bool
	// Integrated reports whether a GPU is a part of the processor, and says what tells.
	Integrated func(sdk.PCIDevice) (bool, string)
	// Stored reports whether a package of Windows' driver store is the vendor's driver for displays.
	Stored func(name string) bool
	// Modules are the kernel modules, the first one for GPUs that none has taken yet.
	Modules []string
	// Fill are values for remedies.
	Fill func(*view.View) why.Fill
}

// Machine is what was recognised.
type Machine struct {
	*view.View
	Vendor
	// Cards are the GPUs on PCI that are used. Beside are those that another one stands beside which is better; Kept
	// are those that are kept for virtual machines, which are not claimed.
	Cards, Beside, Kept []sdk.PCIDevice
	// WSL is true where there is no PCI device to see, but Windows' driver for one.
	WSL bool
	// Traces are signs of a driver, where PCI cannot be seen.
	Traces     string
	Confidence int
	Why        []string
}

// Look recognises the GPUs of a vendor by the facts.
func Look(v *view.View, vendor Vendor) Machine {
	m := Machine{View: v, Vendor: vendor}
	if drivers, ok := v.WSL2(); ok {
		return m.throughWSL(drivers)
	}
	seen := v.GPUs(vendor.ID)
	var ours []sdk.PCIDevice
	for _, d := range seen.Value {
		if vendor.GPU(d) {
			ours = append(ours, d)
		} else {
			m.Why = append(m.Why, d.Address+" ("+d.Device+") is no GPU that computes")
		}
	}
	switch {
	case len(ours) > 0:
		m.onBus(ours)
	case seen.Status == sdk.Unknown && m.trace() != "":
		m.Confidence, m.Traces = 40, m.trace()
		m.Why = append(m.Why, m.Traces+" (PCI devices: "+seen.Why+")")
	case seen.Status == sdk.Unknown:
		m.Why = append(m.Why, "nothing of "+vendor.Name+" can be seen (PCI devices: "+seen.Why+")")
	default:
		m.Why = append(m.Why, "no GPU of "+vendor.Name+" is on this machine")
	}
	return m
}

func (m *Machine) onBus(devices []sdk.PCIDevice) {
	m.Confidence = 95
	m.Cards, m.Kept = view.Usable(devices)
	own := slices.ContainsFunc(m.Cards, func(d sdk.PCIDevice) bool { in, _ := m.Integrated(d); return !in })
	m.Cards = slices.DeleteFunc(m.Cards, func(d sdk.PCIDevice) bool {
		in, because := m.Integrated(d)
		line := d.Address + " is " + m.name(d)
		if in {
			line += ", a part of the processor (" + because + ")"
		}
		// A job that asks for one GPU is to get a card, and programs fail on a mixture of generations.
		if in && own {
			line += ", and left out beside a card of its own"
		}
		m.Why = append(m.Why, line)
		if in && own {
			m.Beside = append(m.Beside, d)
		}
		return in && own
	})
	for _, d := range m.Kept {
		m.Why = append(m.Why, d.Address+" is kept for virtual machines (bound to "+d.Driver+")")
	}
}

func (m Machine) name(d sdk.PCIDevice) string {
	if d.Model != "" {
		return d.Model
	}
	return "a GPU of " + m.Name + " (" + d.Device + ")"
}

// throughWSL recognises the GPU by the packages of drivers that Windows has. Those of a card that is gone stay there,
// so this is a little less sure.
func (m Machine) throughWSL(drivers []string) Machine {
	for _, d := range drivers {
		if m.Stored(strings.ToLower(d)) {
			m.WSL, m.Confidence = true, 80
			m.Why = append(m.Why, "Windows has the driver "+d, "WSL2 does not say which GPU it is: it counts as a part of the processor, so that another one goes first")
			return m
		}
	}
	m.Why = append(m.Why, "Windows has no driver of "+m.Name)
	return m
}

// trace is a sign of the vendor's driver.
func (m Machine) trace() string {
	for _, name := range m.Modules {
		if _, status := m.Module(name, "/sys/module/"+name+"/uevent"); status == sdk.Known {
			return "the kernel module " + name + " is loaded"
		}
	}
	return ""
}

// Found reports whether there is something to decide about.
func (m Machine) Found() bool { return m.Confidence > 0 }

// Devices are the GPUs that can be used.
func (m Machine) Devices() []sdk.Device { return m.devices(m.Cards) }

func (m Machine) devices(cards []sdk.PCIDevice) (out []sdk.Device) {
	for _, d := range cards {
		in, _ := m.Integrated(d)
		out = append(out, sdk.Device{ID: d.Address, Model: d.Model, Memory: d.Memory, Integrated: in})
	}
	switch {
	case m.WSL:
		out = append(out, sdk.Device{ID: "wsl-" + strings.ToLower(m.Name), Integrated: true})
	case m.Traces != "":
		out = append(out, sdk.Device{ID: strings.ToLower(m.Name)})
	}
	return out
}

// Detect answers the first phase.
func (m Machine) Detect() sdk.Response {
	if !m.Found() {
		return m.Answer(sdk.No(m.Why...))
	}
	return m.Answer(sdk.Claiming(sdk.Claim{Confidence: m.Confidence, Devices: m.devices(append(slices.Clone(m.Cards), m.Beside...))}, m.Why...))
}

// Obstacle is why none of the vendor's GPUs can be used here, as far as that is the same for all vendors.
func (m Machine) Obstacle() *sdk.Reason {
	f := m.Fill(m.View)
	_, dxg := m.Node(DXG)
	switch {
	case !m.Found():
		return m.Reason(why.NotFound, f)
	case m.Environment != nil && m.Environment.GPULess != nil:
		return m.Environment.GPULess
	case len(m.Cards) == 0 && len(m.Kept) > 0:
		f["driver"] = m.Kept[0].Driver
		return m.Reason(why.Reserved, f, m.Kept[0].Address+" is bound to "+m.Kept[0].Driver)
	case m.Where.Has(why.Windows) && dxg == sdk.Absent:
		return m.Reason(why.NoDXG, f, DXG+" is not there")
	case m.Where.Has(why.Windows) && view.BasicDisplay(m.Cards):
		return m.Reason(why.DriverMissing, f, m.Cards[0].Address+" has the driver of Windows itself, "+m.Cards[0].DriverVersion)
	}
	return nil
}

// WithNodes completes the render nodes of the cards and leaves out those that have none. If none is left, that is the
// reason.
func (m Machine) WithNodes() (Machine, *sdk.Reason) {
	all := Complete(m.View, m.Cards)
	m.Cards = nil
	for _, d := range all {
		if Render(d) != "" {
			m.Cards = append(m.Cards, d)
			continue
		}
		m.Why = append(m.Why, d.Address+" has no render node")
	}
	f := m.Fill(m.View)
	switch known := m.Facts.Devices.Status == sdk.Known || m.Facts.Devices.Status == sdk.Absent; {
	case len(m.Cards) > 0:
		return m, nil
	case len(all) > 0 && known:
		return m, m.Reason(why.NodesMissing, f, "no render node belongs to "+all[0].Address)
	}
	return m, m.Reason(why.NodesUnknown, f, "device nodes: "+m.Facts.Devices.Why)
}

// WSLCheck proves as much as can be proven of a GPU behind WSL2 without the programs of its vendor: that its device
// can be opened, and that the libraries of Windows are where programs look for them.
func WSLCheck() sdk.Check {
	return sdk.Check{
		Compute: sdk.ComputeDevices, Image: "base", Args: []string{"ls", WSLDir + "/lib/libdxcore.so"},
		Expect: &sdk.Expect{Output: `libdxcore\.so`},
	}
}

// Attach are the ways to try: what the engine has a CDI spec for, and device nodes, in the engine's order. The nodes are
// named even if the engine cannot take them, which rigup then says. shared are nodes that all the GPUs need.
func (m Machine) Attach(kind string, shared ...string) (out []sdk.Attach) {
	for _, way := range m.View.Attach() {
		switch way {
		case sdk.AttachCDI:
			if ids := m.cdiIDs(kind); len(ids) > 0 && !m.WSL {
				out = append(out, sdk.Attach{Kind: sdk.AttachCDI, IDs: ids})
			}
		case sdk.AttachDevices:
			out = append(out, m.nodes(shared))
		}
	}
	if len(out) == 0 {
		out = append(out, m.nodes(shared))
	}
	return out
}

func (m Machine) nodes(shared []string) sdk.Attach {
	if m.Where.Has(why.Windows) {
		return sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{DXG}, Binds: []string{WSLDir}}
	}
	a := sdk.Attach{Kind: sdk.AttachDevices, Nodes: slices.Clone(shared)}
	for _, d := range m.Cards {
		a.Nodes = append(a.Nodes, Render(d))
	}
	a.Groups = Groups(m.View, a.Nodes)
	return a
}

// cdiIDs are the engine's CDI devices of a kind. Without a list of the engine's there are none to rely on, and device
// nodes do as well.
func (m Machine) cdiIDs(kind string) (ids []string) {
	found, _ := m.CDIDevices(kind)
	if slices.Contains(found, kind+"=all") {
		return []string{kind + "=all"}
	}
	for _, id := range found {
		if _, err := strconv.Atoi(strings.TrimPrefix(id, kind+"=")); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Spec is what describes the GPUs to pods.
func (m Machine) Spec(kind string, shared ...string) sdk.CDI {
	c := sdk.CDI{Mode: sdk.CDIStatic, Kind: kind}
	if m.Where.Has(why.Windows) {
		c.Spec = WSLSpec(kind)
		return c
	}
	var own [][]string
	nodes := slices.Clone(shared)
	for _, d := range m.Cards {
		own = append(own, []string{Render(d)})
		nodes = append(nodes, Render(d))
	}
	c.Spec = Spec(kind, own, shared, Groups(m.View, nodes))
	return c
}
