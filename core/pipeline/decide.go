package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// decide asks the hooks what the machine is to become. No hook can fail it, except by the owner's own approval: an
// environment in which no cluster works is named before anything is made.
func decide(ctx context.Context, r *run) (step, error) {
	if err := r.askHooks(ctx, r.cfg.GPU != "off"); err != nil {
		return step{}, err
	}
	for _, s := range r.decided.Said {
		r.emit(event.Event{Type: event.TypeHook, Hook: said(s)})
	}
	for _, why := range r.hookNotes {
		r.warn(why)
	}
	env := r.decided.Environment
	for _, w := range env.Warnings {
		r.warn(foreign(env.Hook, w))
	}
	if len(env.Blockers) > 0 {
		for _, b := range env.Blockers[1:] {
			why := blocked(b)
			r.emit(event.Event{Type: event.TypeWarning, State: event.Failed, Reason: &why})
		}
		return step{}, reason.Fail(blocked(env.Blockers[0]), nil)
	}
	why := r.cpuReason()
	r.capability = gpu.None(why)
	for _, u := range r.decided.Unusable {
		if w := foreign(u.Hook, u.Reason); len(r.decided.GPUs) > 0 && w.Text != why.Text {
			r.warn(w)
		}
	}
	for _, f := range r.decided.Failed {
		if w := r.hookFailed(f); w.Text != why.Text {
			r.warn(w)
		}
	}
	return found(done(r.decisionText(why)))
}

// askHooks lets the hooks decide about what was observed; about GPUs only with gpu set.
func (r *run) askHooks(ctx context.Context, gpu bool) (err error) {
	d := decision.Decider{Hooks: r.hooks, Run: r.deps.Runner, Probe: r.deps.Prober(r.engine, r.command == "install"), Tell: r.step}
	r.decided, err = d.Decide(ctx, r.facts, gpu)
	return err
}

// said is what the audience hears of a question to a hook.
func said(s decision.Said) *event.Hook {
	h := &event.Hook{
		Name: s.Hook, Kind: string(s.Kind), Phase: string(s.Phase), Because: s.Because, Answer: string(s.Answer), Why: s.Why,
		Failure: s.Failure, Log: s.Log, Remembered: s.Remembered,
	}
	for _, p := range s.Probes {
		h.Probes = append(h.Probes, probed(p))
	}
	return h
}

// probed is a probe and what came of it, on one line.
func probed(p sdk.ProbeResult) string {
	line := p.ID + " (" + string(p.Kind) + "): " + string(p.Status)
	if strings.HasPrefix(p.ID, string(p.Kind)) {
		line = p.ID + ": " + string(p.Status)
	}
	switch text := strings.TrimSpace(p.Text); {
	case p.Why != "":
		line += ", " + p.Why
	case text != "":
		first, _, more := strings.Cut(text, "\n")
		if line += ", " + first; more {
			line += " ..."
		}
	case len(p.PCI) > 0:
		line += fmt.Sprintf(", %d PCI devices", len(p.PCI))
	}
	return line
}

// foreign is a hook's reason among the others.
func foreign(hook string, r sdk.Reason) reason.Reason {
	return reason.Foreign(hook, r.ID, r.Text, r.Remedy, r.Evidence)
}

func blocked(r sdk.Reason) reason.Reason {
	return reason.New(reason.EnvironmentBlocked, "why", lower(r.Text)).Do(r.Remedy...).With(r.Evidence...)
}

