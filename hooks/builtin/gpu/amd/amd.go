// Package amd is the hook for AMD GPUs.
package amd

import (
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/drm"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/failure"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

const (
	id       = "amd"
	resource = "amd.com/gpu" // as AMD's own device plugin calls it
	driver   = "amdgpu"
	kfd      = "/dev/kfd" // one for all GPUs: through it programs compute
)

// Manifest describes the hook.
func Manifest() sdk.Manifest {
	return sdk.Manifest{
		API: sdk.API, ABI: sdk.ABI, ID: id, Version: "1.0.0", Title: "AMD GPUs", Publisher: "rigup", Homepage: "https://rigup.dev",
		Kinds: []sdk.Kind{sdk.GPUHook},
		Match: sdk.Match{PCI: []string{"0x1002"}, Devices: []string{kfd, drm.DXG}},
		Permissions: sdk.Permissions{
			Probes:    []sdk.ProbeKind{sdk.PCIList, sdk.DeviceStat, sdk.FileRead},
			Files:     []string{"/sys/class/drm/renderD*/device/uevent", "/sys/module/amdgpu/uevent"},
			Devices:   []string{kfd, "/dev/dri/renderD*", drm.DXG},
			Binds:     []string{drm.WSLDir},
			Images:    []string{"base"},
			Attach:    []sdk.AttachKind{sdk.AttachCDI, sdk.AttachDevices},
			Resources: []string{resource},
			Targets:   []string{"node"},
		},
	}
}

var vendor = drm.Vendor{
	Name: "AMD", ID: "0x1002", GPU: computes, Integrated: integrated, Stored: stored, Modules: []string{driver}, Fill: fill,
}

// Hook answers a request.
func Hook(req sdk.Request) sdk.Response {
	v := view.New(why.AMD, req)
	switch req.Phase {
	case sdk.Detect:
		return drm.Look(v, vendor).Detect()
	case sdk.Decide:
		return v.Answer(decide(drm.Look(v, vendor)))
	case sdk.Diagnose:
		return failure.Diagnose(v, failure.Vendor{Rules: [][]text.Rule{rules}, Refine: refine(v), Fill: fill(v)})
	}
	return sdk.No("this phase is not known")
}

func decide(m drm.Machine) sdk.Response {
	if r := obstacle(m); r != nil {
		return sdk.Giving(*r, m.Why...)
	}
	g := sdk.GPU{
		Vendor: "AMD", Resource: resource,
		Check: sdk.Check{Compute: sdk.ComputeKFD},
		Node:  sdk.Node{Target: "node"}, // the driver's libraries come with the images of jobs
	}
	shared := []string{kfd}
	if m.Where.Has(why.Windows) {
		g.Check, shared = drm.WSLCheck(), nil
	} else {
		var r *sdk.Reason
		if m, r = m.WithNodes(); r != nil {
			return sdk.Giving(*r, m.Why...)
		}
	}
	g.Attach = m.Attach(resource, shared...)
	g.Devices, g.CDI, g.Warnings = m.Devices(), m.Spec(resource, shared...), warnings(m)
	return sdk.Using(g, m.Why...)
}

// obstacle is why no AMD GPU can be used.
func obstacle(m drm.Machine) *sdk.Reason {
	if r := m.Obstacle(); r != nil {
		return r
	}
	f := fill(m.View)
	if byProduct(m.View) {
		// Containers reach /dev/dxg, but AMD's libraries for it have to come from a distribution of WSL2.
		return m.Reason(why.DesktopNo, f, m.Why[0])
	}
	if !m.Where.Has(why.Linux) {
		return nil
	}
	if r := withoutDriver(m, f); r != nil {
		return r
	}
	if _, status := m.Node(kfd); status == sdk.Absent {
		return m.Reason(why.NoKFD, f, kfd+" is not there")
	}
	return nil
}

// byProduct reports whether a product on Windows runs the engine.
func byProduct(v *view.View) bool {
	return v.Where.Has(why.Windows) && v.Where.Has(why.Desktop|why.Elsewhere)
}

// withoutDriver is why the driver rules all cards out.
func withoutDriver(m drm.Machine, f why.Fill) *sdk.Reason {
	if len(m.Cards) == 0 {
		return nil
	}
	for _, d := range m.Cards {
		if d.Driver == driver {
			return nil
		}
	}
	d := m.Cards[0]
	switch {
	case tooOld(d):
		return m.Reason(why.TooOldGPU, f, d.Address+" has the id "+d.Device)
	case d.Driver == "":
		return m.Reason(why.DriverMissing, f, d.Address+" is bound to no driver")
	}
	f["driver"] = d.Driver
	return m.Reason(why.WrongDriver, f, d.Address+" is bound to "+d.Driver)
}

// warnings are worth knowing and keep nothing from working.
func warnings(m drm.Machine) (out []sdk.Reason) {
	for _, d := range m.Cards {
		if unofficial(d) {
			f := fill(m.View)
			f["model"] = "this GPU"
			if d.Model != "" {
				f["model"] = d.Model
			}
			return append(out, *m.Reason(why.Unofficial, f, d.Address+" has the id "+d.Device))
		}
	}
	return out
}

// number is the device id; 0 if it cannot be read.
func number(d sdk.PCIDevice) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(d.Device, "0x"), 16, 16)
	if err != nil {
		return 0
	}
	return n
}

