package facts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// winDevice is a PCI device as Windows' Plug and Play describes it.
type winDevice struct {
	// IDs are its hardware and compatible ids: PCI\VEN_10DE&DEV_28A1&SUBSYS_...&REV_A1, PCI\VEN_10DE&DEV_28A1&CC_030000, ...
	IDs []string
	// Name is its friendly name, or else its description.
	Name string
	// Service is the kernel driver: nvlddmkm, amdwddmg, igfxn, BasicDisplay.
	Service string
	// Driver is the version of the installed driver: 32.0.15.6094.
	Driver string
	Memory uint64 // bytes, as the driver wrote into the registry
	// Bus and Address say where it is: the domain times 256 plus the bus, the device times 65536 plus the function.
	Bus, Address uint32
}

var (
	pciVendorID = regexp.MustCompile(`(?i)VEN_([0-9a-f]{4})`)
	pciDeviceID = regexp.MustCompile(`(?i)DEV_([0-9a-f]{4})`)
	pciClassID  = regexp.MustCompile(`(?i)CC_([0-9a-f]{6}|[0-9a-f]{4})(?:&|$)`)
)

// fact writes the device as the facts do. ok is false when it has no vendor.
func (w winDevice) fact() (d sdk.PCIDevice, ok bool) {
	// The device's id and its instance's can hold a serial number; bus, device and function do not.
	d.Address = fmt.Sprintf("%04x:%02x:%02x.%x", w.Bus>>8, w.Bus&0xff, w.Address>>16, w.Address&0xffff)
	for _, id := range w.IDs {
		for field, re := range map[*string]*regexp.Regexp{&d.Vendor: pciVendorID, &d.Device: pciDeviceID, &d.Class: pciClassID} {
			if m := re.FindStringSubmatch(id); m != nil && len(m[1]) > len(strings.TrimPrefix(*field, "0x")) {
				*field = "0x" + strings.ToLower(m[1])
			}
		}
	}
	if len(d.Class) == len("0x0300") {
		d.Class += "00"
	}
	d.Driver, d.DriverVersion = w.Service, w.Driver
	if isGPU(d) {
		d.Model, d.Memory = w.Name, int64(w.Memory)
	}
	if d.Vendor == nvidiaVendor && strings.EqualFold(w.Service, "nvlddmkm") {
		d.DriverVersion = nvidiaVersion(w.Driver)
	}
	return d, d.Vendor != "" && d.Class != ""
}

// nvidiaVersion turns the version that Windows shows into the one that NVIDIA gives the driver: the last five digits
// of 32.0.15.6094 are 56094, which is 560.94. Another form is returned as it is.
func nvidiaVersion(windows string) string {
	parts := strings.Split(windows, ".")
	if len(parts) != 4 || !digits(parts[2]) || !digits(parts[3]) {
		return windows
	}
	last := parts[2] + fmt.Sprintf("%04s", parts[3])
	if len(last) < 5 {
		return windows
	}
	last = last[len(last)-5:]
	return strings.TrimLeft(last[:3], "0") + "." + last[3:]
}

// firstOf11 is the lowest build of Windows 11, which calls itself Windows 10 in the registry.
const firstOf11 = 22000

// winEdition is what the registry says of a Windows, in Microsoft\Windows NT\CurrentVersion.
type winEdition struct {
	Product string // ProductName: Windows 10 Pro
	Display string // DisplayVersion: 24H2
	Build   int
	Server  bool
}

// distro names the edition: "Windows 11 Pro 24H2", version 11.
func (w winEdition) distro() sdk.Distro {
	d := sdk.Distro{ID: "windows", Name: w.Product}
	if w.Build >= firstOf11 && !w.Server {
		d.Name = strings.Replace(d.Name, "Windows 10", "Windows 11", 1)
	}
	for _, word := range strings.Fields(d.Name) {
		if _, err := strconv.Atoi(word); err == nil {
			d.Version = word // 10, 11, 2022
			break
		}
	}
	if w.Display != "" {
		d.Name += " " + w.Display
	}
	if d.Name == "" {
		d.Name = "Windows"
	}
	return d
}
