// Package intel is the hook for Intel GPUs.
package intel

import (
	"slices"
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
	id = "intel"
	// domain and the kernel driver make the names of resources, as Intel's own device plugin has them.
	domain = "gpu.intel.com/"
	i915   = "i915"
	xe     = "xe"
)

// Manifest describes the hook.
func Manifest() sdk.Manifest {
	return sdk.Manifest{
		API: sdk.API, ABI: sdk.ABI, ID: id, Version: "1.0.0", Title: "Intel GPUs", Publisher: "rigup", Homepage: "https://rigup.dev",
		Kinds: []sdk.Kind{sdk.GPUHook},
		Match: sdk.Match{PCI: []string{"0x8086"}, Devices: []string{drm.DXG}},
		Permissions: sdk.Permissions{
			Probes:    []sdk.ProbeKind{sdk.PCIList, sdk.DeviceStat, sdk.FileRead},
			Files:     []string{"/sys/class/drm/renderD*/device/uevent", "/sys/module/i915/uevent", "/sys/module/xe/uevent"},
			Devices:   []string{"/dev/dri/renderD*", drm.DXG},
			Binds:     []string{drm.WSLDir},
			Images:    []string{"base"},
			Attach:    []sdk.AttachKind{sdk.AttachCDI, sdk.AttachDevices},
			Resources: []string{domain + i915, domain + xe},
			Targets:   []string{"node"},
		},
	}
}

var vendor = drm.Vendor{
	Name: "Intel", ID: "0x8086", GPU: isGPU, Integrated: integrated, Stored: stored, Modules: []string{i915, xe}, Fill: fill,
}

// Hook answers a request.
func Hook(req sdk.Request) sdk.Response {
	v := view.New(why.Intel, req)
	switch req.Phase {
	case sdk.Detect:
		return drm.Look(v, vendor).Detect()
	case sdk.Decide:
		return v.Answer(decide(drm.Look(v, vendor)))
	case sdk.Diagnose:
		return failure.Diagnose(v, failure.Vendor{Rules: [][]text.Rule{rules}, Fill: fillFor(v, driverOf(v))})
	}
	return sdk.No("this phase is not known")
}

func decide(m drm.Machine) sdk.Response {
	if r := m.Obstacle(); r != nil {
		return sdk.Giving(*r, m.Why...)
	}
	g := sdk.GPU{
		Vendor: "Intel",
		Check:  sdk.Check{Compute: sdk.ComputeDRM},
		Node:   sdk.Node{Target: "node"}, // the driver's libraries come with the images of jobs
	}
	// Behind WSL2 there is neither driver; charts for Intel GPUs ask for the older name.
	module := i915
	if m.Where.Has(why.Windows) {
		g.Check = drm.WSLCheck()
	} else {
		var r *sdk.Reason
		if m, module, g.Warnings, r = ofOneDriver(m); r != nil {
			return sdk.Giving(*r, m.Why...)
		}
		if m, r = m.WithNodes(); r != nil {
			return sdk.Giving(*r, m.Why...)
		}
	}
	g.Resource = domain + module
	g.Attach = m.Attach(g.Resource)
	g.Devices, g.CDI = m.Devices(), m.Spec(g.Resource)
	return sdk.Using(g, append(m.Why, "the driver is "+module+", so pods ask for "+g.Resource)...)
}

// ofOneDriver keeps the GPUs of one kernel driver, because the driver names the resource. If no driver runs any, that
// is the reason.
func ofOneDriver(m drm.Machine) (drm.Machine, string, []sdk.Reason, *sdk.Reason) {
	module := better(m.Cards)
	if module == "" {
		if len(m.Cards) == 0 {
			return m, "", nil, m.Reason(why.NodesUnknown, fill(m.View), present(m.Traces)...)
		}
		d := m.Cards[0]
		return m, "", nil, m.Reason(why.DriverMissing, fillFor(m.View, newest(d)), d.Address+" is bound to no driver of Intel")
	}
	var left []string
	m.Cards = slices.DeleteFunc(slices.Clone(m.Cards), func(d sdk.PCIDevice) bool {
		if d.Driver != module {
			left = append(left, d.Address+" is bound to "+known(d.Driver))
		}
		return d.Driver != module
	})
	if len(left) == 0 {
		return m, module, nil, nil
	}
	f := fillFor(m.View, module)
	f["driver"] = module
	return m, module, []sdk.Reason{*m.Reason(why.OtherDriverLeft, f, left...)}, nil
}