func within(n, from, to uint64) bool { return n >= from && n <= to }

// The ranges of AMD's device ids below are those of the kernel's tables (drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c and
// include/drm/drm_pciids.h) and of the PCI ID project.

// computes tells GPUs from ATI's chips of before 2006, which live on as the displays of servers' management boards
// (ES1000: 0x515e, Rage XL: 0x4752).
func computes(d sdk.PCIDevice) bool { return !within(number(d), 0x3000, 0x5fff) }

// tooOld tells the generations that the amdgpu driver does not know: up to Northern Islands.
func tooOld(d sdk.PCIDevice) bool {
	n := number(d)
	return within(n, 0x6700, 0x677f) || within(n, 0x6840, 0x685f) || within(n, 0x6880, 0x68ff) || within(n, 0x7100, 0x72ff) ||
		within(n, 0x7800, 0x7fff) || within(n, 0x9400, 0x980f) || within(n, 0x9900, 0x99ff)
}

// integrated tells GPUs inside of processors by their ids, which are those of the processor's other parts: 0x13.. to
// 0x1f.., and 0x96.. to 0x9f.. before. What they use as memory says nothing: it is set in the firmware, and small cards
// have as little.
func integrated(d sdk.PCIDevice) (bool, string) {
	n := number(d)
	return within(n, 0x1300, 0x1fff) || within(n, 0x9600, 0x9fff), "id " + d.Device
}

// unofficial tells GPUs that AMD's documentation of ROCm does not list: those in processors except the newest (Strix
// Point, Krackan, Strix Halo), and the generations before Vega.
func unofficial(d sdk.PCIDevice) bool {
	n := number(d)
	if in, _ := integrated(d); in {
		return n != 0x150e && n != 0x1114 && n != 0x1586
	}
	return within(n, 0x6600, 0x669f) || within(n, 0x6780, 0x683f) || within(n, 0x6900, 0x699f) || within(n, 0x7300, 0x730f)
}

// stored tells AMD's packages in Windows' driver store: u0 or c0 and a number.
func stored(name string) bool {
	return len(name) > 6 && (name[0] == 'u' || name[0] == 'c') && strings.Trim(name[1:6], "0123456789") == ""
}

const rocmGuide = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"

func fill(v *view.View) why.Fill {
	return why.Fill{
		"install": "install AMD's driver: " + rocmGuide,
		"module":  driver, "kernel": v.Kernel(), "resource": resource, "list": "rocm-smi", "log": driver,
	}
}
