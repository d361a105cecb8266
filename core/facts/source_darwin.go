package facts

import (
	"context"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"rigup.dev/rigup/core/facts/program"
	"rigup.dev/rigup/hooks/sdk"
)

func systemRoot() string { return "/" }

// sources of macOS. Containers run in a virtual machine there, which none of its drivers and devices reach.
func (o Observer) sources([]string) sources {
	return sources{
		kernel: darwinKernel, virtual: darwinVirtual, wsl: nothing[sdk.WSL],
		devices: nothing[[]sdk.DeviceNode], modules: nothing[[]sdk.Module], libraries: nothing[[]sdk.Library],
		distro: func(ctx context.Context) (sdk.Distro, error) {
			out, err := o.run(ctx, "/usr/bin/sw_vers")
			if err != nil {
				return sdk.Distro{}, err
			}
			return macDistro(out)
		},
		pci: func(ctx context.Context) ([]sdk.PCIDevice, error) {
			out, err := o.run(ctx, "/usr/sbin/system_profiler", "-json", "SPDisplaysDataType")
			if err != nil {
				return nil, err
			}
			return macGPUs(out)
		},
	}
}

func (o Observer) run(ctx context.Context, path string, args ...string) ([]byte, error) {
	r := program.Run(ctx, program.Call{Root: o.root(), Path: path, Args: args, Env: o.ToolEnv(), Limit: o.limit(), Max: 1 << 20})
	if r.Err == nil && r.Exit != 0 {
		r.Err = fmt.Errorf("%s ended with exit code %d", path, r.Exit)
	}
	return []byte(r.Output), r.Err
}

func darwinKernel(context.Context) (string, error) {
	var u unix.Utsname
	err := unix.Uname(&u)
	return unix.ByteSliceToString(u.Release[:]), err
}

func darwinVirtual(context.Context) (string, error) {
	virtual, err := unix.SysctlUint32("kern.hv_vmm_present")
	if err != nil {
		return "", err
	}
	if virtual == 0 {
		return "", fs.ErrNotExist
	}
	model, err := unix.Sysctl("hw.model")
	return macHypervisor(model), err
}
