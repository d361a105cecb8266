package nvidia

import (
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/drm"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// decide says how the GPUs reach the cluster, or why they cannot.
func decide(m machine) sdk.Response {
	for _, obstacle := range [...]func() *sdk.Reason{m.noGPU, m.noEngine, m.noDriver} {
		if r := obstacle(); r != nil {
			return sdk.Giving(*r, m.why...)
		}
	}
	attach, left := m.attachments()
	m.why = append(m.why, left...)
	if len(attach) == 0 {
		return sdk.Giving(*m.noAttachment(), m.why...)
	}
	g := sdk.GPU{
		Vendor: "NVIDIA", Devices: m.devices(), Resource: resource, Attach: attach,
		// The base image of the check is that of the node too, so it is there for both.
		Check: sdk.Check{Compute: sdk.ComputeCUDA, Image: "cuda"},
		Node:  sdk.Node{Target: "node-nvidia"},
		// The place of the driver's files changes with each of its updates, so the node looks for them at each start.
		CDI:      sdk.CDI{Mode: sdk.CDINVIDIA, Kind: resource},
		Warnings: m.warnings(),
	}
	return sdk.Using(g, append(m.why, waysOf(attach))...)
}

func waysOf(attach []sdk.Attach) string {
	var kinds []string
	for _, a := range attach {
		kinds = append(kinds, string(a.Kind))
	}
	return "to try: " + strings.Join(kinds, ", then ")
}

// noGPU is why there is nothing to decide about.
func (m machine) noGPU() *sdk.Reason {
	if m.shape == none {
		return m.Reason(why.NotFound, fill(m.View))
	}
	return nil
}

// noEngine is why the engine, or the kind of the machine, rules a GPU out.
func (m machine) noEngine() *sdk.Reason {
	switch {
	case m.Environment != nil && m.Environment.GPULess != nil:
		return m.Environment.GPULess
	case m.shape == pci && len(m.cards) == 0:
		f := fill(m.View)
		f["driver"] = m.kept[0].Driver
		return m.Reason(why.Reserved, f, m.kept[0].Address+" is bound to "+m.kept[0].Driver)
	case m.shape == chip:
		return m.Reason(why.Jetson, fill(m.View), present(m.Kernel())...)
	}
	return nil
}

// attachments are the ways to try. A way that is known to fail is left out, and left says why.
func (m machine) attachments() (attach []sdk.Attach, left []string) {
	var sure, unsure []sdk.Attach
	for _, kind := range m.Attach() {
		switch kind {
		case sdk.AttachCDI:
			ids, known := m.cdiIDs()
			a := sdk.Attach{Kind: sdk.AttachCDI, IDs: ids}
			switch {
			case len(ids) == 0:
				left = append(left, "not by CDI: the engine has no CDI device of "+resource)
			case !m.nodesThere():
				left = append(left, "not by CDI: it needs /dev/nvidiactl, which is not there")
			case known:
				sure = append(sure, a)
			default:
				unsure = append(unsure, a)
			}
		case sdk.AttachNVIDIA:
			if !m.engineHasDriver() {
				left = append(left, "not by the engine's driver: NVIDIA's container toolkit is not there")
			} else {
				sure = append(sure, sdk.Attach{
					Kind: sdk.AttachNVIDIA, Capabilities: []string{"gpu"},
					// The image names the CUDA version that it was built for, and would refuse older drivers, although
					// neither the check nor the node needs that version.
					Env: map[string]string{"NVIDIA_DISABLE_REQUIRE": "1"},
				})
			}
		case sdk.AttachDevices:
			// Outside of WSL2 device nodes alone are of no use: the driver's libraries have to come along, and which
			// they are only NVIDIA's toolkit knows.
			if !m.Where.Has(why.Windows) {
				continue
			}
			if _, status := m.Node(drm.DXG); status != sdk.Absent {
				unsure = append(unsure, sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{drm.DXG}, Binds: []string{drm.WSLDir}})
			}
		}
	}
	return append(sure, unsure...), left
}