// better is the driver whose GPUs are used: the one with more cards of their own, then with more GPUs, then the newer
// one.
func better(cards []sdk.PCIDevice) string {
	best, most := "", -1
	for _, module := range []string{xe, i915} {
		points, any := 0, false
		for _, d := range cards {
			if d.Driver != module {
				continue
			}
			any = true
			points++
			if in, _ := integrated(d); !in {
				points += len(cards) + 1
			}
		}
		if any && points > most {
			best, most = module, points
		}
	}
	return best
}

// driverOf is the driver that a decision for this machine would go by.
func driverOf(v *view.View) string {
	if module := better(v.GPUs(vendor.ID).Value); module != "" {
		return module
	}
	return i915
}

func known(driver string) string {
	if driver == "" {
		return "no driver"
	}
	return driver
}

func present(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// isGPU tells GPUs from Intel's other accelerators: the NPU of newer processors has the class of an accelerator.
func isGPU(d sdk.PCIDevice) bool { return strings.HasPrefix(d.Class, "0x03") }

func number(d sdk.PCIDevice) uint64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(d.Device, "0x"), 16, 16)
	if err != nil {
		return 0
	}
	return n
}

func within(n, from, to uint64) bool { return n >= from && n <= to }

// integrated tells GPUs inside of processors from cards, by the ids of the cards in the kernel's table
// (include/drm/intel/pciids.h): DG1, Alchemist and Flex, Ponte Vecchio, Battlemage, Crescent Island. A GPU that is not
// in it is a part of the processor where those always are: device 2 of bus 0.
func integrated(d sdk.PCIDevice) (bool, string) {
	n := number(d)
	if within(n, 0x4905, 0x4909) || within(n, 0x5690, 0x56cf) || within(n, 0x0b60, 0x0bff) || within(n, 0xe200, 0xe2ff) || n == 0x674c {
		return false, "id " + d.Device
	}
	if _, place, ok := strings.Cut(d.Address, ":"); ok && len(d.Address) == len("0000:00:02.0") && !strings.HasPrefix(place, "00:02.") {
		return false, "address " + d.Address
	}
	return true, "id " + d.Device
}

// newest is the driver for a GPU that none has taken: xe for Battlemage and what came with Lunar Lake.
func newest(d sdk.PCIDevice) string {
	n := number(d)
	if within(n, 0xe200, 0xe2ff) || within(n, 0x6400, 0x64ff) || within(n, 0xb000, 0xb0ff) || n == 0x674c {
		return xe
	}
	return i915
}

// stored tells Intel's packages in Windows' driver store: iigd_dch and its like, igdlh64 before.
func stored(name string) bool {
	return strings.HasPrefix(name, "iigd") || strings.HasPrefix(name, "igd") || strings.HasPrefix(name, "igfx")
}

func fill(v *view.View) why.Fill { return fillFor(v, i915) }

func fillFor(v *view.View, module string) why.Fill {
	return why.Fill{
		"module": module, "kernel": v.Kernel(), "resource": domain + module, "list": "intel_gpu_top", "log": module,
	}
}

// rules are the texts of Intel's drivers and libraries. The tests name their origin.
var rules = []text.Rule{
	{ID: why.Fault, Has: []string{"gpu hang"}},
	{ID: why.MemoryFull, Has: []string{"ze_result_error_out_of_device_memory"}},
	{ID: why.MemoryFull, Has: []string{"ur_result_error_out_of_device_memory"}},
	{ID: why.MemoryFull, Has: []string{"xpu out of memory"}},
	{ID: why.NoDevice, Has: []string{"ze_result_error_uninitialized"}},
	{ID: why.NoDevice, Has: []string{"no xpu devices are available"}},
	{ID: why.NotInImage, Has: []string{"ze_result_error_unsupported_feature"}},
}
