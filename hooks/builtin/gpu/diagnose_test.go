package gpu_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// Machines of the corpus that stand for the surroundings in which steps fail.
var (
	native   = []string{"laptop-nvidia-intel"}
	rootless = []string{"rootless-nvidia"}
	snap     = []string{"snap-docker-nvidia"}
	podman   = []string{"linux-podman-rootful-nvidia"}
	desktop  = []string{"wsl2-desktop-nvidia", "windows-desktop-wsl2-nvidia"}
	wsl      = []string{"wsl2-native-nvidia"}
	linux    = slices.Concat(native, rootless, snap, podman)
	windows  = slices.Concat(desktop, wsl)
	anywhere = slices.Concat(linux, windows)
	notSetUp = []string{"nvidia-toolkit-not-set-up"}
	amdHere  = []string{"desktop-amd-two"}
	arcHere  = []string{"desktop-intel-arc"}
)

// chain is how an engine reports what NVIDIA's hook said (Docker 27, runc 1.2).
func chain(said string) string {
	return "failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: " +
		"error during container init: error running prestart hook #0: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\n" + said + ": unknown"
}

// failure is the raw text of a step that failed, and what it means. Where says where the text was seen.
type failure struct {
	where string
	on    []string // machines
	step  sdk.Step
	text  string
	want  why.ID
}