// cdiIDs are the CDI devices to ask for. known says that the engine has named them; without a list of the engine's
// the usual name is worth a try.
func (m machine) cdiIDs() (ids []string, known bool) {
	found, known := m.CDIDevices(resource)
	switch {
	case !known && m.Where.Has(why.Desktop|why.Elsewhere):
		return nil, false // their own machine has no NVIDIA spec that they do not list
	case !known, slices.Contains(found, resource+"=all"):
		return []string{resource + "=all"}, known
	}
	for _, id := range found {
		// Each GPU has its number and its UUID as names.
		if _, err := strconv.Atoi(strings.TrimPrefix(id, resource+"=")); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, true
}

// nodesThere reports whether CDI would find the device nodes. Unlike NVIDIA's own hook it does not make them.
func (m machine) nodesThere() bool {
	if !m.Where.Has(why.Linux) {
		return true
	}
	_, status := m.Node("/dev/nvidiactl")
	return status != sdk.Absent
}

// engineHasDriver reports whether the engine's nvidia driver can be there: it is, when NVIDIA's hook was on the
// engine's path as it started, which no list of the engine says.
func (m machine) engineHasDriver() bool {
	switch {
	case m.namesRuntime(), m.Where.Has(why.Desktop | why.Elsewhere):
		return true
	case m.Where.Has(why.Snap): // it brings the toolkit along, and names the runtime once it has set that up
		return false
	}
	return m.toolkit() != sdk.Absent
}

// namesRuntime reports whether somebody has set the toolkit up for this engine.
func (m machine) namesRuntime() bool { return slices.Contains(m.Facts.Engine.Runtimes, "nvidia") }

// toolkit looks for NVIDIA's container toolkit on this system.
func (m machine) toolkit() sdk.Status {
	status := sdk.Absent
	// Releases before 1.11 have no nvidia-ctk; the runtime is a package of its own there.
	for _, name := range []string{"nvidia-ctk", "nvidia-container-cli", "nvidia-container-runtime"} {
		if _, status = m.Tool(name); status == sdk.Known {
			break
		}
	}
	return status
}

// noAttachment is why no way is left.
func (m machine) noAttachment() *sdk.Reason {
	f := fill(m.View)
	f["device"] = resource + "=all"
	found, known := m.CDIDevices(resource)
	lacks := known && len(found) == 0
	switch {
	case m.Where.Has(why.Snap):
		return m.Reason(why.SnapNoGPU, f, m.runtimes())
	case m.Where.Has(why.Desktop):
		return m.Reason(why.SupportOff, f, m.runtimes())
	case m.Where.Has(why.Elsewhere):
		return m.Reason(why.NoWay, f, m.runtimes())
	case len(found) > 0 && !m.nodesThere():
		return m.Reason(why.NodesMissing, f, "/dev/nvidiactl is not there")
	case m.toolkit() == sdk.Unknown:
		return m.Reason(why.NoWay, f, m.runtimes())
	case m.toolkit() == sdk.Absent:
		return m.Reason(why.NoToolkit, f, m.runtimes())
	case lacks && slices.Contains(m.Attach(), sdk.AttachCDI):
		return m.Reason(why.CDIMissing, f, "the engine found no "+resource+" in "+strings.Join(m.Facts.Engine.CDIDirs, ", "))
	}
	return m.Reason(why.ToolkitUnused, f, m.runtimes())
}

func (m machine) runtimes() string {
	if len(m.Facts.Engine.Runtimes) == 0 {
		return "the engine names no runtimes"
	}
	return "runtimes of the engine: " + strings.Join(m.Facts.Engine.Runtimes, ", ")
}

// warnings are worth knowing and keep nothing from working.
func (m machine) warnings() (out []sdk.Reason) {
	f := fill(m.View)
	v := m.driverVersion()
	old := m.oldCards()
	switch f["version"], f["floor"] = v, strconv.Itoa(expected); {
	case major(v) == 0 || major(v) >= expected:
	case len(old) > 0:
		out = append(out, *m.Reason(why.OldGPU, f, old...))
	default:
		out = append(out, *m.Reason(why.Old, f, "driver "+v))
	}
	if cut := m.slices(); cut != "" {
		out = append(out, *m.Reason(why.MIGMixed, f, cut))
	}
	if lib := m.linuxLibrary(); lib != "" {
		out = append(out, *m.Reason(why.LinuxInWSL, f, lib))
	}
	return out
}

// oldCards are those whose last driver is older than CUDA 12: of the generations before Maxwell, whose ids are below
// 0x1340.
func (m machine) oldCards() (out []string) {
	for _, d := range m.cards {
		if id, err := strconv.ParseUint(strings.TrimPrefix(d.Device, "0x"), 16, 16); err == nil && id < 0x1340 {
			out = append(out, d.Address+" is "+name(d))
		}
	}
	return out
}

// slices says which GPUs are cut into slices, where others are whole.
func (m machine) slices() string {
	var cut []string
	whole := 0
	for _, d := range m.cards {
		if d.Partitions > 0 {
			cut = append(cut, d.Address+" has "+strconv.Itoa(d.Partitions)+" slices")
		} else {
			whole++
		}
	}
	if len(cut) == 0 || whole == 0 {
		return ""
	}
	return strings.Join(cut, ", ")
}

// linuxLibrary is a library of a Linux driver inside of WSL2.
func (m machine) linuxLibrary() string {
	if !m.Where.Has(why.Windows) || m.Where.Has(why.Desktop|why.Elsewhere) {
		return ""
	}
	for _, l := range append(m.Libraries("libcuda.so.1"), m.Libraries("libnvidia-ml.so.1")...) {
		if l.Version != "" && driverLibrary(l) && !strings.HasPrefix(l.Path, drm.WSLDir+"/") {
			return l.Path + " is of driver " + l.Version
		}
	}
	return ""
}

func present(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}
