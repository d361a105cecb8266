package env

import "rigup.dev/rigup/hooks/sdk"

// Podman answers Docker's API. On Linux its engine is on the machine itself, on macOS and Windows in a machine that
// podman machine keeps.
func podman() hook {
	return hook{
		id: "podman", title: podmanName, match: sdk.Match{Engines: []string{"*podman*"}}, permissions: mayRead(),
		detect: of(podmanName, nil),
		probes: func(f sdk.Facts) []sdk.Probe {
			if !f.Engine.Rootless || f.Host.OS != "linux" {
				return nil // the files of a virtual machine are not to be read from here
			}
			return askControllers(f)
		},
		decide: decidePodman,
	}
}

func decidePodman(r sdk.Request) sdk.Response {
	f := r.Facts
	machine := f.Host.OS != "linux"
	e := sdk.Environment{
		ID: "podman", Title: "Podman on " + distro(f), Memory: sdk.HostMemory, Paths: sdk.SamePaths,
		Restart: "comes back by itself if Podman's restart service is on (sudo systemctl enable podman-restart), and else with: rigup install",
		Start:   "sudo systemctl start podman.socket",
		Warnings: []sdk.Reason{{
			ID: "podman-api", Text: "rigup is made for Docker; Podman answers Docker's API, with small differences.",
			Remedy: []string{"if something does not work, use Docker: https://docs.docker.com/engine/install/"},
		}},
	}
	instead := rootEngine
	if f.Engine.Rootless {
		instead = "use Podman as root: sudo systemctl enable --now podman.socket, then: rigup install --engine unix:///run/podman/podman.sock"
		e.Start, e.Restart = "systemctl --user start podman.socket", "comes back with: rigup install"
	}
	if machine {
		e.Title, e.Memory, e.Paths = "Podman machine", sdk.VirtualMemory, sdk.SharedPaths
		e.Start, e.Restart = "podman machine start", "comes back with: podman machine start, then rigup install"
		e.Grow = "podman machine stop && podman machine set --memory 8192 && podman machine start"
		instead = "podman machine stop && podman machine set --rootful && podman machine start, then: rigup install"
	}
	if machine && wslKernel(f.Engine) {
		e.Title, e.Grow = "Podman machine on WSL2", growWSL+", and podman machine start"
	}
	if f.Engine.Rootless {
		warnings, blockers := withoutRoot(r, podmanName, "", instead)
		e.Warnings, e.Blockers = append(e.Warnings, warnings...), blockers
	}
	switch {
	case f.Host.OS == "darwin":
		e.GPULess = onMac()
		return sdk.Surrounding(e, "its virtual machine gets no GPU that computes")
	case machine && !wslKernel(f.Engine):
		e.GPULess = noGPU("no-gpu-in-vm", "Podman's virtual machine has no GPU.", "use Docker Desktop on WSL2: https://docs.docker.com/desktop/setup/install/windows-install/")
		return sdk.Surrounding(e, "its virtual machine gets no GPU")
	}
	if e.GPULess = noDXG(f); e.GPULess != nil {
		return sdk.Surrounding(e, "there is no /dev/dxg, through which Windows hands out GPUs")
	}
	// Podman uses CDI since 4.1 and does not tell Docker's API about it. It has no driver called nvidia.
	e.Attach = []sdk.AttachKind{sdk.AttachCDI, sdk.AttachDevices}
	return sdk.Surrounding(e, "Podman uses CDI specs, without saying so", "device nodes reach its containers")
}
