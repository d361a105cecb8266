package decision

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

// slow runs probes that take until something else happens.
type slow struct {
	now, most, all atomic.Int32
	wait           func(context.Context)
}

func (s *slow) Probe(ctx context.Context, p sdk.Probe) sdk.ProbeResult {
	s.all.Add(1)
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for m := s.most.Load(); n > m && !s.most.CompareAndSwap(m, n); m = s.most.Load() {
	}
	s.wait(ctx)
	return sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: sdk.Unknown, Why: "timed out"}
}

// greedy asks for as many containers as the protocol allows, in every round of both phases.
func greedy(w *world) {
	w.install(sdk.Manifest{ID: "greedy", Version: "1.0.0", Kinds: []sdk.Kind{sdk.GPUHook}, Permissions: sdk.Permissions{
		Probes: []sdk.ProbeKind{sdk.EngineRun}, Images: []string{"base"}}}, func(req sdk.Request) sdk.Response {
		if req.Round == sdk.MaxRounds {
			if req.Phase == sdk.Detect {
				return sdk.Claiming(sdk.Claim{Confidence: 1})
			}
			return sdk.Giving(sdk.Reason{ID: "enough", Text: "Enough."})
		}
		var all []sdk.Probe
		for i := range sdk.MaxProbes {
			all = append(all, sdk.Probe{ID: fmt.Sprint(req.Phase, req.Round, "-", i), Kind: sdk.EngineRun, Image: "base", Args: []string{"true"}})
		}
		return sdk.Probing(all...)
	})
}

// H1: no hook fills the machine with containers.
func TestH1_AHookHasFewContainersAtATime(t *testing.T) {
	w := newWorld(t)
	greedy(w)
	s := &slow{wait: func(context.Context) { time.Sleep(time.Millisecond) }}
	if _, err := (Decider{Hooks: w.hooks, Run: w.run, Probe: s}).Decide(t.Context(), w.facts, true); err != nil {
		t.Fatal(err)
	}
	if n := s.all.Load(); n != 2*sdk.MaxRounds*sdk.MaxProbes {
		t.Errorf("%d probes ran", n)
	}
	if n := s.most.Load(); n > maxContainers {
		t.Errorf("%d containers at a time", n)
	}
}

// H1, E1: all of a hook's probes together have one time, after which the rest is unknown and the decision goes on.
func TestH1_AHooksProbesEndTogether(t *testing.T) {
	w := newWorld(t)
	greedy(w)
	s := &slow{wait: func(ctx context.Context) { <-ctx.Done() }}
	p, err := Decider{Hooks: w.hooks, Run: w.run, Probe: s, probeTime: 50 * time.Millisecond}.Decide(t.Context(), w.facts, true)
	if err != nil || len(p.Unusable) != 1 || p.Unusable[0].Reason.ID != "enough" || len(p.Failed) != 0 {
		t.Errorf("%+v %v", p, err)
	}
	if n := s.all.Load(); n > maxContainers {
		t.Errorf("%d probes began after the time was up", n)
	}
	for _, said := range p.Said {
		for _, r := range said.Probes {
			if r.ID == "" || r.Kind != sdk.EngineRun || r.Status != sdk.Unknown || r.Why == "" {
				t.Errorf("%+v", r)
			}
		}
	}
}
