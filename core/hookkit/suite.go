package hookkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/units"
	"rigup.dev/rigup/hooks/sdk"
)

// Result is how a check ended.
type Result string

// The results.
const (
	OK      Result = "ok"
	Failed  Result = "failed"
	Skipped Result = "skipped"
)

// Check is one thing that a hook was tested for.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Text says what was found, or why it failed.
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"` // a difference, line by line
	Log     []string `json:"log,omitempty"`     // what the hook wrote to its standard error
}

func (c Check) failed(why string) Check {
	c.Result, c.Text = Failed, why
	return c
}

// Report is the result of a test.
type Report struct {
	Manifest *sdk.Manifest `json:"manifest,omitempty"`
	Checks   []Check       `json:"checks"`
	// Slowest is how long the slowest answer took, in seconds. The first one contains the decoding of the module.
	Slowest float64 `json:"slowestSeconds"`
}

// Count is how many checks ended so.
func (r Report) Count(result Result) (n int) {
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Logged reports whether the hook logged anything before it failed a check.
func (r Report) Logged() bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Result == Failed && len(c.Log) > 0 })
}

// Suite tests hooks.
type Suite struct {
	// Run runs the hook. It must not remember answers: everything is asked twice.
	Run hookhost.Runner
	// Update writes the expected answers instead of comparing with them.
	Update bool
	// Say hears of each check as it ends; nil: nobody does.
	Say func(Check)
}

// Test tests a module and holds its answers to cases against what is expected. The error is only ever the context's.
func (s Suite) Test(ctx context.Context, name string, module []byte, cases []Case) (Report, error) {
	t := test{Suite: s, module: hookhost.NewModule(name, module)}
	t.add(t.static(module))
	if m := t.report.Manifest; m != nil {
		t.dynamic(ctx, *m, cases)
	}
	return t.report, ctx.Err()
}

// dynamic is what can be checked by asking the hook.
func (t *test) dynamic(ctx context.Context, m sdk.Manifest, cases []Case) {
	var checks []func() Check
	for _, x := range machines(m) {
		checks = append(checks, func() Check { return t.machine(ctx, x) })
	}
	if slices.Contains(m.Kinds, sdk.GPUHook) {
		for _, f := range failures() {
			checks = append(checks, func() Check { return t.diagnosis(ctx, f) })
		}
	}
	for _, c := range cases {
		checks = append(checks, func() Check { return t.golden(ctx, c) })
	}
	for i, check := range checks {
		if ctx.Err() != nil {
			return
		}
		if t.late == patience {
			t.add(Check{Name: "the rest", Result: Skipped, Text: fmt.Sprintf("%d checks: the hook was too slow %d times", len(checks)-i, patience)})
			break
		}
		t.add(check())
	}
	t.add(t.time())
}

// patience is how often a hook may be too slow before the rest of the checks is left out: each takes seconds.
const patience = 3

// test is one run of the suite.
type test struct {
	Suite
	module  hookhost.Module
	report  Report
	slowest time.Duration
	late    int // how often there was no answer in time
}

func (t *test) add(c Check) {
	t.report.Checks = append(t.report.Checks, c)
	if t.Say != nil {
		t.Say(c)
	}
}

// static is what can be checked without running the hook.
func (t *test) static(module []byte) Check {
	k := Check{Name: "module", Result: OK}
	st, err := hookhost.Inspect(module)
	if err != nil {
		return k.failed("it " + err.Error())
	}
	k.Text = fmt.Sprintf("%s, %d functions, %d functions of WASI, %d KiB of memory to begin with",
		units.Size(int64(len(module))), st.Functions, len(st.Imports), st.Pages*64)
	t.add(k)
	k = Check{Name: "manifest", Result: OK}
	switch n := len(st.Manifests); {
	case n == 0:
		return k.failed("there is none in the module: rigup hooks pack puts it there")
	case n > 1:
		return k.failed(fmt.Sprintf("there are %d in the module; one is allowed", n))
	}
	m := st.Manifests[0]
	if err := grant.Valid(m); err != nil {
		return k.failed(err.Error())
	}
	t.report.Manifest = &m
	k.Text = fmt.Sprintf("%s %s, %s, by %s", m.ID, m.Version, m.Title, m.Publisher)
	k.Details = grant.Words(m.Permissions)
	return k
}

// hook is the hook under test, with everything granted that it asks for.
func (t *test) hook() decision.Hook {
	return decision.Hook{Manifest: *t.report.Manifest, Grant: t.report.Manifest.Permissions, Module: t.module}
}

// twice runs something two times and returns what was said in the first. It fails if the hook did, or if it does not
// say the same again (H5).
func (t *test) twice(run func(*recorder) error) (Expected, []string, error) {
	var texts [2]string
	var first Expected
	var log []string
	for i := range texts {
		r := &recorder{Runner: t.Run}
		err := run(r)
		for _, s := range r.said {
			t.slowest = max(t.slowest, s.answer.Took)
			var f *hookhost.Failure
			if errors.As(s.err, &f) && f.Cause == hookhost.TimedOut {
				t.late++
			}
			if i == 0 {
				log = append(log, lines(s.answer.Log)...)
			}
		}
		if err != nil {
			return Expected{}, log, err
		}
		e, err := r.expected()
		if err != nil {
			return Expected{}, log, err
		}
		b, err := e.text()
		if err != nil {
			return Expected{}, log, err
		}
		texts[i] = string(b)
		if i == 0 {
			first = e
		}
	}
	if texts[0] != texts[1] {
		return first, log, &notSame{diff(texts[0], texts[1])}
	}
	return first, log, nil
}

