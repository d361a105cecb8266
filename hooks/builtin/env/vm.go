package env

import (
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Products that keep an engine in a virtual machine, on Macs above all.

func colima() hook {
	return hook{
		id: "colima", title: "Colima",
		match:  sdk.Match{OS: []string{"darwin", "linux"}, Engines: []string{"colima", "colima-*", "unix:*.colima *", "unix:*.config colima *"}},
		detect: of(colimaName, nil),
		decide: func(r sdk.Request) sdk.Response {
			of := ""
			if p := profile(r.Facts.Engine); p != "" {
				of = " --profile " + p
			}
			return sdk.Surrounding(sdk.Environment{
				ID: "colima", Title: colimaName, GPULess: vmWithout(r.Facts, colimaName), Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: "comes back by itself when Colima starts", Start: "colima start" + of,
				Grow: "colima stop" + of + " && colima start" + of + " --memory 8",
			}, "its virtual machine gets no GPU")
		},
	}
}

func orbStack() hook {
	return hook{
		id: "orbstack", title: orbStackName, match: sdk.Match{OS: []string{"darwin"}, Engines: []string{"orbstack"}},
		detect: of(orbStackName, func(f sdk.Facts) (bool, string) { return f.Host.OS == "darwin", "the machine runs " + f.Host.OS }),
		decide: func(sdk.Request) sdk.Response {
			return sdk.Surrounding(sdk.Environment{
				ID: "orbstack", Title: orbStackName, GPULess: onMac(), Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: "comes back by itself when OrbStack starts", Start: "orb start",
				Grow: "orb config set memory_mib 8192 && orb stop && orb start",
			}, "its virtual machine gets no GPU")
		},
	}
}

func rancherDesktop() hook {
	return hook{
		id: "rancher-desktop", title: rancherName,
		match:  sdk.Match{Engines: []string{"rancher desktop*", "lima-rancher-desktop", "unix:*.rd docker.sock"}},
		detect: of(rancherName, nil),
		decide: func(r sdk.Request) sdk.Response {
			f := r.Facts
			e := sdk.Environment{
				ID: "rancher-desktop", Title: rancherName, Memory: sdk.VirtualMemory, Paths: sdk.SharedPaths,
				Restart: "comes back by itself when Rancher Desktop starts", Start: "rdctl start", Grow: "rdctl set --virtual-machine.memory-in-gb 8",
			}
			if !wslKernel(f.Engine) {
				e.GPULess = vmWithout(f, rancherName)
				return sdk.Surrounding(e, "its virtual machine gets no GPU")
			}
			e.Title, e.Grow = rancherName+" on WSL2", growWSL+", and start Rancher Desktop again"
			if e.GPULess = noDXG(f); e.GPULess != nil {
				return sdk.Surrounding(e, "there is no /dev/dxg, through which Windows hands out GPUs")
			}
			var why []string
			e.Attach, why = ways(withoutTools(f), sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices)
			return sdk.Surrounding(e, why...)
		},
	}
}

// vmWithout is why a virtual machine has no GPU, on a Mac or on Linux.
func vmWithout(f sdk.Facts, name string) *sdk.Reason {
	if f.Host.OS == "darwin" {
		return onMac()
	}
	return inMachine(name)
}

// withoutTools are the facts of an engine that does not see this machine's programs.
func withoutTools(f sdk.Facts) sdk.Facts {
	f.Tools = sdk.Fact[[]sdk.Tool]{Status: sdk.Absent}
	return f
}

// profile is the Colima profile of an engine's machine; "" is the default one.
func profile(e sdk.Engine) string {
	return strings.TrimPrefix(strings.TrimPrefix(e.Host, "colima"), "-")
}
