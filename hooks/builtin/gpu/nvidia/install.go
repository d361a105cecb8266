package nvidia

import (
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
)

// Where NVIDIA says how its software is installed, for systems without a command of their own.
const (
	driverGuide  = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide"
	toolkitGuide = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
)

// installDriver is how this distribution installs or updates the driver.
func installDriver(v *view.View) string {
	switch {
	case v.Facts.Host.Distro.Value.ID == "pop":
		return "sudo apt install system76-driver-nvidia"
	case v.Is("ubuntu"):
		return "sudo apt-get install -y ubuntu-drivers-common && sudo ubuntu-drivers install"
	case v.Is("debian"):
		return "add contrib, non-free and non-free-firmware to the sources of apt, then sudo apt update && sudo apt install nvidia-driver"
	case v.Facts.Host.Distro.Value.ID == "fedora":
		return "turn on RPM Fusion (https://rpmfusion.org/Configuration), then sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda"
	case v.Is("rhel", "centos", "fedora"):
		return "add NVIDIA's repository and install the driver with dnf: " + driverGuide
	case v.Is("suse", "opensuse", "sles"):
		return "add NVIDIA's repository and install the driver with zypper: " + driverGuide
	case v.Is("arch"):
		return "sudo pacman -S nvidia-open nvidia-utils"
	case v.Is("nixos"):
		return `set services.xserver.videoDrivers = [ "nvidia" ] in configuration.nix, then sudo nixos-rebuild switch`
	}
	return "install the driver: " + driverGuide
}

// installToolkit is how this distribution installs or updates the container toolkit.
func installToolkit(v *view.View) string {
	switch {
	case v.Is("arch"):
		return "sudo pacman -S nvidia-container-toolkit"
	case v.Is("nixos"):
		return "set hardware.nvidia-container-toolkit.enable = true in configuration.nix and sudo nixos-rebuild switch"
	}
	return "install nvidia-container-toolkit from NVIDIA's repository (" + toolkitGuide + ")"
}

// fill are the values that remedies of this hook need.
func fill(v *view.View) why.Fill {
	f := why.Fill{
		"install": installDriver(v), "toolkit": installToolkit(v), "kernel": v.Kernel(),
		"resource": resource, "list": "nvidia-smi", "log": "Xid",
		"quicker": "sudo systemctl enable --now nvidia-persistenced keeps the driver loaded, so that the first use of a GPU takes less time",
	}
	if m, _ := v.Module(driver, versionFile); m.Version != "" {
		f["version"] = m.Version
		f["major"], _, _ = strings.Cut(m.Version, ".")
	} else {
		f["version"] = "470" // the last for the oldest GPUs that containers can use
	}
	return f
}