// nvidiaFailures are texts as the programs print them.
var nvidiaFailures = []failure{
	{"NVIDIA/nvidia-docker#1352", notSetUp, sdk.StepAttach, `could not select device driver "" with capabilities: [[gpu]]`, why.ToolkitUnused},
	{"NVIDIA/nvidia-docker#1243, restart of Docker", slices.Concat(native, rootless, wsl), sdk.StepAttach, `could not select device driver "" with capabilities: [[gpu]]`, why.ToolkitBroken},
	{"infiniflow/ragflow#9573", notSetUp, sdk.StepAttach, `Error response from daemon: could not select device driver "nvidia" with capabilities: [[gpu]]`, why.ToolkitUnused},
	{"the same", []string{"nvidia-no-toolkit", "wsl2-native-no-toolkit"}, sdk.StepAttach, `could not select device driver "nvidia" with capabilities: [[gpu]]`, why.NoToolkit},
	{"the same, where tools could not be looked for", []string{"facts-late"}, sdk.StepAttach, "unknown or invalid runtime name: nvidia", why.ToolkitBroken},
	{"canonical/docker-snap#148, NVIDIA/nvidia-docker#1637", snap, sdk.StepAttach, `could not select device driver "" with capabilities: [[gpu]]`, why.SnapNoGPU},
	{"the same", desktop, sdk.StepAttach, `could not select device driver "" with capabilities: [[gpu]]`, why.SupportOff},
	{"the same", []string{"windows-rancher-desktop"}, sdk.StepAttach, `could not select device driver "nvidia" with capabilities: [[gpu]]`, why.NoWay},
	{"verl notes: docker create --runtime=nvidia", notSetUp, sdk.StepAttach, "Error response from daemon: unknown or invalid runtime name: nvidia", why.ToolkitUnused},
	{"Docker before 23", notSetUp, sdk.StepAttach, "Error response from daemon: Unknown runtime specified nvidia", why.ToolkitUnused},
	{"dusty-nv/jetson-containers#1702", native, sdk.StepAttach, chain("invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported. Please use the NVIDIA Container Runtime (e.g. specify the --runtime=nvidia flag) instead."), why.ToolkitMode},
	{"the same", []string{"jetson-orin"}, sdk.StepAttach, chain("invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported. Please use the NVIDIA Container Runtime (e.g. specify the --runtime=nvidia flag) instead."), why.Jetson},

	{"NVIDIA/nvidia-container-toolkit#1487", slices.Concat(rootless, native), sdk.StepAttach, chain("nvidia-container-cli: mount error: failed to add device rules: unable to find any existing device filters attached to the cgroup: bpf_prog_query(BPF_CGROUP_DEVICE) failed: operation not permitted"), why.Cgroups},
	{"moby/moby#38729", rootless, sdk.StepAttach, "nvidia-container-cli: mount error: open failed: /sys/fs/cgroup/devices/user.slice/devices.allow: permission denied", why.Cgroups},
	{"NVIDIA/k8s-device-plugin#324", native, sdk.StepAttach, chain("nvidia-container-cli.real: container error: cgroup subsystem devices not found"), why.ToolkitOld},
	{"NVIDIA/libnvidia-container#151", native, sdk.StepAttach, chain("nvidia-container-cli: mount error: failed to add device rules: unable to replace original device filters program with new one: failed to call BPF_PROG_ATTACH (BPF_CGROUP_DEVICE, BPF_F_ALLOW_MULTI): can't attach program: invalid argument"), why.ToolkitOld},
	{"NVIDIA/nvidia-docker#614", native, sdk.StepAttach, chain("nvidia-container-cli: ldcache error: open failed: /sbin/ldconfig.real: no such file or directory"), why.ToolkitLinker},
	{"jianshu.com, as seen in Docker 24", slices.Concat(native, rootless, desktop), sdk.StepAttach, "error during container init: error running hook #1: fork/exec /usr/bin/nvidia-container-runtime-hook: no such file or directory: unknown", why.ToolkitBroken},
	{"runc's text for a runtime that is gone", native, sdk.StepAttach, `failed to create shim task: OCI runtime create failed: unable to retrieve OCI runtime error (open /run/containerd/io.containerd.runtime.v2.task/moby/1/log.json: no such file or directory): exec: "nvidia-container-runtime": executable file not found in $PATH: unknown`, why.ToolkitBroken},
	{"the same on a GPU without newer drivers", []string{"nvidia-k80"}, sdk.StepAttach, chain("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container"), why.OldGPU},
	{"SyneRBI/PETRIC2#27", slices.Concat(native, desktop), sdk.StepAttach, chain("nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container"), why.NeedsNewer},

	{"NVIDIA/nvidia-container-toolkit#155", windows, sdk.StepAttach, chain("nvidia-container-cli: initialization error: WSL environment detected but no adapters were found"), why.NoAdapters},
	{"an old Windows, microsoft/WSL#7627", windows, sdk.StepAttach, "nvidia-container-cli: initialization error: driver error: failed to process request: unknown.", why.Blocked},
	{"the same on Linux", native, sdk.StepAttach, "nvidia-container-cli: initialization error: driver error: failed to process request: unknown.", why.NotStarted},
	{"nvidia-docker's list of errors", native, sdk.StepAttach, chain("nvidia-container-cli: initialization error: driver rpc error: timed out"), why.TimedOut},
	{"microsoft/WSL#9962", windows, sdk.StepCheck, "Failed to initialize NVML: GPU access blocked by the operating system\nFailed to properly shut down NVML: GPU access blocked by the operating system", why.Blocked},
	{"Docker, device that is not there", windows, sdk.StepAttach, `error gathering device information while adding custom device "/dev/dxg": no such file or directory`, why.NoDXG},
	{"open(2) in Go", windows, sdk.StepCheck, `{"ok":false,"call":"open","error":"open /dev/dxg: no such file or directory"}`, why.NoDXG},
	{"NVIDIA/nvidia-container-toolkit#1739", windows, sdk.StepPod, "error while loading shared libraries: libdxcore.so: cannot open shared object file: No such file or directory", why.NoDXCore},
	{"nvidia-ctk cdi generate --mode=wsl", windows, sdk.StepCDI, `level=error msg="failed to generate CDI spec: failed to create device CDI specs: failed to create dxcore driver discoverer: failed to initialize dxcore: failed to initialize dxcore context"`, why.NoDXCore},

	{"labdao/plex#18", anywhere, sdk.StepAttach, chain("nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"), why.Mismatch},
	{"NVIDIA/k8s-device-plugin#1431", linux, sdk.StepCheck, "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.195", why.Mismatch},
	{"saharmor/dalle-playground#104, dmesg", native, sdk.StepCheck, "NVRM: API mismatch: the client has the version 515.48.07, but\nNVRM: this kernel module has the version 510.73.05.  Please", why.Mismatch},
	{"libnvidia-container", linux, sdk.StepAttach, chain("nvidia-container-cli: initialization error: nvml error: driver not loaded"), why.NotLoaded},
	{"NVIDIA/nvidia-container-toolkit#1611", native, sdk.StepCDI, `level=error msg="failed to generate CDI spec: failed to create device CDI specs: failed to construct device spec generators: failed to initialize NVML: Driver Not Loaded"`, why.NotLoaded},
	{"nvidia-smi", native, sdk.StepCheck, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.", why.NotLoaded},
	{"canonical/docker-snap#148", windows, sdk.StepAttach, chain("nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory"), why.NoWSLLibraries},
	{"canonical/docker-snap#148", linux, sdk.StepAttach, chain("nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file: no such file or directory"), why.NoLibraries},
	{"NixOS/nixpkgs#397065", slices.Concat(native, windows), sdk.StepCDI, "ERRO[0000] failed to generate CDI spec: failed to create device CDI specs: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND", why.NotInjected},
	{"the loader's text", slices.Concat(native, windows), sdk.StepPod, "libcuda.so.1: cannot open shared object file: No such file or directory", why.NotInjected},
	{"NVIDIA/nvidia-container-toolkit#82", native, sdk.StepCDI, "failed to get libraries for driver version: failed to locate libcuda.so.515.105.01: pattern libcuda.so.515.105.01 not found", why.NotInjected},
	{"NVIDIA/nvidia-container-toolkit#33", slices.Concat(native, rootless, podman), sdk.StepCheck, "Failed to initialize NVML: Insufficient Permissions", why.Denied},
	{"containerd/containerd#6042", native, sdk.StepAttach, chain("nvidia-container-cli: initialization error: nvml error: insufficient permissions"), why.Denied},
	{"NVIDIA/nvidia-container-toolkit#580, #48", anywhere, sdk.StepCheck, "Failed to initialize NVML: Unknown Error", why.AccessLost},
	{"nvidia-smi", native, sdk.StepCheck, "No devices were found", why.NotStarted},
	{"nvidia-smi", linux, sdk.StepCheck, "Unable to determine the device handle for GPU0000:08:00.0: Unknown Error", why.Fault},
	{"kubernetes/kubernetes#97131", native, sdk.StepCheck, "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.  Reboot the system to recover this GPU", why.Fault},
	{"the kernel's log", windows, sdk.StepCheck, "NVRM: Xid (PCI:0000:01:00): 79, pid=1234, name=python, GPU has fallen off the bus.", why.Fault},

	{"moby/moby#47633", anywhere, sdk.StepAttach, "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all", why.CDIMissing},
	{"NVIDIA/nvidia-container-toolkit#434", native, sdk.StepAttach, "failed to create shim task: OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices nvidia.com/gpu=all: unknown", why.CDIMissing},
	{"NVIDIA/nvidia-container-toolkit#434", slices.Concat(native, rootless, snap, windows), sdk.StepAttach, `could not select device driver "cdi" with capabilities: []`, why.CDIOff},
	{"NVIDIA/nvidia-container-toolkit#885", anywhere, sdk.StepAttach, `CDI device injection failed: failed to inject devices: failed to stat CDI host device "/dev/dri/renderD129": no such file or directory`, why.CDIStale},
	{"NVIDIA/nvidia-container-toolkit#1239", native, sdk.StepPod, "Error: failed to create containerd task: failed to create shim task: OCI runtime create failed: could not apply required modification to OCI specification: error modifying OCI spec: failed to inject CDI devices: unresolvable CDI devices management.nvidia.com/gpu=GPU-e78e68c0-4e6a-737e-f9cc-4223fe50aead", why.NodeCDI},
	{"containerd's CRI", native, sdk.StepPod, `failed to generate spec: failed to inject CDI devices: failed to inject devices: failed to stat CDI host device "/dev/nvidia-modeset": no such file or directory`, why.NodeCDI},

	{"cuInit", anywhere, sdk.StepCheck, `{"ok":false,"call":"cuInit","code":100,"error":"CUDA_ERROR_NO_DEVICE"}`, why.NoDevice},
	{"CUDA's samples", anywhere, sdk.StepPod, "cudaGetDeviceCount returned 100\n-> no CUDA-capable device is detected", why.NoDevice},
	{"ollama/ollama#9031", native, sdk.StepCheck, "calling cuInit\ncuInit err: 802\nunable to load cudart library: cuda driver library init failure: 802", why.Fabric},
	{"NVIDIA/TensorRT-LLM#398", native, sdk.StepPod, "ERROR: The NVIDIA Driver is present, but CUDA failed to initialize.  GPU functionality will not be available.\n   [[ System not yet initialized (error 802) ]]", why.Fabric},
	{"CUDA's sentence for 803", native, sdk.StepPod, "Error 803: system has unsupported display driver / cuda driver combination", why.Mismatch},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuInit","code":803}`, why.Mismatch},
	{"CUDA's sentence for 804", slices.Concat(linux, windows), sdk.StepPod, "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW", why.Compat},
	{"the number alone", native, sdk.StepCheck, "cuInit failed: 804", why.Compat},
	{"CUDA's sentence for 35", anywhere, sdk.StepPod, "cudaGetDeviceCount returned 35\n-> CUDA driver version is insufficient for CUDA runtime version", why.NeedsNewer},
	{"CUDA's sentence for 222", native, sdk.StepCheck, "the provided PTX was compiled with an unsupported toolchain.", why.NeedsNewer},
	{"CUDA's sentence for 46", slices.Concat(linux, windows), sdk.StepCheck, "CUDA error: all CUDA-capable devices are busy or unavailable", why.Busy},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuCtxCreate_v2","code":46}`, why.Busy},
	{"PyTorch", anywhere, sdk.StepPod, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.", why.MemoryFull},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuCtxCreate_v2","code":2}`, why.MemoryFull},
	{"cuInit", anywhere, sdk.StepCheck, "cuInit: CUDA_ERROR_UNKNOWN (999)", why.CUDAUnknown},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuInit","code":999}`, why.CUDAUnknown},
	{"PyTorch", native, sdk.StepPod, "RuntimeError: CUDA error: no kernel image is available for execution on the device", why.NotInImage},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuModuleLoadData","code":209}`, why.NotInImage},
	{"the number alone", native, sdk.StepCheck, `{"ok":false,"call":"cuCtxSynchronize","code":214}`, why.Fault},

	{"kubernetes/kubernetes#130145", anywhere, sdk.StepPod, "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, which is unexpected", why.Admission},
	{"trueforge-org/truecharts#19201", native, sdk.StepPod, "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected", why.Unhealthy},
	{"the scheduler", anywhere, sdk.StepPod, "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", why.NoneFree},
	{"containerd's CRI", native, sdk.StepPod, `Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for "nvidia" is configured`, why.NoRuntimeClass},
	{"any text", anywhere, sdk.StepAdvertise, "allocatable nvidia.com/gpu: 0", why.NotAdvertised},
	{"any text", anywhere, sdk.StepCDI, "the spec lists no devices", why.NodeCDI},
}

