// Package probe runs the checks that hooks ask for: a fixed catalogue, each with limits that nobody can lift.
//
// Whether a hook may ask is the grant's to say, before a probe gets here. A probe has no error: what it found is
// known, what is not there is absent, and what could not be found out is unknown, with why (invariant G6).
package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/facts/program"
	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/hooks/sdk"
)

// The limits of the catalogue.
const (
	readLimit    = 5 * time.Second // file.read
	toolLimit    = 5 * time.Second // tool.version
	runLimit     = 180 * time.Second
	reachLimit   = 10 * time.Second
	defaultBytes = 4 << 10  // file.read, when the probe does not say
	maxBytes     = 64 << 10 // file.read
	maxOutput    = 16 << 10 // what is kept of a program's or container's output
)

// Engine is what probes need of the engine.
type Engine interface {
	Info(ctx context.Context) (engine.Info, error)
	Image(ctx context.Context, ref string) (engine.Image, error)
	Containers(ctx context.Context, labels map[string]string) ([]engine.Container, error)
	CreateContainer(ctx context.Context, s engine.ContainerSpec) (string, error)
	Start(ctx context.Context, id string) error
	Wait(ctx context.Context, id string) (int, error)
	LogTail(ctx context.Context, id string, limit int) (string, error)
	RemoveContainer(ctx context.Context, id string) error
}

// Prober runs probes. Its method may be called at the same time.
type Prober struct {
	Machine  facts.Observer
	Engine   Engine // nil: there is none
	Endpoint engine.Endpoint
	// Image is the reference of a role (base, cuda); "" for what is no role, or has no image.
	Image func(role string) string
	// Pull brings an image that the engine does not have; nil: containers run only of images that are there.
	Pull func(ctx context.Context, ref string) error
	// Registries is how registries are asked; nil: as the environment's proxy settings say.
	Registries http.RoundTripper
	Now        func() time.Time // nil: the clock
}

// Probe runs one probe.
func (p Prober) Probe(ctx context.Context, q sdk.Probe) sdk.ProbeResult {
	var r sdk.ProbeResult
	switch q.Kind {
	case sdk.PCIList:
		r = p.pciList(ctx, q.Vendor)
	case sdk.DeviceStat:
		r = p.deviceStat(ctx, q.Path)
	case sdk.FileRead:
		r = p.fileRead(ctx, q.Path, q.Max)
	case sdk.EngineInfo:
		r = p.engineInfo(ctx)
	case sdk.EngineRun:
		r = p.engineRun(ctx, q)
	case sdk.ToolVersion:
		r = p.toolVersion(ctx, q.Tool, q.Args)
	case sdk.RegistryReach:
		r = p.registryReach(ctx, q.Host)
	default:
		r = unknown(fmt.Sprintf("there is no probe %q", q.Kind))
	}
	r.ID, r.Kind = q.ID, q.Kind
	return r
}

func unknown(why string) sdk.ProbeResult { return sdk.ProbeResult{Status: sdk.Unknown, Why: why} }

// refused is a probe that the limits do not allow, whatever was granted.
func refused(err error) sdk.ProbeResult { return unknown("not allowed: " + err.Error()) }

// of is the result of a fact, without its value.
func of[T any](f facts.Fact[T]) sdk.ProbeResult {
	return sdk.ProbeResult{Status: f.Status, Why: f.Why}
}

var vendorID = regexp.MustCompile(`^(0x[0-9a-f]{4})?$`)

func (p Prober) pciList(ctx context.Context, vendor string) sdk.ProbeResult {
	if !vendorID.MatchString(vendor) {
		return refused(fmt.Errorf("%.20q is not a vendor id such as 0x10de", vendor))
	}
	f := p.Machine.PCIDevices(ctx, vendor)
	r := of(f)
	r.PCI = f.Value
	return r
}

func (p Prober) deviceStat(ctx context.Context, path string) sdk.ProbeResult {
	if err := grant.Attachable(path); err != nil {
		return refused(err)
	}
	f := p.Machine.Node(ctx, path)
	r := of(f)
	if f.Known() {
		r.Node = &f.Value
	}
	return r
}

// fileRead reads the beginning of a file. The limits hold for the path that was asked for and for where its links
// lead to.
func (p Prober) fileRead(ctx context.Context, path string, limit int) sdk.ProbeResult {
	if err := grant.Readable(path); err != nil {
		return refused(err)
	}
	if limit <= 0 {
		limit = defaultBytes
	}
	root := rooted.Root(p.Machine.Root)
	f := facts.Within(ctx, readLimit, func(context.Context) (string, error) {
		real, err := root.Resolve(path)
		if err != nil {
			return "", err
		}
		if err := grant.Readable(real); err != nil {
			return "", errors.New("it leads to where hooks may not read")
		}
		b, err := root.ReadFile(real, int64(min(limit, maxBytes)))
		return string(b), err
	})
	r := of(f)
	r.Text = p.Machine.Private.Clean(strings.ToValidUTF8(f.Value, "\uFFFD"))
	return r
}

func (p Prober) engineInfo(ctx context.Context) sdk.ProbeResult {
	if p.Engine == nil {
		return unknown("there is no engine")
	}
	info, err := p.Engine.Info(ctx)
	if err != nil {
		return unknown(engineWhy(err))
	}
	e := p.Machine.Private.Engine(info, p.Endpoint)
	return sdk.ProbeResult{Status: sdk.Known, Engine: &e}
}

func (p Prober) toolVersion(ctx context.Context, name string, args []string) sdk.ProbeResult {
	if err := grant.Tool(name); err != nil {
		return refused(err)
	}
	if err := grant.VersionArgs(args); err != nil {
		return refused(err)
	}
	f := facts.Within(ctx, toolLimit, func(context.Context) (string, error) { return p.Machine.Programs().Find(name) })
	if !f.Known() {
		return of(f)
	}
	run := program.Run(ctx, program.Call{
		Root: rooted.Root(p.Machine.Root), Path: f.Value, Args: args, Env: p.Machine.ToolEnv(), Limit: toolLimit, Max: maxOutput,
	})
	r := sdk.ProbeResult{Status: sdk.Known, Exit: run.Exit, Text: p.Machine.Private.Clean(strings.ToValidUTF8(run.Output, "\uFFFD"))}
	if run.Err != nil {
		r.Status, r.Why = sdk.Unknown, facts.Why(run.Err)
	}
	return r
}

// engineWhy says in a few words why the engine did not answer as asked.
func engineWhy(err error) string {
	switch engine.KindOf(err) {
	case engine.Timeout:
		return facts.Late
	case engine.Denied:
		return facts.Denied
	case engine.Unreachable:
		return "the engine does not answer"
	case engine.Canceled:
		return "interrupted"
	case engine.NotFound:
		return "the engine does not have it"
	}
	return "the engine refused it"
}

// engineText is the engine's own message.
func (p Prober) engineText(err error) string {
	var e *engine.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return clip(p.Machine.Private.Clean(err.Error()))
}

// clip keeps the end of a text, in whole characters.
func clip(s string) string {
	if len(s) > maxOutput {
		s = s[len(s)-maxOutput:]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
