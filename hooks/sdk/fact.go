package sdk

// Status says how well a fact is known. Unknown is never to be read as absent.
type Status string

// The three things an observation can end in.
const (
	Known   Status = "known"
	Absent  Status = "absent"
	Unknown Status = "unknown"
)

// Fact is one observation of a T. Value counts only when Status is known.
type Fact[T any] struct {
	Status Status `json:"status"`
	Value  T      `json:"value,omitempty,omitzero"`
	// Why says why the value is unknown, in a few words: "timed out", "permission denied", ...
	Why string `json:"why,omitempty"`
}

// Known reports whether the value was observed.
func (f Fact[T]) Known() bool { return f.Status == Known }

// Absent reports whether the thing is known not to be there.
func (f Fact[T]) Absent() bool { return f.Status == Absent }

// Facts is what rigup observed before it asks a hook. Nothing in it changes from one minute to the next, and
// nothing in it names the user: home directories are written as ~.
type Facts struct {
	Host   Host   `json:"host"`
	Engine Engine `json:"engine"`
	// PCI are the display controllers (class 0x03) and processing accelerators (class 0x12) of the machine that
	// rigup runs on.
	PCI Fact[[]PCIDevice] `json:"pci"`
	// Devices are the device nodes of GPUs on that machine: /dev/dxg, /dev/nvidia*, /dev/kfd, /dev/dri/*, and those
	// that the manifests of the installed hooks match. By path.
	Devices Fact[[]DeviceNode] `json:"devices"`
	// Modules are loaded kernel modules of GPUs (nvidia, nouveau, amdgpu, i915, xe, and those that PCI devices are
	// bound to), by name.
	Modules Fact[[]Module] `json:"modules"`
	// Libraries are the drivers' user-space parts that were found (libcuda.so.1, libnvidia-ml.so.1, libdxcore.so,
	// libamdhip64.so, libze_loader.so.1, ...), in every directory that has one. By path.
	Libraries Fact[[]Library] `json:"libraries"`
	// Tools are the versions of the vendors' tools that are installed (nvidia-smi, nvidia-ctk, rocm-smi, ...).
	// By name. A tool that is installed and fails has no version, and says so in Output.
	Tools Fact[[]Tool] `json:"tools"`
}

// Host is the machine that rigup runs on.
type Host struct {
	OS     string       `json:"os" jsonschema:"linux, darwin or windows"`
	Arch   string       `json:"arch" jsonschema:"amd64 or arm64"`
	Kernel Fact[string] `json:"kernel" jsonschema:"release of the kernel; on Windows its build, for example 10.0.26100"`
	Distro Fact[Distro] `json:"distro"`
	// WSL is known inside of a WSL distribution, and absent elsewhere, on Windows too.
	WSL Fact[WSL] `json:"wsl"`
	// Virtual is the hypervisor that the machine runs under, as systemd-detect-virt names it: kvm, microsoft,
	// vmware, ... WSL2 counts as none.
	Virtual Fact[string] `json:"virtual"`
}

// Distro is the system's distribution or edition.
type Distro struct {
	ID      string `json:"id" jsonschema:"as in os-release: ubuntu, debian, fedora, ...; windows; macos"`
	Version string `json:"version,omitempty" jsonschema:"24.04, 12, 11, 15.1, ..."`
	Name    string `json:"name" jsonschema:"for people: Ubuntu 24.04.1 LTS"`
	Like    string `json:"like,omitempty" jsonschema:"ID_LIKE of os-release"`
}

// WSL is what is known inside of a distribution of the Windows Subsystem for Linux.
type WSL struct {
	Version int `json:"version" jsonschema:"1 or 2"`
	// Distro is the name of the distribution in wsl --list.
	Distro string `json:"distro,omitempty"`
	// Drivers are the directories of Windows' driver store that hold GPU drivers, without the hash at the end:
	// nv_dispi.inf_amd64, u0400.inf_amd64, iigd_dch.inf_amd64, ...
	Drivers []string `json:"drivers,omitempty"`
}

