package nvidia

import (
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/drm"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// Versions of the driver. The toolkit's documentation names 418.81 as the oldest for Linux; the first for WSL2 was
// 470. Older than 525 no image with CUDA 12 or later starts (CUDA's table of minor version compatibility), though those
// with CUDA 11 do, so that is only worth a warning.
const (
	oldestLinux   = 418
	oldestWindows = 470
	expected      = 525
)

// noDriver is why the driver rules a GPU out. What the engine's own machine has is unknown where that is another one.
func (m machine) noDriver() *sdk.Reason {
	switch {
	case m.Where.Has(why.Linux):
		return m.noLinuxDriver()
	case m.Where.Has(why.Windows):
		return m.noWindowsDriver()
	}
	return nil
}

func (m machine) noLinuxDriver() *sdk.Reason {
	f := fill(m.View)
	module, loaded := m.Module(driver, versionFile)
	ours, others := m.drivers()
	switch {
	case m.shape == pci && ours == 0 && len(others) > 0:
		return m.otherDriver(others[0], f)
	case m.shape == pci && ours == 0 && loaded == sdk.Known:
		f["version"] = known(module.Version)
		return m.Reason(why.NotDriven, f, m.cards[0].Address+" is bound to no driver")
	case m.shape == pci && ours == 0 && loaded == sdk.Absent && m.installed() != "":
		return m.Reason(why.NotLoaded, f, present(m.complaint())...)
	case m.shape == pci && ours == 0 && loaded == sdk.Absent:
		return m.Reason(why.DriverMissing, f, m.cards[0].Address+" is bound to no driver")
	}
	if r := m.mismatch(module, f); r != nil {
		return r
	}
	if v := m.driverVersion(); major(v) > 0 && major(v) < oldestLinux {
		if old := m.oldCards(); len(old) > 0 {
			return m.Reason(why.TooOldGPU, f, append(old, "driver "+v)...)
		}
		f["version"], f["floor"] = v, strconv.Itoa(oldestLinux)
		return m.Reason(why.TooOld, f, "driver "+v)
	}
	if id, line, ok := text.Match(m.complaint(), sick); ok {
		return m.Reason(id, f, line)
	}
	if m.noUserPart() {
		return m.Reason(why.NoLibraries, f, "kernel module "+known(module.Version)+", no libcuda.so.1")
	}
	return nil
}

// drivers counts the cards that NVIDIA's driver runs, and names the others' drivers.
func (m machine) drivers() (ours int, others []string) {
	for _, d := range m.cards {
		switch d.Driver {
		case driver:
			ours++
		case "":
		default:
			others = append(others, d.Driver)
		}
	}
	return ours, others
}

func (m machine) otherDriver(other string, f why.Fill) *sdk.Reason {
	f["driver"] = other
	if where := m.installed(); where != "" {
		delete(f, "install")
		f["installed"] = "installed (" + where + ")"
	}
	return m.Reason(why.WrongDriver, f, m.cards[0].Address+" is bound to "+other)
}

// installed is a sign that the driver's packages are there; empty if none is seen.
func (m machine) installed() string {
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		for _, l := range m.Libraries(name) {
			if driverLibrary(l) {
				return l.Path
			}
		}
	}
	if t, status := m.Tool("nvidia-smi"); status == sdk.Known {
		return t.Path
	}
	return ""
}

// driverLibrary tells a driver's own library from those that CUDA brings to run on older drivers, and to link against.
func driverLibrary(l sdk.Library) bool {
	return !strings.Contains(l.Path, "/compat/") && !strings.Contains(l.Path, "/stubs/")
}

// complaint is what nvidia-smi says instead of a version.
func (m machine) complaint() string {
	t, _ := m.Tool("nvidia-smi")
	return t.Output
}

// mismatch compares the loaded kernel module with the installed libraries. One library that fits is enough: others
// can be left over.
func (m machine) mismatch(module sdk.Module, f why.Fill) *sdk.Reason {
	said, _, _ := strings.Cut(m.complaint(), "\n")
	sure := strings.Contains(said, "Driver/library version mismatch")
	if t, _ := m.Tool("nvidia-smi"); !sure && (module.Version == "" || t.Version == module.Version) {
		return nil
	}
	other := ""
	for _, name := range []string{"libcuda.so.1", "libnvidia-ml.so.1"} {
		for _, l := range m.Libraries(name) {
			switch {
			case l.Version == "" || !driverLibrary(l):
			case l.Version == module.Version && !sure:
				return nil
			default:
				other = l.Version
			}
		}
	}
	switch {
	case other == "" && !sure:
		return nil
	case other == "":
		return m.Reason(why.Mismatch, f, said)
	}
	return m.Reason(why.Mismatch, f, append([]string{"kernel module " + known(module.Version) + ", libraries " + other}, present(said)...)...)
}

// driverVersion is the driver's version as far as it is known: that of Windows on WSL2.
func (m machine) driverVersion() string {
	if m.Where.Has(why.Linux) {
		if module, _ := m.Module(driver, versionFile); module.Version != "" {
			return module.Version
		}
	}
	if t, _ := m.Tool("nvidia-smi"); t.Version != "" {
		return t.Version
	}
	for _, d := range m.cards {
		if v := windowsVersion(d.DriverVersion); v != "" {
			return v
		}
	}
	return ""
}

// windowsVersion turns Windows' number of a driver into NVIDIA's: 32.0.15.6094 is 560.94.
func windowsVersion(s string) string {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return s
	}
	digits := parts[2] + parts[3]
	if len(parts[3]) != 4 || len(digits) < 5 {
		return ""
	}
	digits = digits[len(digits)-5:]
	return digits[:3] + "." + digits[3:]
}

func major(version string) int {
	first, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return n
}

func known(version string) string {
	if version == "" {
		return "of unknown version"
	}
	return version
}

// noUserPart reports whether only the kernel's half of the driver is there. Where the engine has found the driver for
// a CDI spec, it has found the other half too.
func (m machine) noUserPart() bool {
	found, _ := m.CDIDevices(resource)
	_, smi := m.Tool("nvidia-smi")
	return len(found) == 0 && smi == sdk.Absent && !m.Is("nixos") && m.NoLibraries("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1", "libnvidia-ml.so")
}

func (m machine) noWindowsDriver() *sdk.Reason {
	f := fill(m.View)
	_, dxg := m.Node(drm.DXG)
	switch {
	case m.Facts.Host.WSL.Known() && dxg == sdk.Absent:
		return m.Reason(why.NoDXG, f, drm.DXG+" is not there")
	case m.shape == wsl && m.NoLibraries("libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"):
		return m.Reason(why.NoWSLLibraries, f, "no libcuda.so.1 in "+drm.WSLDir+"/lib")
	case m.shape == pci && view.BasicDisplay(m.cards):
		return m.Reason(why.DriverMissing, f, m.cards[0].Address+" has the driver of Windows itself, "+known(m.cards[0].DriverVersion))
	}
	if v := m.driverVersion(); major(v) > 0 && major(v) < oldestWindows {
		f["version"], f["floor"] = v, strconv.Itoa(oldestWindows)
		return m.Reason(why.TooOld, f, "driver "+v)
	}
	if id, line, ok := text.Match(m.complaint(), sick); ok {
		return m.Reason(id, f, line)
	}
	return nil
}
