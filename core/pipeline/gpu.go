package pipeline

import (
	"context"

	"rigup.dev/rigup/core/reason"
)

// prove is the authoritative gate: the only stage in which a capability is created (G2). Nothing proves one
// yet, so it passes on the reason of the decision.
func prove(_ context.Context, r *run) (step, error) { return r.withoutGPU() }

// provision brings a proven GPU into the cluster.
func provision(_ context.Context, r *run) (step, error) { return r.withoutGPU() }

// verify confirms in the cluster what was proven on the engine.
func verify(_ context.Context, r *run) (step, error) { return r.withoutGPU() }

// withoutGPU skips a GPU stage, or ends the run where a GPU is required.
func (r *run) withoutGPU() (step, error) {
	why, ok := r.capability.Reason()
	if !ok {
		return found(done(""))
	}
	if r.cfg.GPU == "require" {
		required := reason.New(reason.GPURequired, "why", why.Text).With(why.Evidence...)
		return step{}, reason.Fail(required, nil)
	}
	return found(skipped(why))
}
