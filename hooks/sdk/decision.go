package sdk

import "encoding/json"

// AttachKind is a way to hand GPUs to a container of the engine.
type AttachKind string

// The ways.
const (
	AttachCDI     AttachKind = "cdi"     // the engine's CDI support: needs a spec on the engine's machine
	AttachNVIDIA  AttachKind = "nvidia"  // the engine's nvidia driver, as docker run --gpus uses it
	AttachDevices AttachKind = "devices" // device nodes and read-only directories, by path
)

// Environment is what an environment hook decides about the engine's surroundings.
type Environment struct {
	// ID and Title name the environment: docker-desktop-wsl2, "Docker Desktop on WSL2".
	ID    string `json:"id"`
	Title string `json:"title"`
	// Attach are the ways to hand over GPUs that the engine can honour, best first. Empty: none, and GPULess says why.
	Attach []AttachKind `json:"attach"`
	// GPULess is why no container of this engine can have a GPU.
	GPULess *Reason `json:"gpuLess,omitempty"`
	// Nodes is how many nodes a cluster can have here at most; 0 means any number.
	Nodes int `json:"nodes,omitempty"`
	// Memory says whose memory containers use.
	Memory MemoryModel `json:"memory"`
	// Paths says how directories of this machine reach the engine.
	Paths PathModel `json:"paths"`
	// Restart goes on after "The cluster": what brings it back after the machine was off.
	Restart string `json:"restart,omitempty"`
	// Start is how the engine is started, as a command or a menu path.
	Start string `json:"start,omitempty"`
	// Grow is how the engine is given more memory, where that is possible.
	Grow string `json:"grow,omitempty"`
	// Warnings are worth knowing; Blockers keep a cluster from working here at all.
	Warnings []Reason `json:"warnings,omitempty"`
	Blockers []Reason `json:"blockers,omitempty"`
}

// MemoryModel says whose memory containers use.
type MemoryModel string

// The two models.
const (
	HostMemory    MemoryModel = "host"
	VirtualMemory MemoryModel = "vm" // a virtual machine's, with a size of its own
)

// PathModel says how directories of this machine reach the engine.
type PathModel string

// The models.
const (
	SamePaths   PathModel = "same"   // the engine sees the same file system
	SharedPaths PathModel = "shared" // some directories are shared with the engine's virtual machine
	NoPaths     PathModel = "none"   // another machine: none do
)

// Device is one GPU, or a slice of one.
type Device struct {
	// ID is the PCI address, or another name that stays the same.
	ID     string `json:"id"`
	Model  string `json:"model,omitempty"`
	Memory int64  `json:"memory,omitempty" jsonschema:"bytes"`
	// Integrated is true for a GPU that is a part of the processor. Another one goes before it.
	Integrated bool `json:"integrated,omitempty"`
}

// GPU is what a gpu hook decides.
type GPU struct {
	// Vendor is the name for people: NVIDIA.
	Vendor  string   `json:"vendor"`
	Devices []Device `json:"devices"`
	// Resource is the name that pods ask for: nvidia.com/gpu.
	Resource string `json:"resource"`
	// Attach are the ways to hand the GPUs to the node, in the order in which they are tried.
	Attach []Attach `json:"attach"`
	Check  Check    `json:"check"`
	Node   Node     `json:"node"`
	CDI    CDI      `json:"cdi"`
	// Workload is what charts may need to know.
	Workload Workload `json:"workload,omitzero"`
	Warnings []Reason `json:"warnings,omitempty"`
}

// Attach is one way to hand GPUs to a container. Fields of other kinds stay empty.
type Attach struct {
	Kind AttachKind `json:"kind"`
	// IDs are CDI device names (cdi), or the driver's device ids (nvidia; empty means all).
	IDs []string `json:"ids,omitempty"`
	// Capabilities are asked of the driver (nvidia): gpu, compute, utility.
	Capabilities []string `json:"capabilities,omitempty"`
	// Nodes are device nodes, Binds directories or files that are mounted read-only at the same path, and Groups the
	// numeric groups that the container's process joins (devices).
	Nodes  []string `json:"nodes,omitempty"`
	Binds  []string `json:"binds,omitempty"`
	Groups []int    `json:"groups,omitempty"`
	// Env are variables of the container.
	Env map[string]string `json:"env,omitempty"`
}

// Compute is how a GPU is proven to compute.
type Compute string

// The built-in proofs.
const (
	ComputeCUDA    Compute = "cuda"    // a kernel through libcuda.so.1
	ComputeKFD     Compute = "kfd"     // /dev/kfd and a render node answer
	ComputeDRM     Compute = "drm"     // a render node answers
	ComputeDevices Compute = "devices" // the nodes of the attachment can be opened for reading and writing
)

// Check is what proves the GPU in a container, on the engine and in the cluster.
type Check struct {
	// Compute is a built-in proof. With Image and Args it runs in that image; alone, in the base image.
	Compute Compute `json:"compute,omitempty"`
	// Image is a role (base, cuda) or a reference out of the permissions.
	Image string `json:"image,omitempty"`
	// Args is a command to run instead of, or after, the built-in proof; Expect is what it must do.
	Args   []string `json:"args,omitempty"`
	Expect *Expect  `json:"expect,omitempty"`
}

// Expect is what a command must do to count as passed.
type Expect struct {
	Exit int `json:"exit"`
	// Output is a regular expression (RE2) that one of the two streams must match.
	Output string `json:"output,omitempty"`
}

// Node says which node image the cluster needs.
type Node struct {
	// Target is a target of the embedded Dockerfile: node, or node-nvidia, which has NVIDIA's toolkit.
	Target string `json:"target,omitempty"`
	// Image is a node image of the hook's own instead.
	Image string `json:"image,omitempty"`
	// K3sArgs are further arguments of k3s.
	K3sArgs []string `json:"k3sArgs,omitempty"`
}

// CDIMode says where the node's CDI spec comes from.
type CDIMode string

// The modes.
const (
	CDINVIDIA CDIMode = "nvidia-ctk" // made in the node at each start
	CDIStatic CDIMode = "static"     // Spec
)

// CDI is how the node describes its GPUs to containers. Pods can ask for as many as the spec lists.
type CDI struct {
	Mode CDIMode `json:"mode"`
	// Kind is the CDI kind: nvidia.com/gpu.
	Kind string `json:"kind"`
	// Spec is the whole CDI spec (static), as https://github.com/cncf-tags/container-device-interface defines it.
	Spec json.RawMessage `json:"spec,omitempty"`
}

// Workload is what pods need beside the resource.
type Workload struct {
	RuntimeClass   string `json:"runtimeClass,omitempty"`
	VisibleDevices string `json:"visibleDevices,omitempty"`
}

// Step is where something failed.
type Step string

// The steps that a failure can come from.
const (
	StepAttach    Step = "attach"    // the engine did not start a container with this attachment
	StepCheck     Step = "check"     // the check in a container on the engine failed
	StepImage     Step = "image"     // the node image
	StepCDI       Step = "cdi"       // the CDI spec in the node
	StepAdvertise Step = "advertise" // the node does not offer the resource
	StepPod       Step = "pod"       // the check in a pod failed
)

// Failure is a step that failed, as it was seen.
type Failure struct {
	Step     Step    `json:"step"`
	Attach   *Attach `json:"attach,omitempty"`
	Exit     int     `json:"exit,omitempty"`
	TimedOut bool    `json:"timedOut,omitempty"`
	// Output is what was printed, both streams, the last 16 KiB; or the engine's message.
	Output string `json:"output"`
}
