package facts

import (
	"bufio"
	"bytes"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// PCIDevices are the PCI devices of a vendor (0x10de), of every class; "" means all vendors.
func (o Observer) PCIDevices(ctx context.Context, vendor string) Fact[[]sdk.PCIDevice] {
	return o.pci(ctx, o.sources(nil), func(d sdk.PCIDevice) bool { return vendor == "" || d.Vendor == vendor })
}

// pci are the devices that are wanted, by address.
func (o Observer) pci(ctx context.Context, s sources, wanted func(sdk.PCIDevice) bool) Fact[[]sdk.PCIDevice] {
	return Within(ctx, o.limit(), func(ctx context.Context) ([]sdk.PCIDevice, error) {
		all, err := s.pci(ctx)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(d sdk.PCIDevice) bool { return !wanted(d) })
		slices.SortFunc(all, func(a, b sdk.PCIDevice) int { return strings.Compare(a.Address, b.Address) })
		return all, nil
	})
}

// isGPU reports whether a device is a display controller or a processing accelerator.
func isGPU(d sdk.PCIDevice) bool {
	return strings.HasPrefix(d.Class, "0x03") || strings.HasPrefix(d.Class, "0x12")
}

// linuxPCI reads the devices from /sys, and names the GPUs.
func (o Observer) linuxPCI(context.Context) ([]sdk.PCIDevice, error) {
	all, err := o.pciBus()
	if err != nil {
		return nil, err
	}
	return all, o.models(all)
}

func (o Observer) pciBus() ([]sdk.PCIDevice, error) {
	const bus = "/sys/bus/pci/devices"
	names, err := o.root().ReadDir(bus)
	if rooted.Missing(err) {
		if hidden := o.has("/sys/bus"); hidden != nil {
			return nil, hidden
		}
		return nil, err // a machine without PCI
	}
	var all []sdk.PCIDevice
	for _, n := range names {
		d, err := o.pciDevice(path.Join(bus, n))
		if err != nil {
			return nil, err
		}
		if d.Class == "" || d.Vendor == "" {
			continue // unplugged meanwhile
		}
		all = append(all, d)
	}
	return all, err
}

// pciDevice reads one device. Its serial number and its unique id stay unread.
func (o Observer) pciDevice(dir string) (sdk.PCIDevice, error) {
	d := sdk.PCIDevice{Address: path.Base(dir)}
	var err error
	read := func(name string) (s string) {
		if err == nil {
			s, err = o.line(path.Join(dir, name))
		}
		return s
	}
	link := func(name string) (s string) {
		if err == nil {
			s, err = o.linked(path.Join(dir, name))
		}
		return s
	}
	d.Class, d.Vendor, d.Device = read("class"), read("vendor"), read("device")
	d.BootVGA = read("boot_vga") == "1"
	d.Driver = link("driver")
	if err != nil || !isGPU(d) {
		return d, err
	}
	d.Model = read("product_name")                                      // amdgpu
	d.Memory, _ = strconv.ParseInt(read("mem_info_vram_total"), 10, 64) // amdgpu; elsewhere there is no such file
	if err == nil {
		d.Nodes, err = o.pciNodes(dir)
	}
	if err == nil && d.Vendor == nvidiaVendor {
		err = o.nvidiaDevice(&d)
	}
	slices.Sort(d.Nodes)
	return d, err
}

const nvidiaVendor = "0x10de"

// linked is the name of what a link leads to. What is not there is empty.
func (o Observer) linked(p string) (string, error) {
	to, err := o.root().Resolve(p)
	if rooted.Missing(err) {
		return "", nil
	}
	return path.Base(to), err
}

// pciNodes are the device nodes that a driver made for a device.
func (o Observer) pciNodes(dir string) ([]string, error) {
	var nodes []string
	for _, class := range []struct{ dir, node, prefixes string }{
		{"drm", "/dev/dri", "card renderD"}, {"accel", "/dev/accel", "accel"},
	} {
		names, err := o.root().ReadDir(path.Join(dir, class.dir))
		if err != nil && !rooted.Missing(err) {
			return nil, err
		}
		for _, n := range names {
			for _, prefix := range strings.Fields(class.prefixes) {
				if number, ok := strings.CutPrefix(n, prefix); ok && digits(number) {
					nodes = append(nodes, path.Join(class.node, n))
				}
			}
		}
	}
	return nodes, nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// nvidiaDevice adds what NVIDIA's driver says of a device. Of its file only the model and the number are read: the
// others identify the machine.
func (o Observer) nvidiaDevice(d *sdk.PCIDevice) error {
	b, err := o.root().ReadFile(path.Join("/proc/driver/nvidia/gpus", d.Address, "information"), small)
	if err != nil {
		if rooted.Missing(err) {
			return nil // another driver, or none
		}
		return err
	}
	minor := ""
	for l := range strings.Lines(string(b)) {
		switch name, value, _ := strings.Cut(l, ":"); name {
		case "Model":
			d.Model = strings.TrimSpace(value)
		case "Device Minor":
			minor = strings.TrimSpace(value)
		}
	}
	if !digits(minor) {
		return nil // drivers of before 2017 do not say
	}
	d.Nodes = append(d.Nodes, "/dev/nvidia"+minor)
	parts, err := o.root().Glob("/proc/driver/nvidia/capabilities/gpu" + minor + "/mig/gi*")
	d.Partitions = len(parts)
	return err
}

// models names the GPUs that no driver named, if the system has the list of PCI ids.
func (o Observer) models(all []sdk.PCIDevice) error {
	missing := map[[2]string]string{}
	for _, d := range all {
		if isGPU(d) && d.Model == "" {
			missing[[2]string{strings.TrimPrefix(d.Vendor, "0x"), strings.TrimPrefix(d.Device, "0x")}] = ""
		}
	}
	if len(missing) == 0 {
		return nil
	}
	for _, p := range []string{"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/usr/share/pci.ids"} {
		b, err := o.root().ReadFile(p, 16<<20)
		if rooted.Missing(err) {
			continue
		}
		if err != nil {
			return err
		}
		pciNames(b, missing)
		break
	}
	for i, d := range all {
		if isGPU(d) && d.Model == "" {
			all[i].Model = missing[[2]string{strings.TrimPrefix(d.Vendor, "0x"), strings.TrimPrefix(d.Device, "0x")}]
		}
	}
	return nil
}

// pciNames fills in the names of devices, by vendor and device without 0x, from a list as the PCI ID project writes it:
// vendors at the beginning of a line, their devices behind one tab.
func pciNames(list []byte, names map[[2]string]string) {
	vendor := ""
	for s := bufio.NewScanner(bytes.NewReader(list)); s.Scan(); {
		l := s.Text()
		switch {
		case l == "" || l[0] == '#' || strings.HasPrefix(l, "\t\t"):
		case l[0] != '\t':
			if vendor, _, _ = strings.Cut(l, "  "); vendor == "C 00" {
				return // the classes follow
			}
		default:
			device, name, _ := strings.Cut(l[1:], "  ")
			if _, asked := names[[2]string{vendor, device}]; asked {
				names[[2]string{vendor, device}] = strings.TrimSpace(name)
			}
		}
	}
}
