// Package env holds rigup's own environment hooks: what runs the engine, and what follows from that.
//
// Each hook knows one product. At most one of them claims an engine, because they all ask the same function which
// product it is of; a hook of another publisher takes over with a higher confidence.
package env

import (
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// How sure a claim is. The gaps leave room for hooks of others.
const (
	sure    = 90 // the engine names the product, or the endpoint leads to another machine
	special = 70 // a usual engine in unusual surroundings
	usual   = 20 // an engine like any other
)

// hook is one environment.
type hook struct {
	id, title   string
	match       sdk.Match
	permissions sdk.Permissions
	// detect is how sure the hook is that the engine is of its kind, and why. Zero declines.
	detect func(f sdk.Facts) (confidence int, why string)
	// probes is what decide needs to know beside the facts; nil: nothing.
	probes func(f sdk.Facts) []sdk.Probe
	decide func(r sdk.Request) sdk.Response
}

// hooks are all environments, by id.
func hooks() []hook {
	return []hook{
		colima(), desktopHyperV(), desktopLinux(), desktopMac(), desktopWSL2(), native(), orbStack(), podman(), rancherDesktop(), remote(),
		rootless(), wslNative(),
	}
}

// Hooks are the environment hooks by id.
func Hooks() map[string]sdk.Hook {
	all := map[string]sdk.Hook{}
	for _, h := range hooks() {
		all[h.id] = h.answer
	}
	return all
}

// Manifests describes the environment hooks, by id.
func Manifests() []sdk.Manifest {
	var all []sdk.Manifest
	for _, h := range hooks() {
		all = append(all, sdk.Manifest{
			API: sdk.API, ABI: sdk.ABI, ID: h.id, Version: "1.0.0", Title: h.title, Publisher: "rigup", Homepage: "https://rigup.dev",
			Kinds: []sdk.Kind{sdk.EnvironmentHook}, Match: h.match, Permissions: h.permissions,
		})
	}
	return all
}

// answer is the hook as the protocol sees it.
func (h hook) answer(r sdk.Request) sdk.Response {
	if r.Kind != sdk.EnvironmentHook || r.Phase == sdk.Diagnose {
		return sdk.No("this hook knows environments only")
	}
	confidence, why := h.detect(r.Facts)
	switch {
	case confidence == 0:
		return sdk.No(why)
	case r.Phase == sdk.Detect:
		return sdk.Claiming(sdk.Claim{Confidence: confidence}, why)
	case r.Round == 0 && h.probes != nil:
		if p := h.probes(r.Facts); len(p) > 0 {
			return sdk.Probing(p...)
		}
	}
	d := h.decide(r)
	if d.Environment.Attach == nil {
		d.Environment.Attach = []sdk.AttachKind{} // a list that is empty, not one that is missing
	}
	return d
}

// The products that engines are of.
const (
	dockerDesktop = "Docker Desktop"
	colimaName    = "Colima"
	orbStackName  = "OrbStack"
	rancherName   = "Rancher Desktop"
	podmanName    = "Podman"
	elsewhere     = "an engine on another machine"
	none          = "" // a Docker engine as Docker or a distribution packages it
)

// product says what the engine is a part of, and what tells it. Each product names itself in one of these places;
// which one has changed over the years.
func product(e sdk.Engine) (name, because string) {
	switch {
	case e.Remote:
		return elsewhere, "the engine listens at " + e.Endpoint + ", which is another machine"
	case strings.HasPrefix(e.Product, dockerDesktop):
		return dockerDesktop, "the engine says it is " + e.Product
	case e.System == dockerDesktop || e.Host == "docker-desktop":
		return dockerDesktop, "the engine's system is Docker Desktop"
	case strings.Contains(e.Product, podmanName):
		return podmanName, "the engine says it is " + e.Product
	case e.System == orbStackName || e.Host == "orbstack" || strings.Contains(e.Kernel, "-orbstack-"):
		return orbStackName, "the engine's system is OrbStack"
	case strings.HasPrefix(e.System, rancherName):
		return rancherName, "the engine's system is " + e.System
	case e.Host == "lima-rancher-desktop":
		return rancherName, "the engine's machine is called " + e.Host
	case e.Host == "colima" || strings.HasPrefix(e.Host, "colima-"):
		return colimaName, "the engine's machine is called " + e.Host
	case strings.Contains(e.Endpoint, "/.rd/"):
		return rancherName, "the engine listens at " + e.Endpoint
	case strings.Contains(e.Endpoint, "/.colima/") || strings.Contains(e.Endpoint, "/.config/colima/"):
		return colimaName, "the engine listens at " + e.Endpoint
	case e.Version == "":
		return elsewhere, "the engine did not answer"
	}
	return none, "the engine is of no product that has its own machine"
}

// of detects the engines of one product, where other holds as well.
func of(name string, other func(sdk.Facts) (bool, string)) func(sdk.Facts) (int, string) {
	return func(f sdk.Facts) (int, string) {
		have, because := product(f.Engine)
		if have != name {
			return 0, because
		}
		if other != nil {
			ok, why := other(f)
			if !ok {
				return 0, why
			}
			because += ", and " + why
		}
		return sure, because
	}
}

// inWSL reports whether rigup runs inside of a WSL distribution.
func inWSL(f sdk.Facts) bool { return f.Host.WSL.Known() }

// wslKernel reports whether the engine's machine is one of WSL2.
func wslKernel(e sdk.Engine) bool {
	return strings.Contains(strings.ToLower(e.Kernel), "microsoft")
}

// distro names the machine's system for people.
func distro(f sdk.Facts) string {
	if f.Host.Distro.Known() && f.Host.Distro.Value.Name != "" {
		return f.Host.Distro.Value.Name
	}
	return f.Engine.System
}
