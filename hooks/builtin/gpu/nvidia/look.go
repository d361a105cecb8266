package nvidia

import (
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/drm"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/sdk"
)

// shape is how a machine shows that it has an NVIDIA GPU.
type shape int

const (
	none   shape = iota // it has none
	pci                 // as PCI devices
	wsl                 // through the files that Windows gives to WSL2
	chip                // as a part of a Jetson
	traces              // by a driver that is loaded, without a device to see
)

// machine is what was recognised.
type machine struct {
	*view.View
	shape shape
	// cards are its PCI devices that are used. beside are those of another driver beside NVIDIA's own; kept are those
	// that are kept for virtual machines, which are not claimed.
	cards, beside, kept []sdk.PCIDevice
	confidence          int
	why                 []string
}

// look recognises NVIDIA GPUs. It reads the facts alone, so that detect and decide see the same.
func look(v *view.View) machine {
	m := machine{View: v}
	if drivers, ok := v.WSL2(); ok {
		return m.throughWSL(drivers)
	}
	seen := v.GPUs(vendorID)
	if seen.Status == sdk.Known {
		return m.onBus(seen.Value)
	}
	if m.isJetson() {
		m.shape, m.confidence = chip, 90
		m.why = append(m.why, "no NVIDIA device on PCI, but the device nodes of a Jetson")
		return m
	}
	if trace := m.trace(); trace != "" {
		m.shape, m.confidence, m.why = traces, 50, append(m.why, trace)
		return m
	}
	m.why = append(m.why, "nothing of NVIDIA is on this machine")
	if seen.Status == sdk.Unknown {
		m.why[0] = "nothing of NVIDIA can be seen (PCI devices: " + seen.Why + ")"
	}
	return m
}

func (m machine) onBus(devices []sdk.PCIDevice) machine {
	m.shape, m.confidence = pci, 95
	usable, kept := view.Usable(devices)
	ours := slices.ContainsFunc(usable, func(d sdk.PCIDevice) bool { return d.Driver == driver })
	for _, d := range usable {
		m.why = append(m.why, d.Address+" is "+name(d)+bound(d))
		if !ours || d.Driver == driver {
			m.cards = append(m.cards, d)
		} else {
			m.beside = append(m.beside, d)
		}
	}
	for _, d := range kept {
		m.kept = append(m.kept, d)
		m.why = append(m.why, d.Address+" is kept for virtual machines"+bound(d))
	}
	return m
}

func name(d sdk.PCIDevice) string {
	if d.Model != "" {
		return d.Model
	}
	return "an NVIDIA GPU (" + d.Device + ")"
}

func bound(d sdk.PCIDevice) string {
	if d.Driver == "" {
		return ""
	}
	return ", run by " + d.Driver
}

// notDisplays are what NVIDIA's other packages in Windows' driver store are called, and Windows' own for NVDIMMs. All
// those for displays begin with nv too: nv_disp... of NVIDIA itself, nvlt..., nvhm..., nvam... of makers of notebooks.
var notDisplays = []string{"nvdimm", "nvraid", "nvstor", "nvhda", "nvvad", "nvvhci", "nvmodule", "nvswc", "nvpcf", "nvppc", "nvxhci", "nvstusb", "nvnet", "nvme"}

func isDisplayDriver(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "nv") &&
		!slices.ContainsFunc(notDisplays, func(other string) bool { return strings.HasPrefix(name, other) })
}

// throughWSL recognises the GPU by what Windows brings into WSL2: its packages of drivers, and the libraries of the
// current one.
func (m machine) throughWSL(drivers []string) machine {
	if i := slices.IndexFunc(drivers, isDisplayDriver); i >= 0 {
		m.shape, m.confidence = wsl, 90
		m.why = append(m.why, "Windows has the driver "+drivers[i])
		return m
	}
	for _, lib := range []string{"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"} {
		for _, l := range m.Libraries(lib) {
			if strings.HasPrefix(l.Path, "/usr/lib/wsl/") {
				m.shape, m.confidence = wsl, 80
				m.why = append(m.why, "Windows brings "+l.Path)
				return m
			}
		}
	}
	if t, _ := m.Tool("nvidia-smi"); t.Version != "" {
		m.shape, m.confidence = wsl, 80
		m.why = append(m.why, "nvidia-smi names the driver "+t.Version)
		return m
	}
	if _, dxg := m.Node(drm.DXG); dxg == sdk.Known && len(drivers) == 0 && !m.NoLibraries() {
		// Of the vendors NVIDIA is the likeliest by far, and trying shows what is true.
		m.shape, m.confidence = wsl, 10
		m.why = append(m.why, "Windows shows a GPU, and whose is unknown (libraries: "+m.Facts.Libraries.Why+")")
		return m
	}
	m.why = append(m.why, "Windows brings nothing of NVIDIA into WSL2")
	return m
}

// isJetson reports whether this is one of NVIDIA's boards: their GPU is not on PCI.
func (m machine) isJetson() bool {
	if m.Facts.Host.Arch != "arm64" || m.Facts.Host.OS != "linux" {
		return false
	}
	if strings.HasSuffix(m.Kernel(), "-tegra") {
		return true
	}
	for _, n := range m.Facts.Devices.Value {
		if strings.HasPrefix(n.Path, "/dev/nvhost") || n.Path == "/dev/nvmap" {
			return true
		}
	}
	return false
}

// trace is a sign of a working driver.
func (m machine) trace() string {
	if m.Facts.Host.OS != "linux" {
		return ""
	}
	if _, status := m.Node("/dev/nvidiactl"); status == sdk.Known {
		return "/dev/nvidiactl is there"
	}
	if _, status := m.Module(driver, versionFile); status == sdk.Known {
		return "the kernel module nvidia is loaded"
	}
	return ""
}

// devices are the GPUs that can be used.
func (m machine) devices() []sdk.Device { return m.devicesOf(m.cards) }

func (m machine) devicesOf(cards []sdk.PCIDevice) (out []sdk.Device) {
	switch m.shape {
	case pci:
		for _, d := range cards {
			out = append(out, sdk.Device{ID: d.Address, Model: d.Model, Memory: d.Memory})
		}
	case wsl:
		// WSL2 has one device for all GPUs, and does not say which there are.
		out = append(out, sdk.Device{ID: "wsl-nvidia"})
	case chip:
		out = append(out, sdk.Device{ID: "jetson", Model: "NVIDIA Jetson", Integrated: true})
	case traces:
		for _, n := range m.Facts.Devices.Value {
			if _, err := strconv.Atoi(strings.TrimPrefix(n.Path, "/dev/nvidia")); err == nil {
				out = append(out, sdk.Device{ID: n.Path})
			}
		}
		slices.SortFunc(out, func(a, b sdk.Device) int { return strings.Compare(a.ID, b.ID) })
		if len(out) == 0 {
			out = append(out, sdk.Device{ID: "nvidia"})
		}
	}
	return out
}
