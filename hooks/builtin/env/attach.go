package env

import (
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// ways are the attachments that this engine can honour, in the given order, and why it can. Device nodes are always
// possible: that /dev reaches the containers is up to the caller.
func ways(f sdk.Facts, order ...sdk.AttachKind) (kinds []sdk.AttachKind, why []string) {
	for _, k := range order {
		because := ""
		switch k {
		case sdk.AttachCDI:
			because = cdi(f.Engine)
		case sdk.AttachNVIDIA:
			because = nvidia(f)
		case sdk.AttachDevices:
			because = "device nodes reach its containers"
		}
		if because != "" {
			kinds, why = append(kinds, k), append(why, because)
		}
	}
	return kinds, why
}

func cdi(e sdk.Engine) string {
	if len(e.CDIDirs) == 0 {
		return ""
	}
	return "the engine looks for CDI specs in " + strings.Join(e.CDIDirs, " and ")
}

// nvidia says why the engine's nvidia driver may be there. What the driver needs is a program of NVIDIA's toolkit
// when the engine starts, not the runtime of the same name; the runtime is what the engine tells about.
func nvidia(f sdk.Facts) string {
	if slices.ContainsFunc(f.Engine.Runtimes, func(r string) bool { return r == "nvidia" || strings.HasPrefix(r, "nvidia-") }) {
		return "the engine lists the nvidia runtime"
	}
	if f.Engine.Snap {
		return "" // a snap has a toolkit of its own or none, and does not see the system's
	}
	if f.Tools.Status == sdk.Unknown {
		return "whether NVIDIA's container toolkit is installed is unknown"
	}
	for _, t := range f.Tools.Value {
		if strings.HasPrefix(t.Name, "nvidia-container") || t.Name == "nvidia-ctk" {
			return "NVIDIA's container toolkit is installed: " + t.Path
		}
	}
	return ""
}

// noGPU is an environment in which no container can have a GPU.
func noGPU(id, text string, remedy ...string) *sdk.Reason {
	return &sdk.Reason{ID: id, Text: text, Remedy: remedy}
}

// onMac is why no container on a Mac has a GPU, whatever runs the engine.
func onMac() *sdk.Reason {
	return noGPU("no-gpu-on-mac", "Containers on a Mac run in a virtual machine that cannot compute on the Mac's GPU.",
		"jobs run on the CPU here; to train on a GPU, run rigup on a Linux or Windows machine that has one")
}

// inMachine is why no container has a GPU when a product keeps a virtual machine on a Linux system.
func inMachine(name string) *sdk.Reason {
	return noGPU("no-gpu-in-vm", name+" runs containers in a virtual machine that has no GPU.",
		"install Docker Engine beside it (https://docs.docker.com/engine/install/), then: docker context use default && rigup install")
}

// noDXG is why no container in WSL has a GPU when Windows gives WSL none; nil where it does or that is unknown.
func noDXG(f sdk.Facts) *sdk.Reason {
	if !inWSL(f) || f.Devices.Status == sdk.Unknown {
		return nil
	}
	if slices.ContainsFunc(f.Devices.Value, func(n sdk.DeviceNode) bool { return n.Path == "/dev/dxg" }) {
		return nil
	}
	return noGPU("no-gpu-in-wsl", "Windows gives no GPU to WSL.",
		"install the GPU's current driver in Windows (not in WSL), then in Windows: wsl --shutdown, and run rigup install again",
		"wsl --update in Windows, if the driver is current")
}
