package facts

import (
	"context"
	"path"
	"regexp"
	"slices"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// gpuModules are the kernel modules of GPUs that are looked for, whatever the devices are bound to: a module can be
// loaded without having found its device.
var gpuModules = []string{
	"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm", "nvidia_fs", "nvidia_peermem", "nouveau", "nova_core", "nvgpu",
	"amdgpu", "amdkfd", "radeon", "i915", "xe", "intel_vpu", "amdxdna", "habanalabs", "dxgkrnl",
}

// modules are the loaded kernel modules of GPUs: those of the list, and the drivers of the devices.
func (o Observer) modules(context.Context) ([]sdk.Module, error) {
	if err := o.has("/sys/module"); err != nil {
		return nil, err
	}
	names := slices.Clone(gpuModules)
	devices, err := o.pciBus()
	if err != nil && !rooted.Missing(err) {
		return nil, err
	}
	for _, d := range devices {
		if isGPU(d) && d.Driver != "" {
			// The kernel writes the names of modules with underscores.
			names = append(names, strings.ReplaceAll(d.Driver, "-", "_"))
		}
	}
	slices.Sort(names)
	var all []sdk.Module
	for _, n := range slices.Compact(names) {
		dir := path.Join("/sys/module", n)
		ok, err := o.root().Exists(dir)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		m := sdk.Module{Name: n}
		if m.Version, err = o.line(path.Join(dir, "version")); err != nil {
			return nil, err
		}
		if m.Version == "" && n == "nvidia" {
			if m.Version, err = o.nvidiaModule(); err != nil {
				return nil, err
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// nvrm finds the version in what NVIDIA's module says of itself: "Kernel Module  550.54.15", "Open Kernel Module for
// x86_64  550.54.15".
var nvrm = regexp.MustCompile(`Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)*)`)

func (o Observer) nvidiaModule() (string, error) {
	s, err := o.line("/proc/driver/nvidia/version")
	if m := nvrm.FindStringSubmatch(s); m != nil {
		return m[1], err
	}
	return "", err
}