var amdFailures = []failure{
	{"aws-deepracer-community/deepracer-core#82", amdHere, sdk.StepAttach, `error gathering device information while adding custom device "/dev/kfd": no such file or directory`, why.NoKFD},
	{"the same, ROCm's users on Windows", []string{"wsl2-desktop-amd", "windows-desktop-wsl2-amd"}, sdk.StepAttach, `error gathering device information while adding custom device "/dev/kfd": no such file or directory`, why.DesktopNo},
	{"JamesTurland/JimsGarage#163", amdHere, sdk.StepAttach, `error gathering device information while adding custom device "/dev/dri/renderD128": no such file or directory`, why.NodesMissing},
	{"ROCm/ROCm-docker#116", amdHere, sdk.StepCheck, "ROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\nFailed to get user name to check for video group membership", why.Denied},
	{"open(2) in Go", amdHere, sdk.StepCheck, `{"ok":false,"call":"open","error":"open /dev/kfd: operation not permitted"}`, why.Denied},
	{"ROCm/rocminfo#41", amdHere, sdk.StepCheck, "ROCk module is loaded\nUnable to open /dev/kfd read-write: Cannot allocate memory\nroot is member of render group", why.KFDRefuses},
	{"aws-deepracer-community/deepracer-core#82", amdHere, sdk.StepCheck, "ROCk module is NOT loaded, possibly no GPU devices", why.DriverMissing},
	{"PyTorch", amdHere, sdk.StepPod, "RuntimeError: HIP error: invalid device function", why.NotInImage},
	{"HIP", amdHere, sdk.StepPod, `"hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"`, why.NotInImage},
	{"PyTorch", amdHere, sdk.StepPod, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.", why.MemoryFull},
	{"HIP", amdHere, sdk.StepPod, "RuntimeError: No HIP GPUs are available: no ROCm-capable device is detected", why.NoDevice},
	{"the kernel's log", amdHere, sdk.StepPod, "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=4, emitted seq=6", why.Fault},
	{"moby/moby#47633", amdHere, sdk.StepAttach, "CDI device injection failed: unresolvable CDI devices amd.com/gpu=all", why.CDIMissing},
	{"containerd", amdHere, sdk.StepPod, "failed to inject CDI devices: unresolvable CDI devices amd.com/gpu=0", why.NodeCDI},
	{"containerd", amdHere, sdk.StepAttach, `failed to stat CDI host device "/dev/kfd": no such file or directory`, why.CDIStale},
	{"Docker 25", amdHere, sdk.StepAttach, `could not select device driver "cdi" with capabilities: []`, why.CDIOff},
	{"trueforge-org/truecharts#19201", amdHere, sdk.StepPod, "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices amd.com/gpu, which is unexpected", why.Unhealthy},
	{"the scheduler", amdHere, sdk.StepPod, "0/1 nodes are available: 1 Insufficient amd.com/gpu.", why.NoneFree},
	{"the kubelet", amdHere, sdk.StepPod, "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for amd.com/gpu. Requested: 1, Available: 0, which is unexpected", why.Admission},
	{"any text", amdHere, sdk.StepAdvertise, "allocatable amd.com/gpu: 0", why.NotAdvertised},
	{"Docker on WSL2", []string{"wsl2-desktop-amd"}, sdk.StepAttach, `error gathering device information while adding custom device "/dev/dxg": no such file or directory`, why.NoDXG},
}

var intelFailures = []failure{
	{"JamesTurland/JimsGarage#163", arcHere, sdk.StepAttach, `error gathering device information while adding custom device "/dev/dri/renderD128": no such file or directory`, why.NodesMissing},
	{"netbrain/zwift#230", arcHere, sdk.StepCheck, "failed to open /dev/dri/renderD129: Permission denied", why.Denied},
	{"the kernel's log", arcHere, sdk.StepPod, "i915 0000:03:00.0: [drm] GPU HANG: ecode 12:1:85dffffb, in python3 [12345]", why.Fault},
	{"Level Zero", arcHere, sdk.StepPod, "zeInit failed with ZE_RESULT_ERROR_UNINITIALIZED", why.NoDevice},
	{"PyTorch", arcHere, sdk.StepPod, "RuntimeError: No XPU devices are available.", why.NoDevice},
	{"PyTorch", arcHere, sdk.StepPod, "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 5.00 GiB.", why.MemoryFull},
	{"Level Zero", arcHere, sdk.StepPod, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE", why.NotInImage},
	{"moby/moby#47633", arcHere, sdk.StepAttach, "CDI device injection failed: unresolvable CDI devices gpu.intel.com/i915=0", why.CDIMissing},
	{"containerd", arcHere, sdk.StepAttach, `failed to stat CDI host device "/dev/dri/renderD129": no such file or directory`, why.CDIStale},
	{"containerd", arcHere, sdk.StepPod, "failed to inject CDI devices: unresolvable CDI devices gpu.intel.com/i915=0", why.NodeCDI},
	{"Docker 25", arcHere, sdk.StepAttach, `could not select device driver "cdi" with capabilities: []`, why.CDIOff},
	{"the scheduler", arcHere, sdk.StepPod, "0/1 nodes are available: 1 Insufficient gpu.intel.com/i915.", why.NoneFree},
	{"the scheduler", []string{"desktop-intel-battlemage"}, sdk.StepPod, "0/1 nodes are available: 1 Insufficient gpu.intel.com/xe.", why.NoneFree},
	{"the kubelet", arcHere, sdk.StepPod, "UnexpectedAdmissionError: Allocate failed due to requested number of devices unavailable for gpu.intel.com/i915. Requested: 1, Available: 0, which is unexpected", why.Admission},
	{"the kubelet", arcHere, sdk.StepPod, "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices gpu.intel.com/i915, which is unexpected", why.Unhealthy},
	{"any text", arcHere, sdk.StepAdvertise, "allocatable gpu.intel.com/i915: 0", why.NotAdvertised},
	{"Docker on WSL2", []string{"wsl2-native-intel"}, sdk.StepAttach, `error gathering device information while adding custom device "/dev/dxg": no such file or directory`, why.NoDXG},
}

var failures = map[string][]failure{"nvidia": nvidiaFailures, "amd": amdFailures, "intel": intelFailures}

func diagnose(t *testing.T, id, on string, f sdk.Failure) sdk.Response {
	t.Helper()
	m := machine(t, on)
	e := plan(t, m).Environment.Environment
	return ask(t, id, sdk.Request{Phase: sdk.Diagnose, Facts: m.Facts, Environment: &e, Failure: &f}, m)
}

func TestG4_FailuresAreExplained(t *testing.T) {
	for id, cases := range failures {
		for _, c := range cases {
			for _, on := range c.on {
				r := diagnose(t, id, on, sdk.Failure{Step: c.step, Exit: 1, Output: c.text})
				if r.Reason == nil || r.Reason.ID != string(c.want) {
					t.Errorf("%s on %s, %s: %.100q: %+v, want %s", id, on, c.where, c.text, r, c.want)
					continue
				}
				good(t, on+", "+id, *r.Reason)
				for _, e := range r.Reason.Evidence {
					// The host folds spaces.
					if !strings.Contains(strings.Join(strings.Fields(c.text), " "), e) || len(e) > 220 {
						t.Errorf("%s on %s: the evidence %q is not what was printed", id, on, e)
					}
				}
			}
		}
	}
}

// TestG6_TimedOutIsAReasonOfItsOwn holds that a step which took too long is never explained by what it printed.
func TestG6_TimedOutIsAReasonOfItsOwn(t *testing.T) {
	for id, on := range map[string][]string{"nvidia": anywhere, "amd": amdHere, "intel": arcHere} {
		for _, name := range on {
			for _, step := range []sdk.Step{sdk.StepAttach, sdk.StepCheck, sdk.StepCDI, sdk.StepAdvertise, sdk.StepPod} {
				r := diagnose(t, id, name, sdk.Failure{Step: step, TimedOut: true, Output: "Failed to initialize NVML: Unknown Error\n"})
				if r.Reason == nil || r.Reason.ID != string(why.TimedOut) || !strings.HasSuffix(r.Reason.Text, "did not end in time.") {
					t.Errorf("%s on %s, %s: %+v", id, name, step, r)
					continue
				}
				good(t, name+", "+id, *r.Reason)
			}
		}
	}
}

// TestWhatIsNotAboutTheGPUIsLeftToOthers holds that images, registries and disks are no hook's business, and that
// texts which only look like an error of CUDA are not taken for one.
func TestWhatIsNotAboutTheGPUIsLeftToOthers(t *testing.T) {
	for _, c := range []struct {
		step sdk.Step
		text string
	}{
		{sdk.StepImage, chain("nvidia-container-cli: initialization error: nvml error: driver not loaded")},
		{sdk.StepPod, "Failed to pull image \"docker.io/nvidia/cuda:12.9.2\": rpc error: code = NotFound"},
		{sdk.StepPod, "ErrImagePull: manifest unknown"},
		{sdk.StepPod, "ImagePullBackOff"},
		{sdk.StepAttach, "No such image: nvcr.io/nvidia/cuda:12.9.2-base-ubuntu22.04"},
		{sdk.StepAttach, "toomanyrequests: You have reached your pull rate limit."},
		{sdk.StepAttach, "write /var/lib/docker/tmp/x: no space left on device"},
		{sdk.StepCheck, "exec /rigup-check: exec format error, exit status 2"},
		{sdk.StepCheck, "cuda version 12.2, driver 535.35.46, 100 % done, 2 devices"},
		{sdk.StepAttach, `error gathering device information while adding custom device "/dev/fuse": no such file or directory`},
		{sdk.StepAttach, "mount /dev/shm: permission denied"},
		{sdk.StepCheck, "Killed"},
		{sdk.StepCheck, ""},
	} {
		for id, on := range map[string]string{"nvidia": "laptop-nvidia-intel", "amd": "desktop-amd-two", "intel": "desktop-intel-arc"} {
			if r := diagnose(t, id, on, sdk.Failure{Step: c.step, Exit: 1, Output: c.text}); r.Kind != sdk.Decline {
				t.Errorf("%s: %q: %+v", id, c.text, r)
			}
		}
	}
}

// TestBareNodesOnWSL2MeanThatNothingBetterWasThere holds that the last way of all, whose failure says little, leads to
// what is missing.
func TestBareNodesOnWSL2MeanThatNothingBetterWasThere(t *testing.T) {
	f := sdk.Failure{
		Step: sdk.StepCheck, Exit: 1, Output: "libcuda.so.1: cannot open shared object file: No such file or directory",
		Attach: &sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{"/dev/dxg"}, Binds: []string{"/usr/lib/wsl"}},
	}
	for on, want := range map[string]why.ID{
		"wsl2-native-no-toolkit": why.NoToolkit, "windows-desktop-wsl2-old": why.SupportOff,
	} {
		if r := diagnose(t, "nvidia", on, f); r.Reason == nil || r.Reason.ID != string(want) {
			t.Errorf("%s: %+v", on, r)
		}
	}
	if r := diagnose(t, "nvidia", "wsl2-native-nvidia", f); r.Kind != sdk.Decline {
		t.Errorf("there was something better, and it failed before: %+v", r)
	}
}

var (
	unfilled = regexp.MustCompile(`\{[a-z]+\}`)
	oneOnly  = regexp.MustCompile(`[.!?] [A-Z]`)
)

// good holds a reason to its form: one sentence, something to do, nothing left to fill in.
func good(t *testing.T, where string, r sdk.Reason) {
	t.Helper()
	all := append([]string{r.Text}, r.Remedy...)
	switch {
	case !strings.HasSuffix(r.Text, ".") || oneOnly.MatchString(r.Text):
		t.Errorf("%s: %s is not one sentence: %q", where, r.ID, r.Text)
	case len(r.Remedy) == 0:
		t.Errorf("%s: %s has nothing to do", where, r.ID)
	}
	for _, s := range all {
		if unfilled.MatchString(s) || strings.ContainsAny(s, "\n\u2014") {
			t.Errorf("%s: %s: %q", where, r.ID, s)
		}
	}
}
