package facts

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"sync"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// Machine is what was observed of the machine that rigup runs on. What the engine has (its memory and
// CPUs, which can be those of a virtual machine) is the engine's to say.
type Machine struct {
	OS        string // as Go names it: linux, darwin, windows
	Arch      string // as Go names it: amd64, arm64
	Kernel    Fact[string]
	Distro    Fact[sdk.Distro]
	WSL       Fact[sdk.WSL]
	Virtual   Fact[string]
	PCI       Fact[[]sdk.PCIDevice]
	Devices   Fact[[]sdk.DeviceNode]
	Modules   Fact[[]sdk.Module]
	Libraries Fact[[]sdk.Library]
	Tools     Fact[[]sdk.Tool]
	// Watches is fs.inotify.max_user_watches, which a node needs many of.
	Watches Fact[int64]

	private Private
}

// Place is a directory's file system.
type Place struct {
	Type Fact[string] `json:"type"` // for example ext4, nfs4
	Free Fact[uint64] `json:"free"` // bytes that this user may still write
}

// Observer reads facts below Root, each source within Limit.
type Observer struct {
	Root string // "/" on a real machine, the system's drive on Windows
	// Limit is how long one source may take; 0 means 5 seconds.
	Limit time.Duration
	// Env reads a variable; nil: none is set.
	Env func(string) string
	// Private is what facts must not tell.
	Private Private
	// PlainNodes takes regular files for device nodes: trees of tests have no others, as making one needs root.
	PlainNodes bool
}

// ThisMachine observes the machine that the program runs on.
func ThisMachine(limit time.Duration) Observer {
	return Observer{Root: systemRoot(), Limit: limit, Env: os.Getenv, Private: ThisUser()}
}

// DefaultLimit is how long one source of facts may take before it counts as unknown.
const DefaultLimit = 5 * time.Second

func (o Observer) limit() time.Duration {
	if o.Limit == 0 {
		return DefaultLimit
	}
	return o.Limit
}

func (o Observer) root() rooted.Root { return rooted.Root(o.Root) }

func (o Observer) env(name string) string {
	if o.Env == nil {
		return ""
	}
	return o.Env(name)
}

// sources are where a system keeps its facts.
type sources struct {
	kernel    func(context.Context) (string, error)
	distro    func(context.Context) (sdk.Distro, error)
	wsl       func(context.Context) (sdk.WSL, error)
	virtual   func(context.Context) (string, error)
	pci       func(context.Context) ([]sdk.PCIDevice, error) // every class
	devices   func(context.Context) ([]sdk.DeviceNode, error)
	modules   func(context.Context) ([]sdk.Module, error)
	libraries func(context.Context) ([]sdk.Library, error)
}

// Machine observes the machine: every source at the same time, each with a deadline of its own. The globs are further
// device nodes, which hooks look for.
func (o Observer) Machine(ctx context.Context, globs []string) Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, private: o.Private}
	s := o.sources(globs)
	var all sync.WaitGroup
	all.Go(func() { m.Kernel = Within(ctx, o.limit(), s.kernel) })
	all.Go(func() { m.Distro = Within(ctx, o.limit(), s.distro) })
	all.Go(func() { m.WSL = Within(ctx, o.limit(), s.wsl) })
	all.Go(func() { m.Virtual = Within(ctx, o.limit(), s.virtual) })
	all.Go(func() { m.PCI = o.pci(ctx, s, isGPU) })
	all.Go(func() { m.Devices = Within(ctx, o.limit(), s.devices) })
	all.Go(func() { m.Modules = Within(ctx, o.limit(), s.modules) })
	all.Go(func() { m.Libraries = Within(ctx, o.limit(), s.libraries) })
	all.Go(func() { m.Tools = o.tools(ctx) })
	all.Go(func() { m.Watches = Within(ctx, o.limit(), o.watches) })
	all.Wait()
	return m
}

// Place observes the file system that a directory is on, or will be on once it is made.
func (o Observer) Place(ctx context.Context, dir string) Place {
	return Place{
		Type: Within(ctx, o.limit(), func(context.Context) (string, error) { return o.fsType(existing(dir)) }),
		Free: Within(ctx, o.limit(), func(context.Context) (uint64, error) { return freeBytes(existing(dir)) }),
	}
}

// Facts is what hooks are told of the machine and of the engine. The same machine gives the same document.
func (m Machine) Facts(about engine.Info, at engine.Endpoint) sdk.Facts {
	return m.with(m.private.Engine(about, at))
}

// addresses are those of engines, in the text of a reason.
var addresses = regexp.MustCompile(`\b(?:ssh|tcp|https?)://[^\s"',;]*[^\s"',;.]`)

// WithoutEngine is Facts when the engine could not be asked, and why, in a few words.
func (m Machine) WithoutEngine(why string) sdk.Facts {
	why = addresses.ReplaceAllStringFunc(why, m.private.endpoint)
	return m.with(sdk.Engine{CDIDevices: Not[[]string](m.private.Clean(why))})
}

func (m Machine) with(e sdk.Engine) sdk.Facts {
	f := sdk.Facts{
		Host:   sdk.Host{OS: m.OS, Arch: m.Arch, Kernel: m.Kernel, Distro: m.Distro, WSL: m.WSL, Virtual: m.Virtual},
		Engine: e, PCI: m.PCI, Devices: m.Devices, Modules: m.Modules, Libraries: m.Libraries, Tools: m.Tools,
	}
	m.private.scrub(&f)
	return f
}
