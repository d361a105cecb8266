package why

// The reasons that all three hooks have.
const (
	NoDXG           ID = "dxg-missing"       // Windows shows WSL2 no GPU
	Reserved        ID = "reserved-for-vm"   // bound to vfio-pci
	NotFound        ID = "not-found"         // asked to decide where nothing is
	NoWay           ID = "no-way-to-attach"  // the engine has no suitable way
	DriverMissing   ID = "driver-missing"    // nothing drives the GPU
	WrongDriver     ID = "driver-wrong"      // a driver that cannot compute
	NodesMissing    ID = "nodes-missing"     // no device nodes
	NodesUnknown    ID = "nodes-unknown"     // which nodes there are could not be seen
	TimedOut        ID = "timed-out"         // its own answer (G6)
	Denied          ID = "permission"        // a device node may not be opened
	CDIMissing      ID = "cdi-missing"       // the engine finds no such CDI device
	CDIStale        ID = "cdi-stale"         // the engine's CDI spec names what is gone
	CDIOff          ID = "cdi-off"           // the engine does not do CDI
	NodeCDI         ID = "node-cdi"          // the node's own CDI spec
	NotAdvertised   ID = "not-advertised"    // the node does not offer the resource
	NoneFree        ID = "none-free"         // all are taken
	Admission       ID = "admission"         // the node refused the pod
	Unhealthy       ID = "unhealthy"         // the node offers a GPU that does not work
	NoDevice        ID = "no-device"         // programs find no GPU in the container
	MemoryFull      ID = "memory-full"       // the GPU's memory
	Fault           ID = "gpu-fault"         // the hardware
	TooOldGPU       ID = "gpu-too-old"       // no driver that containers can use runs it
	NotInImage      ID = "image-without-gpu" // an image without code for this GPU
	DesktopNo       ID = "desktop-unsupported"
	OtherDriverLeft ID = "driver-mixed" // two kernel drivers for one vendor: one of them is used
)

// The reasons of the nvidia hook.
const (
	NotLoaded      ID = "driver-not-loaded"
	NotDriven      ID = "gpu-not-driven"
	NotStarted     ID = "gpu-not-started"
	Mismatch       ID = "driver-mismatch"
	TooOld         ID = "driver-too-old"
	Old            ID = "driver-old"
	NoLibraries    ID = "driver-libraries-missing"
	NoWSLLibraries ID = "wsl-libraries-missing"
	LinuxInWSL     ID = "linux-driver-in-wsl"
	Jetson         ID = "jetson"
	MIGMixed       ID = "mig-mixed"
	OldGPU         ID = "gpu-old"
	NoToolkit      ID = "toolkit-missing"
	ToolkitUnused  ID = "toolkit-not-configured"
	ToolkitBroken  ID = "toolkit-broken"
	ToolkitOld     ID = "toolkit-too-old"
	ToolkitMode    ID = "toolkit-mode"
	ToolkitLinker  ID = "toolkit-ldconfig"
	SnapNoGPU      ID = "snap-without-gpu"
	SupportOff     ID = "gpu-support-off"
	NoAdapters     ID = "wsl-no-adapters"
	Blocked        ID = "blocked-by-windows"
	NoDXCore       ID = "libdxcore-missing"
	Cgroups        ID = "cgroups"
	NeedsNewer     ID = "driver-older-than-image"
	AccessLost     ID = "access-lost"
	NotInjected    ID = "libraries-not-injected"
	Compat         ID = "compat-libraries"
	Fabric         ID = "fabric-manager"
	Busy           ID = "gpu-busy"
	CUDAUnknown    ID = "cuda-unknown"
	NoRuntimeClass ID = "runtime-class"
)

// The reasons of the amd hook.
const (
	NoKFD      ID = "kfd-missing"
	KFDRefuses ID = "kfd-refuses"
	Unofficial ID = "rocm-unofficial"
)
