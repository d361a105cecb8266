package env

import "rigup.dev/rigup/hooks/sdk"

// Docker Desktop keeps its engine in a virtual machine: one of its own (LinuxKit) on macOS, Linux and Hyper-V, that
// of WSL2 otherwise. The kernel tells which.

func desktopMatch(os ...string) sdk.Match {
	return sdk.Match{OS: os, Engines: []string{"docker desktop*", "docker-desktop"}}
}

func desktopWSL2() hook {
	return hook{
		id: "docker-desktop-wsl2", title: "Docker Desktop on WSL2", match: desktopMatch("linux", "windows"),
		detect: of(dockerDesktop, func(f sdk.Facts) (bool, string) {
			if !wslKernel(f.Engine) {
				return false, "its kernel " + f.Engine.Kernel + " is not that of WSL2"
			}
			return true, "its kernel " + f.Engine.Kernel + " is that of WSL2"
		}),
		decide: func(r sdk.Request) sdk.Response {
			f := r.Facts
			e := sdk.Environment{
				ID: "docker-desktop-wsl2", Title: "Docker Desktop on WSL2", Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: backDesktop, Start: startDesktop, Grow: growWSL + ", and start Docker Desktop again",
			}
			if f.Host.WSL.Value.Version == 1 {
				e.Blockers = append(e.Blockers, wsl1(f.Host.WSL.Value.Distro))
			}
			// A distribution of WSL1 has no devices at all, which says nothing about Docker Desktop's own.
			if e.GPULess = noDXG(f); e.GPULess != nil && f.Host.WSL.Value.Version != 1 {
				return sdk.Surrounding(e, "there is no /dev/dxg, through which Windows hands out GPUs")
			}
			e.GPULess = nil
			// Older versions do not list the nvidia runtime, and have the driver all the same. CDI comes last: what the
			// engine finds are Docker Desktop's own specs, never those of a distribution.
			e.Attach = []sdk.AttachKind{sdk.AttachNVIDIA, sdk.AttachDevices}
			why := []string{"Docker Desktop on WSL2 has NVIDIA's driver and /dev/dxg"}
			if because := cdi(f.Engine); because != "" {
				e.Attach, why = append(e.Attach, sdk.AttachCDI), append(why, because)
			}
			return sdk.Surrounding(e, why...)
		},
	}
}

// wsl1 blocks a distribution of WSL1: it has no Linux kernel, and only Windows sees its files.
func wsl1(distro string) sdk.Reason {
	name := distro
	if name == "" {
		name = "DISTRIBUTION"
	}
	return sdk.Reason{
		ID: "wsl1", Text: "This distribution runs on WSL1, and the engine cannot see its files.",
		Remedy: []string{
			"in Windows: wsl --set-version " + name + " 2, then turn it on in Docker Desktop > Settings > Resources > WSL integration",
			"or run rigup in Windows itself",
		},
	}
}

func desktopHyperV() hook {
	return hook{
		id: "docker-desktop-hyperv", title: "Docker Desktop on Windows without WSL2", match: desktopMatch("linux", "windows"),
		detect: of(dockerDesktop, func(f sdk.Facts) (bool, string) {
			switch {
			case f.Engine.OS == "windows":
				return true, "it runs Windows containers"
			case wslKernel(f.Engine):
				return false, "its kernel " + f.Engine.Kernel + " is that of WSL2"
			case f.Host.OS == "windows" || inWSL(f):
				return true, "its kernel " + f.Engine.Kernel + " is not that of WSL2, on Windows"
			}
			return false, "the machine does not run Windows"
		}),
		decide: func(r sdk.Request) sdk.Response {
			e := sdk.Environment{
				ID: "docker-desktop-hyperv", Title: "Docker Desktop on Hyper-V", Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: backDesktop, Start: startDesktop, Grow: growDesktop,
				GPULess: noGPU("no-gpu-on-hyperv", "Docker Desktop gives GPUs to containers on WSL2 only, and it runs on Hyper-V here.",
					"Docker Desktop > Settings > General > Use the WSL 2 based engine, then: rigup install"),
			}
			if r.Facts.Engine.OS == "windows" {
				e.Title, e.Memory, e.Grow = "Docker Desktop with Windows containers", sdk.HostMemory, ""
				e.GPULess = noGPU("no-gpu-in-windows-containers", "Docker Desktop is set to Windows containers, which have no GPU.",
					"in Docker Desktop's menu choose Switch to Linux containers, then: rigup install")
				e.Blockers = []sdk.Reason{windowsContainers()}
			}
			return sdk.Surrounding(e, "only the WSL2 engine of Docker Desktop has GPUs")
		},
	}
}

func desktopMac() hook {
	return hook{
		id: "docker-desktop-mac", title: "Docker Desktop on a Mac", match: desktopMatch("darwin"),
		detect: of(dockerDesktop, func(f sdk.Facts) (bool, string) { return f.Host.OS == "darwin", "the machine runs " + f.Host.OS }),
		decide: func(sdk.Request) sdk.Response {
			return sdk.Surrounding(sdk.Environment{
				ID: "docker-desktop-mac", Title: "Docker Desktop on a Mac", GPULess: onMac(), Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: backDesktop, Start: startDesktop, Grow: growDesktop,
			}, "its virtual machine gets no GPU")
		},
	}
}

func desktopLinux() hook {
	return hook{
		id: "docker-desktop-linux", title: "Docker Desktop on Linux", match: desktopMatch("linux"),
		detect: of(dockerDesktop, func(f sdk.Facts) (bool, string) {
			switch {
			case f.Host.OS != "linux":
				return false, "the machine runs " + f.Host.OS
			case inWSL(f) || wslKernel(f.Engine) || f.Engine.OS == "windows":
				return false, "it runs in Windows"
			}
			return true, "the machine runs Linux"
		}),
		decide: func(sdk.Request) sdk.Response {
			return sdk.Surrounding(sdk.Environment{
				ID: "docker-desktop-linux", Title: "Docker Desktop on Linux", GPULess: inMachine(dockerDesktop),
				Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: backDesktop, Start: "systemctl --user start docker-desktop", Grow: growDesktop,
			}, "its virtual machine gets no GPU")
		},
	}
}