// Engine is the Docker engine, as it describes itself.
type Engine struct {
	// Endpoint is where it listens, for example unix:///var/run/docker.sock or npipe:////./pipe/docker_engine.
	Endpoint string `json:"endpoint"`
	// Remote is true when the endpoint leads to another machine.
	Remote bool `json:"remote,omitempty"`
	// Context is the Docker context that named the endpoint; empty if none did.
	Context string `json:"context,omitempty"`
	// Product is what /version says the platform is: "Docker Engine - Community", "Docker Desktop 4.53.0 (211793)",
	// "Podman Engine", ...
	Product string `json:"product,omitempty"`
	Version string `json:"version"`
	API     string `json:"api"`
	// OS and Arch are what its containers run on; System and Kernel name its own machine, which on a desktop is a
	// virtual one.
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	System string `json:"system" jsonschema:"OperatingSystem of /info: Ubuntu 24.04.1 LTS, Docker Desktop, OrbStack, ..."`
	Kernel string `json:"kernel"`
	Host   string `json:"host,omitempty" jsonschema:"Name of /info, where it is one of a product: docker-desktop, colima, lima-rancher-desktop, ...; else empty, for it would name the machine"`

	CgroupVersion  string   `json:"cgroupVersion" jsonschema:"1 or 2"`
	CgroupDriver   string   `json:"cgroupDriver,omitempty"`
	StorageDriver  string   `json:"storageDriver,omitempty"`
	Rootless       bool     `json:"rootless,omitempty"`
	Snap           bool     `json:"snap,omitempty" jsonschema:"installed as a snap, which cannot see all of the file system"`
	Security       []string `json:"security,omitempty"`
	Runtimes       []string `json:"runtimes,omitempty"`
	DefaultRuntime string   `json:"defaultRuntime,omitempty"`
	// CDIDirs is where it looks for CDI specs; empty when it does not know CDI.
	CDIDirs []string `json:"cdiDirs,omitempty"`
	// CDIDevices are the devices that it found there. Engines before API 1.50 do not say: then it is unknown.
	CDIDevices Fact[[]string] `json:"cdiDevices"`
	CPUs       int            `json:"cpus"`
	Memory     int64          `json:"memory" jsonschema:"bytes"`
}

// PCIDevice is one display controller or accelerator.
type PCIDevice struct {
	Address string `json:"address" jsonschema:"0000:01:00.0; on Windows and macOS as the system names it"`
	Vendor  string `json:"vendor" jsonschema:"0x10de"`
	Device  string `json:"device" jsonschema:"0x2330"`
	Class   string `json:"class" jsonschema:"0x030000 VGA, 0x030200 3D controller, 0x038000 other display, 0x120000 accelerator"`
	// Driver is the kernel driver that it is bound to; empty if there is none.
	Driver string `json:"driver,omitempty"`
	// DriverVersion is the version of the device's driver where the system says so (Windows).
	DriverVersion string `json:"driverVersion,omitempty"`
	// Model is the name that the driver or the system gives it.
	Model  string `json:"model,omitempty"`
	Memory int64  `json:"memory,omitempty" jsonschema:"bytes of video memory, where the driver says so"`
	// Nodes are the device nodes that belong to it: /dev/dri/renderD128, /dev/dri/card0, /dev/nvidia0.
	Nodes []string `json:"nodes,omitempty"`
	// BootVGA is true for the one that shows the console.
	BootVGA bool `json:"bootVGA,omitempty"`
	// Partitions is how many slices it is cut into (MIG), where the driver says so.
	Partitions int `json:"partitions,omitempty"`
}

// DeviceNode is a character device.
type DeviceNode struct {
	Path string `json:"path"`
	// Group is the numeric group that owns it, and Mode its permissions, for example "0660".
	Group int    `json:"group"`
	Mode  string `json:"mode"`
	// Major and Minor are its device numbers.
	Major int `json:"major"`
	Minor int `json:"minor"`
}

// Module is a loaded kernel module.
type Module struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty" jsonschema:"where the module has one of its own"`
}

// Library is one file of a driver's user-space part.
type Library struct {
	Name string `json:"name" jsonschema:"libcuda.so.1"`
	Path string `json:"path" jsonschema:"where it was found: /usr/lib/x86_64-linux-gnu/libcuda.so.1"`
	// Version is what the name of the file behind the link says, for example 550.90.07 for libcuda.so.550.90.07.
	Version string `json:"version,omitempty"`
}

// Tool is an installed program of a vendor.
type Tool struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
	// Output is what it said instead of a version, shortened.
	Output string `json:"output,omitempty"`
}
