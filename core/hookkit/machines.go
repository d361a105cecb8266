package hookkit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// ownMachine is a machine that every hook is tested on.
type ownMachine struct {
	name  string
	facts sdk.Facts
	// foreign is true when nothing on it can be the hook's: it has to decline.
	foreign bool
	// status is what every probe ends in; unknown if it is empty.
	status sdk.Status
}

// Probe answers every probe in the same way.
func (m ownMachine) Probe(_ context.Context, p sdk.Probe) sdk.ProbeResult {
	r := sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: m.status}
	if m.status == "" {
		r.Status, r.Why = sdk.Unknown, "timed out"
	}
	return r
}

func known[T any](v T) sdk.Fact[T] { return sdk.Fact[T]{Status: sdk.Known, Value: v} }
func absent[T any]() sdk.Fact[T]   { return sdk.Fact[T]{Status: sdk.Absent} }
func unknown[T any]() sdk.Fact[T]  { return sdk.Fact[T]{Status: sdk.Unknown, Why: "timed out"} }

// bare is a Linux machine with a current engine and no GPU.
func bare() sdk.Facts {
	return sdk.Facts{
		Host: sdk.Host{OS: "linux", Arch: "amd64", Kernel: known("6.8.0-51-generic"), WSL: absent[sdk.WSL](), Virtual: absent[string](),
			Distro: known(sdk.Distro{ID: "ubuntu", Version: "24.04", Name: "Ubuntu 24.04.1 LTS", Like: "debian"})},
		Engine: sdk.Engine{
			Endpoint: "unix:///var/run/docker.sock", Product: "Docker Engine - Community", Version: "28.3.0", API: "1.51",
			OS: "linux", Arch: "amd64", System: "Ubuntu 24.04.1 LTS", Kernel: "6.8.0-51-generic", CgroupVersion: "2", CgroupDriver: "systemd",
			Runtimes: []string{"runc"}, DefaultRuntime: "runc", CDIDirs: []string{"/etc/cdi", "/var/run/cdi"},
			CDIDevices: known([]string{}), CPUs: 8, Memory: 32 << 30,
		},
		PCI: known([]sdk.PCIDevice{}), Devices: known([]sdk.DeviceNode{}), Modules: known([]sdk.Module{}),
		Libraries: known([]sdk.Library{}), Tools: known([]sdk.Tool{}),
	}
}

// machines are those that a hook with this manifest is tested on. The last one has a card with its driver, if the
// manifest says what that is.
func machines(m sdk.Manifest) []ownMachine {
	foreign := len(m.Match.PCI)+len(m.Match.Devices) > 0 // else the manifest does not say what is the hook's own
	with := func(change func(*sdk.Facts)) sdk.Facts {
		f := bare()
		change(&f)
		return f
	}
	card, nodes := ownCard(m, ""), ownNodes(m)
	driven := func(f *sdk.Facts) {
		f.PCI.Value = append(f.PCI.Value, ownCard(m, "vendor_driver")...)
		f.Devices.Value = append(f.Devices.Value, nodes...)
	}
	out := []ownMachine{
		{name: "no GPU", facts: bare(), foreign: foreign},
		{name: "GPUs of others", facts: with(others(m)), foreign: foreign},
		{name: "nothing is known", facts: nothing(unknown[string](), unknown[sdk.WSL](), unknown[sdk.Distro](), unknown[[]sdk.PCIDevice](),
			unknown[[]sdk.DeviceNode](), unknown[[]sdk.Module](), unknown[[]sdk.Library](), unknown[[]sdk.Tool](), unknown[[]string]())},
		{name: "nothing is there", foreign: foreign, facts: nothing(absent[string](), absent[sdk.WSL](), absent[sdk.Distro](), absent[[]sdk.PCIDevice](),
			absent[[]sdk.DeviceNode](), absent[[]sdk.Module](), absent[[]sdk.Library](), absent[[]sdk.Tool](), absent[[]string]())},
	}
	if len(card) > 0 {
		out = append(out,
			ownMachine{name: "a card without driver", facts: with(func(f *sdk.Facts) { f.PCI.Value = append(f.PCI.Value, card...) })},
			ownMachine{name: "a card, nodes unknown", facts: with(func(f *sdk.Facts) { f.PCI.Value, f.Devices = card, unknown[[]sdk.DeviceNode]() })},
			ownMachine{name: "a card on Windows", facts: with(func(f *sdk.Facts) {
				f.Host.OS, f.Host.Distro, f.PCI.Value, f.Devices = "windows", known(sdk.Distro{ID: "windows", Version: "11", Name: "Windows 11"}), card, absent[[]sdk.DeviceNode]()
				f.Engine.Product, f.Engine.System, f.Engine.Host, f.Engine.Endpoint = "Docker Desktop 4.53.0 (211793)", "Docker Desktop", "docker-desktop", "npipe:////./pipe/docker_engine"
			})})
	}
	if len(nodes) > 0 {
		out = append(out, ownMachine{name: "nodes, PCI unknown", facts: with(func(f *sdk.Facts) { f.PCI, f.Devices.Value = unknown[[]sdk.PCIDevice](), nodes })})
	}
	if len(card)+len(nodes) > 0 {
		out = append(out,
			ownMachine{name: "WSL2", facts: with(func(f *sdk.Facts) {
				driven(f)
				f.Host.WSL, f.Host.Kernel = known(sdk.WSL{Version: 2, Distro: "Ubuntu"}), known("6.6.87.2-microsoft-standard-WSL2")
			})},
			ownMachine{name: "an old engine", facts: with(func(f *sdk.Facts) {
				driven(f)
				f.Engine.Version, f.Engine.API, f.Engine.CDIDirs, f.Engine.CDIDevices, f.Engine.CgroupVersion = "20.10.24", "1.41", nil, unknown[[]string](), "1"
			})},
			ownMachine{name: "a card, nothing found", facts: with(driven), status: sdk.Absent},
			ownMachine{name: "a card, empty answers", facts: with(driven), status: sdk.Known},
			ownMachine{name: "a card with driver", facts: with(driven)})
	}
	return out
}

