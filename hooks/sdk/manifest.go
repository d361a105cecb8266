package sdk

// Manifest describes a hook. It stands as JSON in the custom section rigup.hook of the module, so that it can be
// read without running anything.
type Manifest struct {
	API string `json:"api" jsonschema:"rigup.hook/v1"`
	ABI string `json:"abi" jsonschema:"wasip1-json/1"`
	// ID is the hook's name in commands: lower-case letters, digits and dashes, up to 40.
	ID string `json:"id"`
	// Version is a semantic version: 1.2.3.
	Version   string `json:"version"`
	Title     string `json:"title" jsonschema:"one line for people: Moore Threads GPUs"`
	Publisher string `json:"publisher" jsonschema:"who made it"`
	Homepage  string `json:"homepage,omitempty" jsonschema:"an https address"`
	Kinds     []Kind `json:"kinds"`
	Match     Match  `json:"match,omitzero"`
	// Permissions is everything that the hook may ask for and decide. A person grants them; what a response asks for
	// beyond them makes rigup refuse the whole response.
	Permissions Permissions `json:"permissions,omitzero"`
}

// Match says where a hook can apply at all, so that it is not run where it cannot. Each list that is not empty has
// to match with one of its entries, except that PCI and Devices count as one list. Globs know *, ? and [a-z]; * does
// not match a slash.
type Match struct {
	OS []string `json:"os,omitempty" jsonschema:"of the host: linux, darwin, windows"`
	// PCI are vendor ids, Devices globs of device paths. Facts that are unknown match.
	PCI     []string `json:"pci,omitempty" jsonschema:"vendor ids: 0x10de"`
	Devices []string `json:"devices,omitempty" jsonschema:"globs of device paths: /dev/mtgpu*"`
	// Engines are globs, without regard to case, of the engine's product, system, host or endpoint, in which slashes
	// count as blanks: "tcp:*".
	Engines []string `json:"engines,omitempty" jsonschema:"docker desktop*, orbstack"`
}

// Permissions is what a hook may do. What is not listed is forbidden. The host has maxima of its own, which no
// manifest can lift: see the table in hooks/README.md.
type Permissions struct {
	// Probes are the kinds of probes it may ask for.
	Probes []ProbeKind `json:"probes,omitempty"`
	// Files are globs of what file.read may read; Devices globs of device nodes that device.stat, attachments and CDI
	// specs may name; Binds the directories and files that attachments and CDI specs may mount read-only.
	Files   []string `json:"files,omitempty"`
	Devices []string `json:"devices,omitempty"`
	Binds   []string `json:"binds,omitempty"`
	Tools   []string `json:"tools,omitempty" jsonschema:"programs that tool.version may ask"`
	// Images are roles (base, cuda) and image references with tag or digest; a reference that ends in /* stands for
	// every image below.
	Images     []string `json:"images,omitempty"`
	Registries []string `json:"registries,omitempty" jsonschema:"hosts that registry.reach may ask"`
	// Attach are the ways to hand over devices; Resources the names that pods ask for; Env the names of variables.
	Attach    []AttachKind `json:"attach,omitempty"`
	Resources []string     `json:"resources,omitempty" jsonschema:"resource names, which are CDI kinds too: nvidia.com/gpu"`
	Env       []string     `json:"env,omitempty"`
	Targets   []string     `json:"targets,omitempty" jsonschema:"targets of the node's Dockerfile: node, node-nvidia; image: an image of the hook's own, out of images"`
	K3sArgs   []string     `json:"k3sArgs,omitempty" jsonschema:"further arguments of k3s, as written"`
	Runtime   []string     `json:"runtimeClasses,omitempty" jsonschema:"RuntimeClasses that charts may be told"`
}
