package decision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

// candidate is a hook that can apply, and what it answered in the detect phase.
type candidate struct {
	Hook
	because []string
	claim   sdk.Claim
	probes  []sdk.ProbeResult
	waited  time.Duration // for its probes
}

// Limits of the probes of one hook. A hook may ask for many, each with minutes of its own: together they must neither
// take the better part of an hour nor fill the machine with containers.
const (
	probeTime     = 10 * time.Minute // for all of a decision
	maxContainers = 4                // at a time
)

// beyondGrant is what a hook asks for and was not allowed.
type beyondGrant struct{ error }

// session asks hooks about one machine and writes down what they say.
type session struct {
	Decider
	facts sdk.Facts
	plan  *Plan
}

// ask asks a hook for a phase until it answers with something else than probes. ok is false when there is no usable
// answer: then the plan says why, unless the context ended.
func (s session) ask(ctx context.Context, c *candidate, req sdk.Request) (sdk.Response, bool) {
	req.API, req.Hook, req.Probes = sdk.API, c.Manifest.ID, c.probes
	if err := c.load(); err != nil {
		s.failed(c, req.Kind, &Said{Hook: c.Name(), Kind: req.Kind, Phase: req.Phase, Because: c.because}, fmt.Errorf("cannot be loaded: %w", err))
		return sdk.Response{}, false
	}
	var answered []sdk.ProbeResult
	for req.Round = 0; ; req.Round++ {
		said := Said{Hook: c.Name(), Kind: req.Kind, Phase: req.Phase, Because: c.because, Probes: answered}
		s.tell("asking the hook " + c.Manifest.ID)
		a, err := s.Run.Ask(ctx, c.Module, req)
		said.Log, said.Remembered, said.Seconds = a.Log, a.Remembered, a.Took.Seconds()
		if err == nil {
			said.Answer, said.Why = a.Response.Kind, a.Response.Why
			if r := a.Response.Reason; r != nil {
				said.Why = append([]string{strings.TrimSuffix(r.Text, ".")}, said.Why...)
			}
			err = s.allowed(c.Grant, req, a.Response)
		}
		if err != nil {
			if ctx.Err() != nil {
				return sdk.Response{}, false
			}
			s.failed(c, req.Kind, &said, err)
			return sdk.Response{}, false
		}
		s.plan.Said = append(s.plan.Said, said)
		if a.Response.Kind != sdk.Ask {
			c.probes = req.Probes
			return a.Response, true
		}
		s.tell("checking what the hook " + c.Manifest.ID + " asks for")
		answered = s.run(ctx, c, a.Response.Probes)
		req.Probes = append(slices.Clip(req.Probes), answered...)
	}
}

func (s session) tell(text string) {
	if s.Tell != nil {
		s.Tell(text)
	}
}

// load reads the module once.
func (c *candidate) load() (err error) {
	if c.Load != nil {
		c.Module, err = c.Load()
		c.Load = nil
	}
	return err
}

func (s session) failed(c *candidate, kind sdk.Kind, said *Said, err error) {
	text := err.Error()
	var f *hookhost.Failure
	if errors.As(err, &f) {
		text, said.Log = f.Text, f.Log
	}
	var b beyondGrant
	said.Failure = text
	s.plan.Said = append(s.plan.Said, *said)
	s.plan.Failed = append(s.plan.Failed, Failed{Hook: c.Manifest.ID, Kind: kind, Beyond: errors.As(err, &b), Text: text})
}

// allowed holds a response against the protocol's order and against the hook's grant.
func (s session) allowed(g sdk.Permissions, req sdk.Request, r sdk.Response) error {
	switch {
	case r.Kind == sdk.Ask && req.Round == sdk.MaxRounds:
		return fmt.Errorf("asks for probes more than %d times", sdk.MaxRounds)
	case r.Kind == sdk.Decision && (r.Environment != nil) != (req.Kind == sdk.EnvironmentHook):
		return fmt.Errorf("decides about something else than it was asked, which was %s", req.Kind)
	}
	var err error
	switch {
	case r.Kind == sdk.Ask:
		for _, p := range r.Probes {
			if err = grant.Probe(p, g); err != nil {
				break
			}
		}
	case r.Environment != nil:
		return grant.Environment(*r.Environment)
	case r.GPU != nil:
		err = grant.GPU(*r.GPU, g)
	}
	if err != nil {
		return beyondGrant{err}
	}
	return nil
}

// run runs the probes of one round, side by side: a container can take minutes. When the hook's time for probes is
// up, what they would have found is unknown.
func (s session) run(ctx context.Context, c *candidate, probes []sdk.Probe) []sdk.ProbeResult {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.probeTime, probeTime)-c.waited)
	defer cancel()
	out := make([]sdk.ProbeResult, len(probes))
	free := make(chan struct{}, maxContainers)
	var all sync.WaitGroup
	for i, p := range probes {
		all.Go(func() {
			if p.Kind == sdk.EngineRun {
				select {
				case free <- struct{}{}:
					defer func() { <-free }()
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				out[i] = sdk.ProbeResult{ID: p.ID, Kind: p.Kind, Status: sdk.Unknown, Why: "timed out"}
				return
			}
			out[i] = s.Probe.Probe(ctx, p)
		})
	}
	all.Wait()
	c.waited += time.Since(begin)
	return out
}

// candidates are the hooks of a kind that can apply, by id, so that neither the order of files nor that of devices
// decides anything (G11).
func (s session) candidates(kind sdk.Kind) []*candidate {
	var out []*candidate
	for _, h := range s.Hooks {
		if !slices.Contains(h.Manifest.Kinds, kind) {
			continue
		}
		if because, ok := match(h.Manifest.Match, s.facts); ok {
			out = append(out, &candidate{Hook: h, because: because})
		}
	}
	slices.SortFunc(out, func(a, b *candidate) int { return strings.Compare(a.Manifest.ID, b.Manifest.ID) })
	return out
}
