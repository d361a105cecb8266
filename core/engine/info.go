package engine

import (
	"context"
	"sort"
	"strings"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/versions"
)

// Info is what the engine says about itself and its machine.
type Info struct {
	Name string // the machine's host name as the engine knows it
	// Product is what the engine calls itself: "Docker Engine - Community", "Docker Desktop 4.53.0 (211793)", "Podman
	// Engine"; empty for one that a distribution built.
	Product       string
	ServerVersion string
	API           string // the API version in use
	OS            string // linux or windows: what its containers run on
	Arch          string // as Go names it: amd64, arm64
	Distro        string // for people, for example "Debian GNU/Linux 12 (bookworm)" or "Docker Desktop"
	Kernel        string
	CgroupVersion string // "1" or "2"
	CgroupDriver  string
	CPUs          int
	Memory        int64 // bytes
	StorageDriver string
	RootDir       string // where the engine keeps images and volumes, on its own machine
	Rootless      bool
	Snap          bool // installed as a snap, which cannot see all of the file system
	Security      []string
	// Mirrors are the engine's mirrors of docker.io; Insecure the registries it uses without trusting their
	// certificate (names and networks).
	Mirrors, Insecure []string
	// The engine's proxies. They may carry a password: never print or store them.
	HTTPProxy, HTTPSProxy, NoProxy string
	Runtimes                       []string
	DefaultRuntime                 string
	// CDIDirs is where the engine looks for CDI specs; empty when it does not know CDI.
	CDIDirs []string
	// CDIDevices are the devices it found there. Engines before API 1.50 do not say: then CDIDevicesKnown is false.
	CDIDevices      []string
	CDIDevicesKnown bool
	Warnings        []string
}

// Info asks the engine about itself.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "read what it says about itself")
	in, err := e.cli.Info(ctx)
	var v types.Version
	if err == nil {
		v, err = e.cli.ServerVersion(ctx)
	}
	if err = done(err); err != nil {
		return Info{}, err
	}
	out := Info{
		Name: in.Name, Product: product(v), ServerVersion: in.ServerVersion, API: e.API(), OS: in.OSType, Arch: GoArch(in.Architecture),
		Distro: in.OperatingSystem, Kernel: in.KernelVersion, CgroupVersion: in.CgroupVersion, CgroupDriver: in.CgroupDriver,
		CPUs: in.NCPU, Memory: in.MemTotal, StorageDriver: in.Driver, RootDir: in.DockerRootDir,
		Snap:     strings.HasPrefix(in.DockerRootDir, "/var/snap/"),
		Security: in.SecurityOptions, HTTPProxy: in.HTTPProxy, HTTPSProxy: in.HTTPSProxy, NoProxy: in.NoProxy,
		DefaultRuntime: in.DefaultRuntime, CDIDirs: in.CDISpecDirs, Warnings: in.Warnings,
	}
	if out.CgroupVersion == "" {
		out.CgroupVersion = "1" // engines that do not say know no other
	}
	for _, o := range in.SecurityOptions {
		out.Rootless = out.Rootless || strings.Contains(o, "name=rootless")
	}
	if c := in.RegistryConfig; c != nil {
		out.Mirrors = c.Mirrors
		for _, n := range c.InsecureRegistryCIDRs {
			out.Insecure = append(out.Insecure, n.String())
		}
		for name, idx := range c.IndexConfigs {
			if idx != nil && !idx.Secure {
				out.Insecure = append(out.Insecure, name)
			}
		}
		sort.Strings(out.Insecure)
	}
	for name := range in.Runtimes {
		out.Runtimes = append(out.Runtimes, name)
	}
	sort.Strings(out.Runtimes)
	for _, d := range in.DiscoveredDevices {
		if d.Source == "cdi" {
			out.CDIDevices = append(out.CDIDevices, d.ID)
		}
	}
	out.CDIDevicesKnown = versions.GreaterThanOrEqualTo(out.API, "1.50")
	return out, nil
}

// product is the engine's name. Podman has the system's name where others have theirs.
func product(v types.Version) string {
	for _, c := range v.Components {
		if c.Name == "Podman Engine" {
			return c.Name
		}
	}
	return v.Platform.Name
}

// GoArch is Go's name for an architecture that the engine names as uname does.
func GoArch(a string) string {
	switch a {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	}
	return a
}
