package sdk

// ProbeKind is a check that rigup runs because a hook asked for it.
type ProbeKind string

// The catalogue of probes.
const (
	PCIList       ProbeKind = "pci.list"       // the PCI devices of a vendor, of every class
	DeviceStat    ProbeKind = "device.stat"    // one device node
	FileRead      ProbeKind = "file.read"      // the beginning of a small text file
	EngineInfo    ProbeKind = "engine.info"    // what the engine says about itself now
	EngineRun     ProbeKind = "engine.run"     // a container, without network, that is gone afterwards
	ToolVersion   ProbeKind = "tool.version"   // a program of the machine, asked for its version
	RegistryReach ProbeKind = "registry.reach" // whether a registry answers
)

// Limits of the protocol. The host enforces them whatever a manifest says.
const (
	MaxRounds = 3  // rounds of probes for one phase
	MaxProbes = 16 // probes in one round
)

// Probe is one check, with its arguments. Those that belong to another kind stay empty.
type Probe struct {
	// ID is the hook's name for the probe; the result carries it.
	ID   string    `json:"id"`
	Kind ProbeKind `json:"kind"`

	Vendor string `json:"vendor,omitempty" jsonschema:"pci.list: vendor id such as 0x10de; empty means all"`
	Path   string `json:"path,omitempty" jsonschema:"device.stat and file.read: absolute path"`
	Max    int    `json:"max,omitempty" jsonschema:"file.read: bytes to read, at most 65536; 0 means 4096"`
	// Image and Args: engine.run. Image is a role (base, cuda) or a reference. The container has no network and no
	// mounts but those of Attach, and 180 seconds.
	Image  string   `json:"image,omitempty"`
	Args   []string `json:"args,omitempty" jsonschema:"engine.run: the command; tool.version: one of --version, -version, -v, -V, version"`
	Attach *Attach  `json:"attach,omitempty"`
	Tool   string   `json:"tool,omitempty" jsonschema:"tool.version: name of the program, without path"`
	Host   string   `json:"host,omitempty" jsonschema:"registry.reach: host name, with port if it has one"`
}

// ProbeResult is what came of a probe. Status is known when the check ran, whatever it found; absent when the
// thing is not there; unknown, with Why, when that could not be found out.
type ProbeResult struct {
	ID     string    `json:"id"`
	Kind   ProbeKind `json:"kind"`
	Status Status    `json:"status"`
	Why    string    `json:"why,omitempty"`

	PCI    []PCIDevice `json:"pci,omitempty"`
	Node   *DeviceNode `json:"node,omitempty"`
	Text   string      `json:"text,omitempty" jsonschema:"file.read: the text; engine.run and tool.version: what was printed, both streams"`
	Engine *Engine     `json:"engine,omitempty"`
	Exit   int         `json:"exit,omitempty" jsonschema:"engine.run and tool.version: exit code"`
}
