package pipeline

import (
	"context"
	"errors"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// stage is one step of the pipeline. look finds out what is and what would change, and changes nothing;
// the step it returns says so and, in apply, can make it so. plan and install share everything but the
// call of apply.
type stage struct {
	name string
	look func(ctx context.Context, r *run) (step, error)
}

// stages is the pipeline. Its order is fixed; hooks never change it.
func stages() []stage {
	return []stage{
		{"observe", observe},
		{"preflight", preflightStage},
		{"decide", decide},
		{"prove", prove},
		{"image", image},
		{"cluster", clusterStage},
		{"provision", provision},
		{"verify", verify},
		{"deploy", deploy},
		{"ready", ready},
		{"report", remember},
	}
}

// step is what a stage found.
type step struct {
	// text is what was found, in the user's words.
	text string
	// changes is what apply would make different.
	changes []event.Change
	// apply does the work. It is nil when there is none.
	apply func(ctx context.Context) (outcome, error)
	// outcome is how the stage ends when there is nothing to apply.
	outcome outcome
}

// outcome is how a stage ended: done, skipped or degraded, the last two with a reason. A failure is an error.
type outcome struct {
	state event.State
	text  string
	why   *reason.Reason
}

func done(text string) outcome { return outcome{state: event.Done, text: text} }

func skipped(why reason.Reason) outcome { return outcome{state: event.Skipped, why: &why} }

func degraded(text string, why reason.Reason) outcome {
	return outcome{state: event.Degraded, text: text, why: &why}
}

// found is a step without work.
func found(o outcome) (step, error) { return step{text: o.text, outcome: o}, nil }

// play runs the stages. With plan set, nothing is applied.
func (r *run) play(ctx context.Context, list []stage, plan bool) error {
	for _, s := range list {
		r.stage, r.begun = s.name, r.deps.Now()
		r.emit(event.Event{Type: event.TypeStage, State: event.Running})
		o, err := r.playOne(ctx, s, plan)
		if err != nil {
			err = interrupted(ctx, err)
			why := reason.Of(err)
			r.log.Error("stage failed", "stage", s.name, "error", err)
			r.emit(event.Event{Type: event.TypeStage, State: event.Failed, Reason: &why, Seconds: r.took()})
			return err
		}
		r.emit(event.Event{Type: event.TypeStage, State: o.state, Text: o.text, Reason: o.why, Seconds: r.took()})
		if !plan {
			if err := r.passed(s.name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) playOne(ctx context.Context, s stage, plan bool) (outcome, error) {
	st, err := s.look(ctx, r)
	if err != nil {
		return outcome{}, err
	}
	for _, c := range st.changes {
		r.changed = true
		r.emit(event.Event{Type: event.TypeChange, Change: &c})
	}
	o := st.outcome
	switch {
	case st.apply == nil:
	case plan && len(st.changes) > 0:
		return outcome{state: event.Planned, text: st.text}, nil
	case plan:
		o = done(st.text)
	default:
		if o, err = st.apply(ctx); err != nil {
			return outcome{}, err
		}
	}
	if o.state == "" {
		o.state = event.Done
	}
	if o.text == "" {
		o.text = st.text
	}
	return o, nil
}

// interrupted says so when a failure is only the echo of Ctrl-C; the overall deadline is named as one.
func interrupted(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		return reason.Fail(reason.New(reason.Interrupted), nil)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return reason.Fail(reason.New(reason.RunTimeout), err)
	}
	return err
}

func (r *run) took() float64 { return r.deps.Now().Sub(r.begun).Seconds() }

// emit sends an event, stamped with the time and the stage that runs.
func (r *run) emit(e event.Event) {
	e.Time = r.deps.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00")
	if e.Stage == "" && e.Type != event.TypeRun && e.Type != event.TypeResult {
		e.Stage = r.stage
	}
	r.log.Info("event", "event", e)
	r.sink.Emit(e)
}

// step tells what the stage does now.
func (r *run) step(text string) { r.emit(event.Event{Type: event.TypeStep, Text: text}) }

// progress tells how far the step is, at most ten times a second: an image of a gigabyte moves in a
// hundred thousand pieces.
func (r *run) progress(p event.Progress) {
	now := r.deps.Now()
	if p.Done != p.Total && now.Sub(r.told) < 100*time.Millisecond {
		return
	}
	r.told = now
	r.emit(event.Event{Type: event.TypeProgress, Progress: &p})
}

// warn tells something that stops nothing.
func (r *run) warn(why reason.Reason) { r.emit(event.Event{Type: event.TypeWarning, Reason: &why}) }