func lines(log string) []string {
	if log = strings.TrimRight(log, "\n"); log == "" {
		return nil
	}
	return strings.Split(log, "\n")
}

// notSame is a hook that answers differently to the same question.
type notSame struct{ diff []string }

func (e *notSame) Error() string {
	return "it does not answer the same when it is asked the same again: it must not use time, chance or addresses"
}

// asMachine asks the hook about a machine as rigup would, and fails where rigup would leave the hook out.
func (t *test) asMachine(ctx context.Context, h decision.Hook, f sdk.Facts, p decision.Prober) (Expected, []string, error) {
	return t.twice(func(r *recorder) error {
		plan, err := decision.Decider{Hooks: []decision.Hook{h}, Run: r, Probe: p}.Decide(ctx, f, true)
		if err != nil {
			return err
		}
		for _, failed := range plan.Failed {
			return errors.New("it " + failed.Text)
		}
		return nil
	})
}

// done is the end of a check that asked the hook.
func (k Check) done(e Expected, log []string, err error) Check {
	k.Log = log
	if err != nil {
		var n *notSame
		if errors.As(err, &n) {
			k.Details = n.diff
		}
		return k.failed(err.Error())
	}
	k.Text = summary(e)
	return k
}

// machine asks about a machine of the suite's own. What the manifest matches does not count: the answer has to be
// right even if the hook were asked everywhere.
func (t *test) machine(ctx context.Context, x ownMachine) Check {
	h := t.hook()
	h.Manifest.Match = sdk.Match{}
	e, log, err := t.asMachine(ctx, h, x.facts, x)
	k := Check{Name: x.name, Result: OK}.done(e, log, err)
	for _, a := range e.Answers {
		if k.Result == OK && x.foreign && a.Response.Kind == sdk.Claimed {
			return k.failed("it claims a machine that has nothing of what its manifest matches")
		}
	}
	return k
}

// diagnosis asks about a failure that nobody can know: the hook has to answer, whatever it says.
func (t *test) diagnosis(ctx context.Context, f ownFailure) Check {
	own := machines(*t.report.Manifest)
	x := own[len(own)-1]
	req := sdk.Request{API: sdk.API, Hook: t.report.Manifest.ID, Kind: sdk.GPUHook, Phase: sdk.Diagnose, Facts: x.facts, Failure: &f.failure}
	e, log, err := t.request(ctx, req, x)
	return Check{Name: f.name, Result: OK}.done(e, log, err)
}

// request gives the hook one request, and runs the probes that it asks for.
func (t *test) request(ctx context.Context, req sdk.Request, p decision.Prober) (Expected, []string, error) {
	return t.twice(func(r *recorder) error {
		req := req
		for {
			a, err := r.Ask(ctx, t.module, req)
			var f *hookhost.Failure
			if errors.As(err, &f) {
				return errors.New("it " + f.Text)
			}
			if err != nil {
				return err
			}
			if err := t.allowed(a.Response); err != nil {
				return fmt.Errorf("it %w", err)
			}
			switch {
			case a.Response.Kind != sdk.Ask:
				return nil
			case req.Round == sdk.MaxRounds:
				return fmt.Errorf("it asks for probes more than %d times", sdk.MaxRounds)
			}
			req.Round++
			req.Probes = append([]sdk.ProbeResult(nil), req.Probes...)
			for _, probe := range a.Response.Probes {
				req.Probes = append(req.Probes, p.Probe(ctx, probe))
			}
		}
	})
}

// allowed holds a response against the manifest's permissions.
func (t *test) allowed(r sdk.Response) error {
	g := t.report.Manifest.Permissions
	for _, p := range r.Probes {
		if err := grant.Probe(p, g); err != nil {
			return err
		}
	}
	switch {
	case r.GPU != nil:
		return grant.GPU(*r.GPU, g)
	case r.Environment != nil:
		return grant.Environment(*r.Environment)
	}
	return nil
}

// golden asks about a case and compares.
func (t *test) golden(ctx context.Context, c Case) Check {
	var e Expected
	var log []string
	var err error
	if c.Request != nil {
		req := *c.Request
		req.Hook = t.report.Manifest.ID
		e, log, err = t.request(ctx, req, sdk.Machine{})
	} else {
		e, log, err = t.asMachine(ctx, t.hook(), c.Machine.Facts, *c.Machine)
	}
	k := Check{Name: "case " + c.Name, Result: OK}.done(e, log, err)
	if k.Result != OK {
		return k
	}
	k = c.golden(e, t.Update)
	k.Log = log
	return k
}

func (t *test) time() Check {
	t.report.Slowest = t.slowest.Seconds()
	return Check{Name: "time", Result: OK, Text: fmt.Sprintf("the slowest answer took %d ms of the %d that there are", t.slowest.Milliseconds(), hookLimit.Milliseconds())}
}

// hookLimit is how long the host waits for an answer, if it is not told otherwise.
const hookLimit = 2 * time.Second
