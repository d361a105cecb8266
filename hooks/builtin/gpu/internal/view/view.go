// Package view is how the gpu hooks look at a request: facts that are known, absent or unknown, and what can still be
// asked for.
package view

import (
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// View is a request, seen by the hook of one vendor.
type View struct {
	sdk.Request
	Hook  why.Hook
	Where why.Where
	asks  []sdk.Probe
}

// New looks at a request.
func New(h why.Hook, req sdk.Request) *View {
	return &View{Request: req, Hook: h, Where: where(req)}
}

// Reason gives a reason of the hook for these surroundings.
func (v *View) Reason(id why.ID, fill why.Fill, evidence ...string) *sdk.Reason {
	r := why.Give(v.Hook, id, v.Where, fill, evidence...)
	return &r
}

// where finds out whose engine and whose driver it is. An environment that a hook of somebody else decided about is
// recognised by the facts.
func where(req sdk.Request) why.Where {
	engine := engineOf(req)
	switch {
	case engine == why.Elsewhere && !behindWSL(req):
		return engine
	case req.Facts.Host.OS == "windows" || req.Facts.Host.WSL.Known():
		return engine | why.Windows
	case req.Facts.Host.OS == "linux":
		return engine | why.Linux
	}
	return engine
}

// behindWSL reports whether the engine's machine is WSL2 itself or another distribution of it: they all have the same
// kernel and the same GPU.
func behindWSL(req sdk.Request) bool {
	return !req.Facts.Engine.Remote && strings.Contains(strings.ToLower(req.Facts.Engine.Kernel), "microsoft")
}

func environment(req sdk.Request) string {
	if req.Environment == nil {
		return ""
	}
	return req.Environment.ID
}

func engineOf(req sdk.Request) why.Where {
	e := req.Facts.Engine
	switch environment(req) {
	case "docker-desktop-wsl2":
		return why.Desktop
	case "docker-desktop-mac", "docker-desktop-linux", "docker-desktop-hyperv", "colima", "orbstack", "rancher-desktop", "remote":
		return why.Elsewhere
	case "podman":
		if req.Facts.Host.OS == "linux" {
			return why.Podman
		}
		return why.Elsewhere
	}
	product := strings.ToLower(e.Product + " " + e.System)
	switch {
	case e.Remote || req.Facts.Host.OS == "darwin":
		return why.Elsewhere
	case strings.Contains(product, "docker desktop"):
		if req.Facts.Host.OS == "windows" || req.Facts.Host.WSL.Known() {
			return why.Desktop
		}
		return why.Elsewhere
	case req.Facts.Host.OS != "linux":
		return why.Elsewhere
	case strings.Contains(product, "podman"):
		return why.Podman
	case e.Snap:
		return why.Snap
	case e.Rootless:
		return why.Rootless
	}
	return why.Native
}

// Attach are the ways in which the engine can hand over GPUs, best first.
func (v *View) Attach() []sdk.AttachKind {
	if v.Environment == nil {
		return []sdk.AttachKind{sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices}
	}
	return v.Environment.Attach
}

// Is reports whether the system is one of these distributions, or made from one of them.
func (v *View) Is(ids ...string) bool {
	d := v.Facts.Host.Distro.Value
	if slices.Contains(ids, d.ID) {
		return true
	}
	return slices.ContainsFunc(strings.Fields(d.Like), func(like string) bool { return slices.Contains(ids, like) })
}

// Kernel is the release of this system's kernel; empty if it is not known.
func (v *View) Kernel() string {
	if v.Facts.Host.Kernel.Known() {
		return v.Facts.Host.Kernel.Value
	}
	return ""
}

// Ask gives the result of a probe. One that was not run is noted down to be asked for, and unknown until then. The
// hooks are asked with all results again, so they look in the same order each time.
func (v *View) Ask(p sdk.Probe) sdk.ProbeResult {
	p.ID = string(p.Kind)
	for _, s := range []string{p.Vendor, p.Path, p.Tool} {
		if s != "" {
			p.ID += " " + s
		}
	}
	for _, r := range v.Probes {
		if r.ID == p.ID {
			return r
		}
	}
	if v.Round < sdk.MaxRounds && len(v.asks) < sdk.MaxProbes && !slices.ContainsFunc(v.asks, func(a sdk.Probe) bool { return a.ID == p.ID }) {
		v.asks = append(v.asks, p)
	}
	return sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: sdk.Unknown, Why: "not looked at"}
}

// Answer is the response, unless something has to be asked for first.
func (v *View) Answer(r sdk.Response) sdk.Response {
	if len(v.asks) > 0 {
		return sdk.Probing(v.asks...)
	}
	return r
}
