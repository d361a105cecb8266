package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"rigup.dev/rigup/hooks/sdk"
)

// systemRoot is the drive that Windows is on: a path without drive would be one of the current drive.
func systemRoot() string {
	if d := os.Getenv("SystemDrive"); d != "" {
		return d + `\`
	}
	return `C:\`
}

// sources of Windows. Its devices are not among its files, and containers run in a virtual machine.
func (o Observer) sources([]string) sources {
	return sources{
		kernel: winKernel, distro: winDistro, virtual: winVirtual, wsl: nothing[sdk.WSL], pci: winPCI,
		devices: nothing[[]sdk.DeviceNode], modules: nothing[[]sdk.Module], libraries: nothing[[]sdk.Library],
	}
}

func winKernel(context.Context) (string, error) {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber), nil
}

func winDistro(context.Context) (sdk.Distro, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SOFTWARE\Microsoft\Windows NT\CurrentVersion`, registry.QUERY_VALUE)
	if err != nil {
		return sdk.Distro{}, err
	}
	defer k.Close()
	e := winEdition{Build: int(windows.RtlGetVersion().BuildNumber)}
	if e.Product, _, err = k.GetStringValue("ProductName"); err != nil {
		return sdk.Distro{}, err
	}
	e.Display, _, _ = k.GetStringValue("DisplayVersion") // old ones have none
	kind, _, _ := k.GetStringValue("InstallationType")
	e.Server = kind != "" && kind != "Client"
	return e.distro(), nil
}

// winVirtual reads what the firmware says. A Windows that has Hyper-V turned on runs under it, and is real all the
// same: its firmware is the machine's.
func winVirtual(context.Context) (string, error) {
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\BIOS`, registry.QUERY_VALUE)
	if err != nil {
		return "", err
	}
	defer k.Close()
	vendor, _, _ := k.GetStringValue("SystemManufacturer")
	product, _, _ := k.GetStringValue("SystemProductName")
	if vendor+product == "" {
		return "", errors.New("the firmware names no product")
	}
	// No flag is at hand; the clouds' real machines are told by their products.
	name := hypervisor(vendor, product, true)
	if name == "" || name == "vm-other" {
		return "", fs.ErrNotExist
	}
	return name, nil
}

// winPCI lists the present devices of the PCI bus. Screens that software makes, such as Microsoft's Basic Render
// Driver, Hyper-V's and those of remote desktops, are not on it.
func winPCI(ctx context.Context) ([]sdk.PCIDevice, error) {
	set, err := windows.SetupDiGetClassDevsEx(nil, "PCI", 0, windows.DIGCF_PRESENT|windows.DIGCF_ALLCLASSES, 0, "")
	if err != nil {
		return nil, fmt.Errorf("list the PCI devices: %w", err)
	}
	defer set.Close()
	var all []sdk.PCIDevice
	for i := 0; ctx.Err() == nil; i++ {
		info, err := set.EnumDeviceInfo(i)
		if errors.Is(err, windows.ERROR_NO_MORE_ITEMS) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the PCI devices: %w", err)
		}
		if d, ok := describeWin(set, info).fact(); ok {
			all = append(all, d)
		}
	}
	return nil, ctx.Err()
}

// describeWin reads a device's properties. One that it does not have stays empty.
func describeWin(set windows.DevInfo, info *windows.DevInfoData) winDevice {
	text := func(p windows.SPDRP) string {
		v, _ := set.DeviceRegistryProperty(info, p)
		s, _ := v.(string)
		return s
	}
	list := func(p windows.SPDRP) []string {
		v, _ := set.DeviceRegistryProperty(info, p)
		s, _ := v.([]string)
		return s
	}
	number := func(p windows.SPDRP) uint32 {
		v, _ := set.DeviceRegistryProperty(info, p)
		n, _ := v.(uint32)
		return n
	}
	w := winDevice{
		IDs:  append(list(windows.SPDRP_HARDWAREID), list(windows.SPDRP_COMPATIBLEIDS)...),
		Name: text(windows.SPDRP_FRIENDLYNAME), Service: text(windows.SPDRP_SERVICE),
		Bus: number(windows.SPDRP_BUSNUMBER), Address: number(windows.SPDRP_ADDRESS),
	}
	if w.Name == "" {
		w.Name = text(windows.SPDRP_DEVICEDESC)
	}
	w.Driver, w.Memory = winDriver(text(windows.SPDRP_DRIVER))
	return w
}

// winDriver reads the version of a driver and the memory of its device from the driver's key.
func winDriver(key string) (version string, memory uint64) {
	if key == "" {
		return "", 0
	}
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Class\`+key, registry.QUERY_VALUE)
	if err != nil {
		return "", 0
	}
	defer k.Close()
	version, _, _ = k.GetStringValue("DriverVersion")
	memory, _, _ = k.GetIntegerValue("HardwareInformation.qwMemorySize")
	return version, memory
}
