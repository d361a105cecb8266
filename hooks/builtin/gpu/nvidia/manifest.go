// Package nvidia is the hook for NVIDIA GPUs.
package nvidia

import "rigup.dev/rigup/hooks/sdk"

const (
	id       = "nvidia"
	vendorID = "0x10de"
	resource = "nvidia.com/gpu"
	driver   = "nvidia" // the kernel module, whatever its kind
	// versionFile is where the kernel module says its version; it is there while the module is loaded.
	versionFile = "/sys/module/nvidia/version"
)

// Manifest describes the hook.
func Manifest() sdk.Manifest {
	return sdk.Manifest{
		API: sdk.API, ABI: sdk.ABI, ID: id, Version: "1.0.0", Title: "NVIDIA GPUs", Publisher: "rigup", Homepage: "https://rigup.dev",
		Kinds: []sdk.Kind{sdk.GPUHook},
		// Jetsons have no PCI device, but nodes of their own. On WSL2 there is only Windows' device, of any vendor.
		Match: sdk.Match{PCI: []string{vendorID}, Devices: []string{"/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/dxg"}},
		Permissions: sdk.Permissions{
			Probes:    []sdk.ProbeKind{sdk.PCIList, sdk.DeviceStat, sdk.FileRead},
			Files:     []string{versionFile},
			Devices:   []string{"/dev/nvidiactl", "/dev/dxg"},
			Binds:     []string{"/usr/lib/wsl"},
			Images:    []string{"cuda"},
			Attach:    []sdk.AttachKind{sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices},
			Resources: []string{resource},
			Env:       []string{"NVIDIA_DISABLE_REQUIRE"},
			Targets:   []string{"node-nvidia"},
		},
	}
}
