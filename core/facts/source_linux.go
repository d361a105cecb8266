package facts

func (o Observer) sources() sources {
	return sources{
		kernel: o.osrelease, distro: o.linuxDistro, wsl: o.wsl, virtual: o.linuxVirtual,
		pci: o.linuxPCI, devices: o.nodes, modules: o.modules, libraries: o.libraries,
	}
}

func systemRoot() string { return "/" }
