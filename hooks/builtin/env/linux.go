package env

import (
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// ownKernel reports whether the engine runs on the kernel of the machine that rigup runs on. Where the machine's is
// unknown nothing speaks against it.
func ownKernel(f sdk.Facts) (bool, string) {
	k := f.Host.Kernel
	switch {
	case f.Host.OS != "linux":
		return false, "the machine runs " + f.Host.OS
	case f.Engine.OS != "linux":
		return false, "it runs " + f.Engine.OS + " containers"
	case k.Known() && k.Value != f.Engine.Kernel:
		return false, "its kernel " + f.Engine.Kernel + " is not the machine's, " + k.Value
	}
	return true, "it runs on this machine's own kernel"
}

// plain detects engines of no product on the machine's own kernel, where other holds.
func plain(confidence int, other func(sdk.Facts) (bool, string)) func(sdk.Facts) (int, string) {
	return func(f sdk.Facts) (int, string) {
		name, because := product(f.Engine)
		if name != none {
			return 0, because
		}
		own, kernel := ownKernel(f)
		if !own {
			return 0, kernel
		}
		ok, why := other(f)
		if !ok {
			return 0, why
		}
		return confidence, kernel + ", and " + why
	}
}

func native() hook {
	return hook{
		id: "native", title: "Docker Engine on Linux", match: sdk.Match{OS: []string{"linux"}},
		detect: plain(usual, func(f sdk.Facts) (bool, string) {
			switch {
			case f.Engine.Rootless:
				return false, "the engine runs without root"
			case inWSL(f):
				return false, "the machine is a WSL distribution"
			}
			return true, "it runs as root"
		}),
		decide: func(r sdk.Request) sdk.Response {
			f := r.Facts
			e := sdk.Environment{
				ID: "native", Title: "Docker on " + f.Engine.System, Memory: sdk.HostMemory, Paths: sdk.SamePaths,
				Restart: "comes back by itself when the Docker engine starts", Start: "sudo systemctl start docker",
			}
			switch {
			case f.Engine.Snap:
				e.Title, e.Start, e.Paths = "Docker (snap) on "+distro(f), "sudo snap start docker", sdk.SharedPaths
				e.Warnings = append(e.Warnings, snap())
			case f.Host.Distro.Value.ID == "alpine":
				e.Start = "sudo rc-service docker start"
			}
			var why []string
			e.Attach, why = ways(f, sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices)
			return sdk.Surrounding(e, why...)
		},
	}
}

func snap() sdk.Reason {
	return sdk.Reason{
		ID: "snap", Text: "Docker is installed as a snap, which sees nothing but home directories, and nothing hidden in them.",
		Remedy: []string{
			"keep the data where it can be seen: rigup install --data-dir ~/rigup-data",
			"or replace the snap with Docker's own packages: https://docs.docker.com/engine/install/",
		},
	}
}

func wslNative() hook {
	return hook{
		id: "wsl-native", title: "Docker Engine in a WSL distribution", match: sdk.Match{OS: []string{"linux", "windows"}},
		detect: func(f sdk.Facts) (int, string) {
			name, because := product(f.Engine)
			switch {
			case name != none:
				return 0, because
			case f.Engine.OS != "linux" || !wslKernel(f.Engine):
				return 0, "its kernel " + f.Engine.Kernel + " is not that of WSL2"
			case f.Engine.Rootless && f.Host.OS == "linux":
				return 0, "the engine runs without root"
			case f.Host.OS == "linux" && !inWSL(f):
				return 0, "the machine is no WSL distribution"
			}
			return special, "its kernel " + f.Engine.Kernel + " is that of WSL2, and it is not Docker Desktop"
		},
		decide: func(r sdk.Request) sdk.Response {
			f := r.Facts
			systemd := f.Engine.CgroupDriver == "systemd"
			e := sdk.Environment{
				ID: "wsl-native", Title: "Docker on WSL2, " + f.Engine.System, Memory: sdk.VirtualMemory, Paths: sdk.SamePaths, Grow: growWSL,
				Restart: "comes back by itself when the Docker engine starts, which is when this WSL distribution is opened",
				Start:   "sudo systemctl start docker",
			}
			if !systemd {
				e.Start = "sudo service docker start"
				e.Restart = "comes back by itself when the Docker engine starts: " + e.Start
			}
			if f.Host.OS != "linux" || f.Host.WSL.Value.Version == 1 {
				e.Paths, e.Blockers = sdk.NoPaths, []sdk.Reason{outside()}
				f = withoutTools(f)
			}
			var why []string
			if e.GPULess = noDXG(f); e.GPULess != nil && len(e.Blockers) == 0 {
				return sdk.Surrounding(e, "there is no /dev/dxg, through which Windows hands out GPUs")
			}
			e.GPULess = nil
			e.Attach, why = ways(f, sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices)
			return sdk.Surrounding(e, why...)
		},
	}
}

// outside blocks an engine of a WSL2 distribution that is used from Windows, or from WSL1: paths mean nothing to it.
func outside() sdk.Reason {
	return sdk.Reason{
		ID: "outside-of-wsl", Text: "The engine runs inside of a WSL2 distribution and cannot see the files from here.",
		Remedy: []string{"open that distribution (wsl in Windows) and run rigup there"},
	}
}

func remote() hook {
	return hook{
		id: "remote", title: "Docker on another machine", match: sdk.Match{Engines: []string{"ssh:*", "tcp:*", "http:*", "https:*"}},
		detect: func(f sdk.Facts) (int, string) {
			if !f.Engine.Remote {
				return 0, "the engine is on this machine"
			}
			return sure, "the engine listens at " + f.Engine.Endpoint + ", which is another machine"
		},
		decide: func(r sdk.Request) sdk.Response {
			there := "run rigup on the machine of the engine"
			here := "to use the engine of this machine: unset DOCKER_HOST and DOCKER_CONTEXT, or pass --engine"
			return sdk.Surrounding(sdk.Environment{
				ID: "remote", Title: "Docker on another machine (" + strings.TrimSpace(r.Facts.Engine.System) + ")", Memory: sdk.HostMemory, Paths: sdk.NoPaths,
				GPULess: noGPU("gpu-here-engine-there", "The engine is on another machine and cannot use the GPU of this one.", there, here),
				Blockers: []sdk.Reason{{
					ID: "engine-elsewhere", Text: "The engine is on another machine, and rigup sets up the machine it runs on.", Remedy: []string{there, here},
				}},
			}, "what is known of this machine says nothing about the engine's")
		},
	}
}
