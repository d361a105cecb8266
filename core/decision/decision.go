// Package decision asks the hooks what to do with a machine, and holds what they say against what they may say.
//
// Environment hooks come first, then gpu hooks; of both only those whose manifest can match the machine. A hook that
// traps, hangs, talks nonsense or wants more than it may is left out and named, and never ends anything (G5, H1, H4).
package decision

import (
	"context"
	"time"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

// Hook is a hook that may run.
type Hook struct {
	Manifest sdk.Manifest
	// Grant is what a person allowed it; that of a built-in hook is its manifest's.
	Grant  sdk.Permissions
	Module hookhost.Module
	// Load reads the module when the hook is asked for the first time; nil: Module is it. A hook that does not match
	// the machine costs no more than its manifest.
	Load    func() (hookhost.Module, error)
	BuiltIn bool
	// Unsigned is true for a hook whose publisher nobody vouches for.
	Unsigned bool
}

// Name identifies the hook in what a run says: "nvidia 1.0.0 (built in)".
func (h Hook) Name() string {
	s := h.Manifest.ID + " " + h.Manifest.Version
	switch {
	case h.BuiltIn:
		return s + " (built in)"
	case h.Unsigned:
		return s + " (unsigned)"
	}
	return s + " (" + h.Manifest.Publisher + ")"
}

// Prober runs one probe. It is called only with probes that the hook's grant allows.
type Prober interface {
	Probe(ctx context.Context, p sdk.Probe) sdk.ProbeResult
}

// Decider decides with these hooks.
type Decider struct {
	Hooks []Hook
	Run   hookhost.Runner
	Probe Prober
	// Tell hears what is waited for; nil: nobody.
	Tell func(text string)

	probeTime time.Duration // 0: probeTime
}

// Plan is what the hooks decided.
type Plan struct {
	// Environment is what one hook decided about the engine's surroundings. Without one that knows them it allows
	// every attachment: what works is proven anyway.
	Environment Environment `json:"environment"`
	// GPUs are the vendors whose GPUs can be tried, the one to prefer first.
	GPUs []GPU `json:"gpus,omitempty"`
	// Unusable are GPUs that a hook knows and that cannot be used, those to mention first in front.
	Unusable []Unusable `json:"unusable,omitempty"`
	// Unclaimed are GPUs that no hook took for its own.
	Unclaimed []sdk.PCIDevice `json:"unclaimed,omitempty"`
	// Failed are hooks that gave no usable answer.
	Failed []Failed `json:"failed,omitempty"`
	// Said is everything that was asked and said, in order.
	Said []Said `json:"said,omitempty"`
}

// Environment is the decision of an environment hook; Hook is empty when none knew the engine's surroundings.
type Environment struct {
	sdk.Environment
	Hook string `json:"hook,omitempty"`
}

// GPU is the decision of a gpu hook.
type GPU struct {
	sdk.GPU
	Hook string `json:"hook"` // its id
	Name string `json:"name"` // with version and origin
}

// Unusable is why the GPUs of a vendor cannot be used.
type Unusable struct {
	Hook    string       `json:"hook"`
	Devices []sdk.Device `json:"devices,omitempty"`
	Reason  sdk.Reason   `json:"reason"`
}

// Failed is a hook that gave no usable answer. Text goes on after "the hook NAME".
type Failed struct {
	Hook string   `json:"hook"`
	Kind sdk.Kind `json:"kind"`
	// Beyond is true when it wanted more than it may.
	Beyond bool   `json:"beyond,omitempty"`
	Text   string `json:"text"`
}

// Said is one question to a hook, and what it said.
type Said struct {
	Hook  string    `json:"hook"` // with version and origin
	Kind  sdk.Kind  `json:"kind"`
	Phase sdk.Phase `json:"phase"`
	// Because is why the hook was asked: the facts that its manifest matches.
	Because []string          `json:"because,omitempty"`
	Answer  sdk.ResponseKind  `json:"answer,omitempty"`
	Why     []string          `json:"why,omitempty"`
	Probes  []sdk.ProbeResult `json:"probes,omitempty"` // what it asked for, and what came of it
	// Failure is why there is no answer.
	Failure string `json:"failure,omitempty"`
	Log     string `json:"log,omitempty"`
	// Remembered is true when nothing ran: the same question was answered before.
	Remembered bool    `json:"remembered,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
}

// anyEnvironment is what is assumed about an engine that no hook knows.
func anyEnvironment(e sdk.Engine) Environment {
	return Environment{Environment: sdk.Environment{
		ID: "unknown", Title: e.System,
		Attach: []sdk.AttachKind{sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices},
		Memory: sdk.HostMemory, Paths: sdk.SamePaths,
	}}
}