// cpuReason is the one reason for which this run does without a GPU (G4). What a hook knows goes before what rigup
// only sees, and a hook that failed before a GPU that nobody knows.
func (r *run) cpuReason() reason.Reason {
	p := r.decided
	seen := r.facts.PCI
	switch {
	case r.cfg.GPU == "off":
		return reason.New(reason.GPUOff)
	case r.facts.Host.OS == "":
		return reason.New(reason.GPUNotChecked) // the machine was not observed
	}
	if u, ok := p.Held(); ok {
		return foreign(u.Hook, u.Reason)
	}
	if len(p.GPUs) > 0 {
		return reason.New(reason.GPUNotInUse, "gpu", describeGPUs(p.GPUs)).With(addresses(p.GPUs))
	}
	for _, f := range p.Failed {
		if f.Kind == sdk.GPUHook {
			return reason.New(reason.GPUHookFailed, "hook", f.Hook, "what", f.Text, "do", r.mend(f))
		}
	}
	switch env := p.Environment; {
	case env.GPULess != nil && (len(p.Unclaimed) > 0 || seen.Status == sdk.Unknown):
		// No hook of any vendor could change this.
		return foreign(env.Hook, *env.GPULess)
	case len(p.Unclaimed) > 0:
		why := reason.New(reason.GPUNoHook, "gpu", strangers(p.Unclaimed))
		if slices.ContainsFunc(r.hookNotes, func(n reason.Reason) bool { return n.ID == reason.HookPending }) {
			why = why.Do("see whether the hook that waits for approval is for it: rigup hooks list")
		}
		return why
	case seen.Status == sdk.Unknown:
		do := ""
		if seen.Why == "permission denied" {
			do = "run rigup as a user who may read the machine's device list"
		}
		return reason.New(reason.GPUUnknown, "do", do).With(seen.Why)
	}
	return reason.New(reason.GPUNone)
}

func (r *run) hookFailed(f decision.Failed) reason.Reason {
	id := reason.HookFailed
	if f.Beyond {
		id = reason.HookBeyond
	}
	return reason.New(id, "hook", f.Hook, "what", f.Text, "do", r.mend(f))
}

// mend is what to do about a hook that failed.
func (r *run) mend(f decision.Failed) string {
	h := r.hooks[slices.IndexFunc(r.hooks, func(h decision.Hook) bool { return h.Manifest.ID == f.Hook })] // it was asked, so it is there
	if h.BuiltIn {
		return "update rigup, or report this with: rigup plan --explain"
	}
	return "ask " + h.Manifest.Publisher + " for a corrected hook, or switch it off: rigup hooks disable " + f.Hook
}

// decisionText is the line of the stage: which hook would use what, or why nothing is used.
func (r *run) decisionText(why reason.Reason) string {
	if _, held := r.decided.Held(); held || len(r.decided.GPUs) == 0 {
		return "CPU: " + strings.TrimSuffix(lower(why.Text), ".")
	}
	g := r.decided.GPUs[0]
	var ways []string
	for _, a := range g.Attach {
		ways = append(ways, map[sdk.AttachKind]string{
			sdk.AttachCDI: "CDI", sdk.AttachNVIDIA: "the engine's GPU support", sdk.AttachDevices: "device nodes",
		}[a.Kind])
	}
	return g.Name + ": " + strings.Join(ways, ", then ")
}

// describeGPUs names GPUs for a sentence: "an NVIDIA GPU", "2 NVIDIA GPUs and an Intel GPU".
func describeGPUs(gpus []decision.GPU) string {
	var parts []string
	for _, g := range gpus {
		parts = append(parts, counted(g.Vendor, len(g.Devices)))
	}
	return list(parts)
}

func counted(vendor string, n int) string {
	if n > 1 {
		return itoa(n) + " " + vendor + " GPUs"
	}
	article := "a "
	if vendor != "" && strings.ContainsRune("AEIOUN", rune(vendor[0])) {
		article = "an " // an NVIDIA, an AMD, an Intel GPU
	}
	return article + vendor + " GPU"
}

func list(parts []string) string {
	if n := len(parts) - 1; n > 0 {
		return strings.Join(parts[:n], ", ") + " and " + parts[n]
	}
	return strings.Join(parts, "")
}

// addresses says where the GPUs were found.
func addresses(gpus []decision.GPU) string {
	var all []string
	for _, g := range gpus {
		for _, d := range g.Devices {
			name := d.Model
			if name == "" {
				name = g.Vendor
			}
			all = append(all, name+" at "+d.ID)
		}
	}
	return strings.Join(all, ", ")
}

// strangers names GPUs that no hook knows.
func strangers(devices []sdk.PCIDevice) string {
	var all []string
	for _, d := range devices {
		name := d.Model
		if name == "" {
			name = "a GPU"
		}
		all = append(all, name+" (PCI "+strings.TrimPrefix(d.Vendor, "0x")+":"+strings.TrimPrefix(d.Device, "0x")+")")
	}
	return list(all)
}
