package machines

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

var update = flag.Bool("update", false, "write the machines as they are to be formatted, and the golden decisions")

func all(t *testing.T) []Named {
	t.Helper()
	ms, err := All()
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

// encode is the one format of the files.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// golden holds content against a file, or writes it with -update.
func golden(t *testing.T, path string, content []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, content) {
		t.Errorf("%s differs; go test ./test/machines -update writes it:\n%s", path, content)
	}
}

func TestMachinesAreWellFormed(t *testing.T) {
	ms := all(t)
	if len(ms) < 45 {
		t.Errorf("%d machines", len(ms))
	}
	titles := map[string]string{}
	for _, m := range ms {
		t.Run(m.Name, func(t *testing.T) {
			golden(t, m.Name+".json", encode(t, m.Machine))
			if other := titles[m.Title]; other != "" {
				t.Errorf("has the title of %s", other)
			}
			titles[m.Title] = m.Name
			if m.Title == "" || m.Notes == "" {
				t.Error("needs a title, and notes on where the values come from")
			}
			statuses(t, m.Facts)
			sorted(t, m.Facts)
			known(t, m.Facts)
			for _, c := range m.Probes {
				if c.Result.Kind != c.Probe.Kind || c.Result.Status == "" {
					t.Errorf("the probe %s has no result of its kind", c.Probe.Kind)
				}
			}
		})
	}
}

// statuses holds that every fact says how well it is known, and why if it is not.
func statuses(t *testing.T, f sdk.Facts) {
	t.Helper()
	for name, s := range map[string][2]string{
		"host.kernel":  {string(f.Host.Kernel.Status), f.Host.Kernel.Why},
		"host.distro":  {string(f.Host.Distro.Status), f.Host.Distro.Why},
		"host.wsl":     {string(f.Host.WSL.Status), f.Host.WSL.Why},
		"host.virtual": {string(f.Host.Virtual.Status), f.Host.Virtual.Why},
		"cdiDevices":   {string(f.Engine.CDIDevices.Status), f.Engine.CDIDevices.Why},
		"pci":          {string(f.PCI.Status), f.PCI.Why},
		"devices":      {string(f.Devices.Status), f.Devices.Why},
		"modules":      {string(f.Modules.Status), f.Modules.Why},
		"libraries":    {string(f.Libraries.Status), f.Libraries.Why},
		"tools":        {string(f.Tools.Status), f.Tools.Why},
	} {
		switch sdk.Status(s[0]) {
		case sdk.Known, sdk.Absent:
			if s[1] != "" {
				t.Errorf("%s is %s and says why it were not", name, s[0])
			}
		case sdk.Unknown:
			if s[1] == "" {
				t.Errorf("%s is unknown and does not say why", name)
			}
		default:
			t.Errorf("%s has the status %q", name, s[0])
		}
	}
}

// sorted holds that lists are in the order in which they are observed.
func sorted(t *testing.T, f sdk.Facts) {
	t.Helper()
	in := func(name string, ok bool) {
		if !ok {
			t.Errorf("%s is not sorted", name)
		}
	}
	in("pci", slices.IsSortedFunc(f.PCI.Value, func(a, b sdk.PCIDevice) int { return cmp.Compare(a.Address, b.Address) }))
	for _, d := range f.PCI.Value {
		in("pci.nodes", slices.IsSorted(d.Nodes))
	}
	in("devices", slices.IsSortedFunc(f.Devices.Value, func(a, b sdk.DeviceNode) int { return cmp.Compare(a.Path, b.Path) }))
	in("modules", slices.IsSortedFunc(f.Modules.Value, func(a, b sdk.Module) int { return cmp.Compare(a.Name, b.Name) }))
	in("libraries", slices.IsSortedFunc(f.Libraries.Value, func(a, b sdk.Library) int { return cmp.Compare(a.Path, b.Path) }))
	in("tools", slices.IsSortedFunc(f.Tools.Value, func(a, b sdk.Tool) int { return cmp.Compare(a.Name, b.Name) }))
	in("runtimes", slices.IsSorted(f.Engine.Runtimes))
	in("security", slices.IsSorted(f.Engine.Security))
	in("cdiDevices", slices.IsSorted(f.Engine.CDIDevices.Value))
	in("drivers", slices.IsSorted(f.Host.WSL.Value.Drivers))
}

var (
	pciID    = regexp.MustCompile(`^0x[0-9a-f]{4}$`)
	pciClass = regexp.MustCompile(`^0x(03|12)[0-9a-f]{4}$`)
	fileMode = regexp.MustCompile(`^0[0-7]{3}$`)
)

// known holds that values have the form in which they are observed, and fit together.
func known(t *testing.T, f sdk.Facts) {
	t.Helper()
	nodes := map[string]bool{}
	for _, n := range f.Devices.Value {
		nodes[n.Path] = true
		if !fileMode.MatchString(n.Mode) || n.Major == 0 {
			t.Errorf("%s: mode %q, number %d:%d", n.Path, n.Mode, n.Major, n.Minor)
		}
	}
	for _, d := range f.PCI.Value {
		if !pciID.MatchString(d.Vendor) || !pciID.MatchString(d.Device) && f.Host.OS != "darwin" || !pciClass.MatchString(d.Class) {
			t.Errorf("%s: %s:%s class %s", d.Address, d.Vendor, d.Device, d.Class)
		}
		for _, n := range d.Nodes {
			// NVIDIA's driver tells the number of a node, whether that was made or not.
			if f.Devices.Known() && !nodes[n] && !strings.HasPrefix(n, "/dev/nvidia") {
				t.Errorf("%s: its node %s is not among the devices", d.Address, n)
			}
		}
	}
	for _, l := range f.Libraries.Value {
		if !strings.HasSuffix(l.Path, "/"+l.Name) {
			t.Errorf("the library %s is at %s", l.Name, l.Path)
		}
	}
	e := f.Engine
	if e.Endpoint == "" || e.Version == "" || e.API == "" || e.System == "" || e.CPUs == 0 || e.Memory == 0 {
		t.Errorf("the engine is not complete: %+v", e)
	}
	if e.Arch != f.Host.Arch {
		t.Errorf("the engine is %s and the machine %s", e.Arch, f.Host.Arch)
	}
}

// TestMachinesAreNobodys looks for what names a person or identifies a machine.
func TestMachinesAreNobodys(t *testing.T) {
	private := regexp.MustCompile(`/home/|/Users/|C:\\\\Users|/root\b|GPU-[0-9a-f]{4}|\b([0-9a-f]{2}:){5}[0-9a-f]{2}\b|` +
		`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|(?i)serial|password|token`)
	address := regexp.MustCompile(`\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b`)
	hosts := []string{"", "docker-desktop", "colima", "orbstack", "lima-rancher-desktop", "localhost.localdomain"}
	for _, m := range all(t) {
		b, err := Files.ReadFile(m.Name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if found := private.Find(b); found != nil {
			t.Errorf("%s has %q", m.Name, found)
		}
		if found := address.FindString(m.Facts.Engine.Endpoint); found != "" && !strings.HasPrefix(found, "127.") {
			t.Errorf("%s has the address %s", m.Name, found)
		}
		if !slices.Contains(hosts, m.Facts.Engine.Host) {
			t.Errorf("%s names the engine's machine %q", m.Name, m.Facts.Engine.Host)
		}
	}
}
