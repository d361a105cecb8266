package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/redact"
	"rigup.dev/rigup/hooks/sdk"
)

// Labels of a probe's container: that it is one, and until when it can be somebody's, as seconds since 1970. One that
// is there later is left of a run that was killed.
const (
	labelProbe = "dev.rigup.probe"
	labelUntil = "dev.rigup.probe.until"
)

const (
	// runMemory is enough for CUDA to start, which maps several hundred megabytes.
	runMemory    = 2 << 30
	runProcesses = 256
	// slack is how long after its deadline a container may still be in the course of being removed.
	slack = 2 * time.Minute
	// removal is how long removing a container may take when the run was interrupted.
	removal = 90 * time.Second
)

// engineRun runs a container that can do nothing but compute and print: without network, privileges or a file system
// that it could write to (but a small /tmp in memory), and with no more of the machine than the attachment hands over.
func (p Prober) engineRun(ctx context.Context, q sdk.Probe) sdk.ProbeResult {
	if p.Engine == nil {
		return unknown("there is no engine")
	}
	ref := p.reference(q.Image)
	if ref == "" {
		return unknown("this rigup has no image for " + q.Image)
	}
	if r := p.image(ctx, ref); r != nil {
		return *r
	}
	p.sweep(ctx)
	spec := p.spec(ref, q.Args)
	if q.Attach != nil {
		err := p.follow(*q.Attach)
		if err == nil {
			err = Attach(&spec, *q.Attach)
		}
		if err != nil {
			return refused(err)
		}
	}
	return p.run(ctx, spec)
}

// reference is the image that is meant.
func (p Prober) reference(image string) string {
	if p.Image != nil {
		if ref := p.Image(image); ref != "" {
			return ref
		}
	}
	if !strings.ContainsAny(image, ":@/") {
		return "" // a role
	}
	return image
}

// image makes sure that the engine has an image; nil: it has.
func (p Prober) image(ctx context.Context, ref string) *sdk.ProbeResult {
	_, err := p.Engine.Image(ctx, ref)
	if err == nil {
		return nil
	}
	r := unknown(engineWhy(err))
	switch {
	case engine.KindOf(err) != engine.NotFound:
		return &r
	case p.Pull == nil:
		r = unknown("the image is not on the engine, and nothing may be pulled now")
		return &r
	}
	if err = p.Pull(ctx, ref); err == nil {
		return nil
	}
	why := reason.Of(err).ID // tells apart a network, a refusal, a full disk
	if why == reason.ImageNotFound || engine.KindOf(err) == engine.NotFound {
		r = sdk.ProbeResult{Status: sdk.Absent, Why: "there is no such image", Text: p.engineText(err)}
		return &r
	}
	r = sdk.ProbeResult{Status: sdk.Unknown, Why: "the image could not be pulled: " + string(why), Text: p.engineText(err)}
	return &r
}

func (p Prober) spec(ref string, args []string) engine.ContainerSpec {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // never fails
	return engine.ContainerSpec{
		Name: "rigup-probe-" + hex.EncodeToString(id), Image: ref, Network: "none", Hostname: "probe",
		Labels: map[string]string{labelProbe: "1", labelUntil: strconv.FormatInt(p.now().Add(runLimit+slack).Unix(), 10)},
		// The image's entrypoint would change what is run.
		Entrypoint: args[:min(1, len(args))], Cmd: args[min(1, len(args)):],
		Tmpfs:  map[string]string{"/tmp": "rw,nosuid,nodev,size=67108864,mode=1777"},
		Limits: engine.Limits{ReadOnly: true, NoPrivileges: true, Memory: runMemory, Processes: runProcesses, Log: 1 << 20},
	}
}

func (p Prober) now() time.Time {
	if p.Now == nil {
		return time.Now()
	}
	return p.Now()
}

// run runs a container and removes it, however it ends.
func (p Prober) run(ctx context.Context, spec engine.ContainerSpec) sdk.ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	// Also where creating it was cut off: the engine may have made it all the same. Names are unique.
	defer p.remove(ctx, spec.Name)
	id, err := p.Engine.CreateContainer(ctx, spec)
	if err == nil {
		err = p.Engine.Start(ctx, id)
	}
	if err != nil {
		r := unknown(engineWhy(err))
		if engine.KindOf(err) == engine.Refused || engine.KindOf(err) == engine.NotFound || engine.KindOf(err) == engine.Conflict {
			r.Why = "the engine did not start it"
		}
		r.Text = p.engineText(err)
		return r
	}
	exit, err := p.Engine.Wait(ctx, id)
	r := sdk.ProbeResult{Status: sdk.Known, Exit: exit, Text: p.log(ctx, id)}
	if err != nil {
		r.Status, r.Exit, r.Why = sdk.Unknown, 0, engineWhy(err)
	}
	return r
}

// log is the end of what a container printed, also of one that is still at it.
func (p Prober) log(ctx context.Context, id string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), facts.DefaultLimit)
	defer cancel()
	text, err := p.Engine.LogTail(ctx, id, maxOutput)
	if err != nil {
		return ""
	}
	return clip(redact.String(strings.ToValidUTF8(text, "\uFFFD")))
}

func (p Prober) remove(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removal)
	defer cancel()
	_ = p.Engine.RemoveContainer(ctx, name) // what stays is found by its label
}

// sweep removes what killed runs left. Others may be probing at this moment: theirs are not past their time.
func (p Prober) sweep(ctx context.Context) {
	left, err := p.Engine.Containers(ctx, map[string]string{labelProbe: "1"})
	if err != nil {
		return // it costs nothing to try again with the next probe
	}
	for _, c := range left {
		until, err := strconv.ParseInt(c.Labels[labelUntil], 10, 64)
		if err != nil || p.now().Unix() > until {
			_ = p.Engine.RemoveContainer(ctx, c.ID)
		}
	}
}

// Attach adds what an attachment hands over to a container that is to be created.
func Attach(spec *engine.ContainerSpec, a sdk.Attach) error {
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		spec.Env = append(spec.Env, name+"="+a.Env[name])
	}
	switch a.Kind {
	case sdk.AttachCDI:
		spec.Requests = append(spec.Requests, engine.DeviceRequest{Driver: "cdi", IDs: a.IDs})
	case sdk.AttachNVIDIA:
		r := engine.DeviceRequest{Driver: "nvidia", IDs: a.IDs, Capabilities: [][]string{{"gpu"}}}
		if len(a.Capabilities) > 0 {
			r.Capabilities = [][]string{a.Capabilities}
		}
		if len(a.IDs) == 0 {
			r.Count = -1 // all
		}
		spec.Requests = append(spec.Requests, r)
	case sdk.AttachDevices:
		for _, n := range a.Nodes {
			spec.Devices = append(spec.Devices, engine.Device{Path: n, Permissions: "rw"})
		}
		for _, b := range a.Binds {
			spec.Mounts = append(spec.Mounts, engine.Mount{Bind: b, Target: b, ReadOnly: true})
		}
		for _, g := range a.Groups {
			spec.Groups = append(spec.Groups, strconv.Itoa(g))
		}
	default:
		return fmt.Errorf("there is no attachment %.40q", a.Kind)
	}
	return nil
}