// nothing is a machine of which every fact has the same status.
func nothing(s sdk.Fact[string], w sdk.Fact[sdk.WSL], d sdk.Fact[sdk.Distro], p sdk.Fact[[]sdk.PCIDevice], n sdk.Fact[[]sdk.DeviceNode],
	m sdk.Fact[[]sdk.Module], l sdk.Fact[[]sdk.Library], t sdk.Fact[[]sdk.Tool], c sdk.Fact[[]string]) sdk.Facts {
	f := bare()
	f.Host = sdk.Host{OS: "linux", Arch: "arm64", Kernel: s, Distro: d, WSL: w, Virtual: s}
	f.PCI, f.Devices, f.Modules, f.Libraries, f.Tools, f.Engine.CDIDevices = p, n, m, l, t, c
	return f
}

// others puts GPUs into the machine that belong to vendors which the manifest does not match.
func others(m sdk.Manifest) func(*sdk.Facts) {
	return func(f *sdk.Facts) {
		for i, v := range []string{"0x10de", "0x1002", "0x8086", "0xffff"} {
			if slices.Contains(m.Match.PCI, v) {
				continue
			}
			f.PCI.Value = append(f.PCI.Value, sdk.PCIDevice{Address: fmt.Sprintf("0000:%02x:00.0", i+1), Vendor: v, Device: "0x2330", Class: "0x030200", Driver: "other"})
		}
		f.Modules.Value = []sdk.Module{{Name: "other", Version: "1.0"}}
	}
}

// ownCard is one card for each PCI vendor that the manifest matches.
func ownCard(m sdk.Manifest, driver string) []sdk.PCIDevice {
	var out []sdk.PCIDevice
	for i, v := range m.Match.PCI {
		out = append(out, sdk.PCIDevice{Address: fmt.Sprintf("0000:%02x:00.0", i+1), Vendor: v, Device: "0x0001", Class: "0x120000", Driver: driver})
	}
	return out
}

// ownNodes is one device node for each glob of the manifest.
func ownNodes(m sdk.Manifest) []sdk.DeviceNode {
	var out []sdk.DeviceNode
	for i, g := range m.Match.Devices {
		out = append(out, sdk.DeviceNode{Path: example(g), Mode: "0666", Major: 500, Minor: i})
	}
	return out
}

// example is a path that a glob matches: a zero for *, ? and classes that have it.
func example(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '*', '?':
			b.WriteByte('0')
		case '[':
			end := strings.IndexByte(glob[i:], ']')
			if end < 2 {
				return b.String()
			}
			b.WriteByte(glob[i+1])
			i += end
		default:
			b.WriteByte(glob[i])
		}
	}
	return b.String()
}

// ownFailure is a failure that a gpu hook is asked about.
type ownFailure struct {
	name    string
	failure sdk.Failure
}

func failures() []ownFailure {
	noise := strings.Repeat("\u00e9\u4e16 \x01 \"}{][ %s %n \\u0000 <>& ", 350)
	return []ownFailure{
		{"an empty failure", sdk.Failure{Step: sdk.StepAttach}},
		{"a failure that timed out", sdk.Failure{Step: sdk.StepPod, TimedOut: true, Exit: 137, Output: "waiting"}},
		{"16 KiB of noise", sdk.Failure{Step: sdk.StepCheck, Exit: 1, Output: noise[:min(len(noise), 16<<10)]}},
	}
}
