package facts

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/hooks/sdk"
)

// Engine is what hooks are told of the engine. Its proxies and mirrors stay out, and so does the name of its machine,
// unless it is one that a product gives to all of its machines.
func (p Private) Engine(i engine.Info, at engine.Endpoint) sdk.Engine {
	e := sdk.Engine{
		Endpoint: p.endpoint(at.Host), Remote: at.Remote(), Context: contextName(at.Context()),
		Product: i.Product, Version: i.ServerVersion, API: i.API, OS: i.OS, Arch: i.Arch, System: p.Clean(i.Distro), Kernel: p.Clean(i.Kernel),
		CgroupVersion: i.CgroupVersion, CgroupDriver: i.CgroupDriver, StorageDriver: i.StorageDriver,
		Rootless: i.Rootless, Snap: i.Snap, Security: p.sorted(i.Security), Runtimes: p.sorted(i.Runtimes), DefaultRuntime: p.Clean(i.DefaultRuntime),
		CDIDevices: Not[[]string]("the engine does not say"), CPUs: i.CPUs, Memory: i.Memory,
	}
	if known(productHosts, i.Name) {
		e.Host = i.Name
	}
	for _, d := range i.CDIDirs { // in the engine's order, which is their priority
		e.CDIDirs = append(e.CDIDirs, p.homeless(d))
	}
	if i.CDIDevicesKnown {
		e.CDIDevices = Of(sortedCopy(i.CDIDevices))
	}
	return e
}

// productHosts are names that products give to the virtual machine in which their engine runs.
var productHosts = []string{"docker-desktop", "colima", "colima-*", "lima-*", "orbstack", "rancher-desktop", "podman-machine-*", "minikube", "localhost", "localhost.localdomain"}

// productContexts are names that products give to their Docker contexts.
var productContexts = []string{"default", "desktop-linux", "desktop-windows", "colima", "colima-*", "lima-*", "orbstack", "rancher-desktop", "rootless", "podman", "podman-*", "minikube"}

func known(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(g string) bool { ok, _ := path.Match(g, name); return ok })
}

// contextName is the name of a context if a product gave it. People call contexts after their machines.
func contextName(name string) string {
	if name == "" || known(productContexts, name) {
		return name
	}
	return "custom"
}

// endpoint writes an endpoint without a user or a machine in it.
func (p Private) endpoint(host string) string {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok || scheme == "unix" || scheme == "npipe" {
		return p.Clean(host)
	}
	u, err := url.Parse(host)
	if err != nil {
		return scheme + "://[host]"
	}
	name := u.Hostname()
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return scheme + "://" + rest[strings.LastIndex(rest, "@")+1:]
	}
	if u.Port() != "" {
		return scheme + "://[host]:" + u.Port()
	}
	return scheme + "://[host]"
}

func (p Private) sorted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = p.Clean(s)
	}
	slices.Sort(out)
	return out
}

func sortedCopy(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}
