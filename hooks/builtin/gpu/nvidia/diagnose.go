package nvidia

import (
	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// The meanings of texts that depend on the machine: refine makes reasons of them.
const (
	engineLacks  why.ID = "?engine" // the engine knows no nvidia driver or runtime
	wrongMode    why.ID = "?mode"   // the toolkit does not take this way of asking
	driverBroken why.ID = "?driver" // the driver did not answer the toolkit
	driverSlow   why.ID = "?slow"   // the driver did not start in time
	nvmlMissing  why.ID = "?nvml"   // NVML's library was not found
)

// sick are the texts with which nvidia-smi says that GPU or driver are not well.
var sick = []text.Rule{
	{ID: why.Fault, Has: []string{"gpu is lost"}},
	{ID: why.Fault, Has: []string{"fallen off the bus"}},
	{ID: why.Fault, Has: []string{"unable to determine the device handle for gpu"}},
	{ID: why.NotStarted, Has: []string{"no devices were found"}},
	{ID: why.Blocked, Has: []string{"gpu access blocked by the operating system"}},
}

// rules are the texts of NVIDIA's programs and libraries, and of engines about them. The tests name their origin.
var rules = []text.Rule{
	{ID: engineLacks, Has: []string{`could not select device driver "" with capabilities: [[`}},
	{ID: engineLacks, Has: []string{`could not select device driver "nvidia" with capabilities: [[`}},
	{ID: engineLacks, Has: []string{"unknown or invalid runtime name: nvidia"}},
	{ID: engineLacks, Has: []string{"unknown runtime specified nvidia"}},
	{ID: wrongMode, Has: []string{"invoking the nvidia container runtime hook directly"}},
	{ID: why.Cgroups, Has: []string{"bpf_prog_query(bpf_cgroup_device) failed"}},
	{ID: why.Cgroups, Has: []string{"devices.allow: permission denied"}},
	{ID: why.ToolkitOld, Has: []string{"cgroup subsystem devices not found"}},
	{ID: why.ToolkitOld, Has: []string{"failed to call bpf_prog_attach"}},
	{ID: why.ToolkitLinker, Has: []string{"ldcache error: open failed"}},
	{ID: why.ToolkitBroken, Has: []string{`exec: "nvidia-container-runtime`, "executable file not found"}},
	{ID: why.ToolkitBroken, Has: []string{"nvidia-container-runtime-hook: no such file or directory"}},
	{ID: why.ToolkitBroken, Has: []string{"nvidia-container-runtime: no such file or directory"}},
	{ID: why.ToolkitBroken, Has: []string{"nvidia-cdi-hook: no such file or directory"}},
	{ID: why.ToolkitBroken, Has: []string{"nvidia-ctk: no such file or directory"}},
	{ID: why.NeedsNewer, Has: []string{"nvidia-container-cli: requirement error: unsatisfied condition"}},
	{ID: why.NoAdapters, Has: []string{"wsl environment detected but no adapters were found"}},
	{ID: why.NoDXCore, Has: []string{"libdxcore.so", "no such file or directory"}},
	{ID: why.NoDXCore, Has: []string{"libdxcore.so", "not found"}},
	{ID: why.NoDXCore, Has: []string{"failed to initialize dxcore"}},
	{ID: why.Mismatch, Has: []string{"driver/library version mismatch"}},
	{ID: why.Mismatch, Has: []string{"api mismatch: the client has the version"}},
	{ID: why.NotLoaded, Has: []string{"nvml error: driver not loaded"}},
	{ID: why.NotLoaded, Has: []string{"nvml: driver not loaded"}},
	{ID: why.NotLoaded, Has: []string{"couldn't communicate with the nvidia driver"}},
	{ID: nvmlMissing, Has: []string{"load library failed: libnvidia-ml.so"}},
	{ID: nvmlMissing, Has: []string{"nvml: error_library_not_found"}},
	{ID: why.NotInjected, Has: []string{"libnvidia-ml.so.1: cannot open shared object file"}},
	{ID: why.NotInjected, Has: []string{"libcuda.so.1: cannot open shared object file"}},
	{ID: why.NotInjected, Has: []string{"failed to locate libcuda.so"}},
	{ID: why.Denied, Has: []string{"failed to initialize nvml: insufficient permissions"}},
	{ID: why.Denied, Has: []string{"nvml error: insufficient permissions"}},
	{ID: why.AccessLost, Has: []string{"failed to initialize nvml: unknown error"}},
	{ID: why.Fault, Has: []string{"nvrm: xid"}},
	{ID: why.Fault, Has: []string{"uncorrectable ecc"}},
	{ID: driverSlow, Has: []string{"driver rpc error: timed out"}},
	{ID: driverBroken, Has: []string{"nvidia-container-cli: initialization error: driver error"}},
	{ID: driverBroken, Has: []string{"rminitadapter failed"}},
	{ID: why.NoRuntimeClass, Has: []string{`no runtime for "nvidia" is configured`}},
	{ID: why.NoRuntimeClass, Has: []string{`runtimehandler "nvidia" not supported`}},

	// CUDA, by its names and sentences. Numbers alone follow.
	{ID: why.Fabric, Has: []string{"cuda_error_system_not_ready"}},
	{ID: why.Fabric, Has: []string{"system not yet initialized"}},
	{ID: why.Mismatch, Has: []string{"cuda_error_system_driver_mismatch"}},
	{ID: why.Mismatch, Has: []string{"unsupported display driver / cuda driver combination"}},
	{ID: why.Compat, Has: []string{"cuda_error_compat_not_supported_on_device"}},
	{ID: why.Compat, Has: []string{"forward compatibility was attempted on non supported hw"}},
	{ID: why.NeedsNewer, Has: []string{"cuda driver version is insufficient for cuda runtime version"}},
	{ID: why.NeedsNewer, Has: []string{"compiled with an unsupported toolchain"}},
	{ID: why.NeedsNewer, Has: []string{"cuda_error_unsupported_ptx_version"}},
	{ID: why.NotInjected, Has: []string{"cuda_error_stub_library"}},
	{ID: why.NotInImage, Has: []string{"no kernel image is available for execution"}},
	{ID: why.NotInImage, Has: []string{"cuda_error_no_binary_for_gpu"}},
	{ID: why.Busy, Has: []string{"devices are busy or unavailable"}},
	{ID: why.Busy, Has: []string{"cuda_error_device_unavailable"}},
	{ID: why.MemoryFull, Has: []string{"cuda_error_out_of_memory"}},
	{ID: why.MemoryFull, Has: []string{"cuda", "out of memory"}},
	{ID: why.Fault, Has: []string{"cuda_error_ecc_uncorrectable"}},
	{ID: why.NoDevice, Has: []string{"cuda_error_no_device"}},
	{ID: why.NoDevice, Has: []string{"no cuda-capable device is detected"}},
	{ID: why.CUDAUnknown, Has: []string{"cuda_error_unknown"}},
	{ID: why.Fabric, Code: "802"},
	{ID: why.Mismatch, Code: "803"},
	{ID: why.Compat, Code: "804"},
	{ID: why.NeedsNewer, Code: "35"},
	{ID: why.NeedsNewer, Code: "222"},
	{ID: why.NotInImage, Code: "209"},
	{ID: why.Busy, Code: "46"},
	{ID: why.Fault, Code: "214"},
	{ID: why.NoDevice, Code: "100"},
	{ID: why.MemoryFull, Code: "2"},
	{ID: why.CUDAUnknown, Code: "999"},
	{ID: why.CUDAUnknown, Has: []string{"cuda", "unknown error"}},
}

// refine makes reasons of what depends on the machine.
func refine(v *view.View) func(why.ID, string, why.Fill) why.ID {
	return func(id why.ID, line string, f why.Fill) why.ID {
		inside := v.Failure.Step != sdk.StepAttach && v.Failure.Step != sdk.StepCheck
		bare := v.Failure.Attach != nil && v.Failure.Attach.Kind == sdk.AttachDevices
		switch id {
		case why.NotInjected, why.NoDXCore:
			// The nodes of the device alone were handed over. If that was because nothing better was there, this is the
			// reason; else the way that was tried before failed for another one.
			if m := look(v); bare && !inside && m.namesRuntime() {
				return ""
			} else if bare && !inside {
				return lacking(m)
			}
		case why.NeedsNewer:
			if len(look(v).oldCards()) > 0 {
				return why.OldGPU
			}
		case engineLacks:
			return lacking(look(v))
		case wrongMode:
			if look(v).shape == chip {
				return why.Jetson
			}
			return why.ToolkitMode
		case driverSlow:
			f["what"] = "Starting the NVIDIA driver"
			return why.TimedOut
		case driverBroken:
			if v.Where.Has(why.Windows) {
				return why.Blocked // an old Windows: microsoft/WSL#7627
			}
			return why.NotStarted
		case nvmlMissing:
			// The engine's own machine has to have it; the node and its containers get it from there.
			switch {
			case inside:
				return why.NotInjected
			case v.Where.Has(why.Windows):
				return why.NoWSLLibraries
			}
			return why.NoLibraries
		case why.Denied:
			if f["node"] == "" {
				f["node"] = "/dev/nvidia*"
			}
		case why.NodesMissing:
			if !v.Where.Has(why.Linux) {
				return "" // device nodes of Linux are not asked for elsewhere
			}
		}
		return id
	}
}

// lacking is why the engine knows no nvidia driver.
func lacking(m machine) why.ID {
	switch {
	case m.Where.Has(why.Desktop):
		return why.SupportOff
	case m.Where.Has(why.Elsewhere):
		return why.NoWay
	case m.Where.Has(why.Snap):
		return why.SnapNoGPU
	case m.namesRuntime():
		return why.ToolkitBroken // the runtime is set up, and a part of it was not there when the engine started
	case m.toolkit() == sdk.Known:
		return why.ToolkitUnused
	case m.toolkit() == sdk.Unknown:
		return why.NoWay
	}
	return why.NoToolkit
}
