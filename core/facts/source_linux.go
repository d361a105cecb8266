package facts

import (
	"context"

	"rigup.dev/rigup/hooks/sdk"
)

func (o Observer) sources(globs []string) sources {
	return sources{
		kernel: o.osrelease, distro: o.linuxDistro, wsl: o.wsl, virtual: o.linuxVirtual,
		pci: o.linuxPCI, modules: o.modules, libraries: o.libraries,
		devices: func(context.Context) ([]sdk.DeviceNode, error) { return o.nodes(globs) },
	}
}

func systemRoot() string { return "/" }
