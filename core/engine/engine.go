// Package engine talks to the Docker engine. No type of the Docker client leaves it, so that the client's
// successor can replace it here without touching anything else.
//
// Every call takes a context and has a deadline of its own (see Timeouts). A call that fails answers with an
// error that carries a reason and a kind: not found, conflict, denied, timed out and unreachable are
// different answers (invariant G6). Use KindOf and reason.Of.
package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/client"

	"rigup.dev/rigup/core/reason"
)

// Timeouts are the deadlines of the calls by what they do. A zero field means the default.
type Timeouts struct {
	Ping     time.Duration // one endpoint's first answer
	Query    time.Duration // info, lists, inspections
	Change   time.Duration // create, start, remove
	Grace    time.Duration // what a container gets to stop before it is killed
	Exec     time.Duration // a command in a container, unless the caller's context is shorter
	Copy     time.Duration // small files in and out
	Pull     time.Duration // a whole pull
	Stall    time.Duration // a pull or a save in which nothing moves
	Transfer time.Duration // saving an image
}

func (t Timeouts) withDefaults() Timeouts {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&t.Ping, 5*time.Second)
	def(&t.Query, 20*time.Second)
	def(&t.Change, 90*time.Second)
	def(&t.Grace, 30*time.Second)
	def(&t.Exec, time.Minute)
	def(&t.Copy, time.Minute)
	def(&t.Pull, 15*time.Minute)
	def(&t.Stall, 3*time.Minute)
	def(&t.Transfer, 15*time.Minute)
	return t
}

// Engine is one Docker engine that answered. Its methods may be called at the same time.
type Engine struct {
	cli      *client.Client
	endpoint Endpoint
	timeouts Timeouts
	start    string // the remedy when it stops answering
}

// Endpoint is where the engine was found.
func (e *Engine) Endpoint() Endpoint { return e.endpoint }

// API is the API version that was negotiated.
func (e *Engine) API() string { return e.cli.ClientVersion() }

// Close lets go of idle connections.
func (e *Engine) Close() error { return e.cli.Close() }

// Kind says how a call failed.
type Kind string

// The kinds of failure.
const (
	NotFound    Kind = "not found"
	Conflict    Kind = "conflict"
	Denied      Kind = "denied"
	Timeout     Kind = "timed out"
	Unreachable Kind = "unreachable"
	Canceled    Kind = "canceled"
	Refused     Kind = "refused" // the engine answered with another error
)

// Error is a failed call. What it tried reads on after "rigup tried to".
type Error struct {
	Kind Kind
	What string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.What, e.Err) }
func (e *Error) Unwrap() error { return e.Err }

// KindOf is the kind of an error of this package; "" for nil and for others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// Failure makes an error such as the methods return. Fakes use it.
func Failure(kind Kind, what, text string) error {
	return failure(&Error{Kind: kind, What: what, Err: errors.New(text)}, 0, "")
}

// limited gives a call its deadline. The returned done turns the call's error into one with kind and reason,
// and must be called in any case.
func (e *Engine) limited(ctx context.Context, limit time.Duration, what string) (context.Context, func(error) error) {
	if d, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(d))
	}
	inner, cancel := context.WithTimeout(ctx, limit)
	return inner, func(err error) error {
		over := inner.Err()
		cancel()
		return e.classify(ctx, over, err, limit, what)
	}
}

func (e *Engine) classify(outer context.Context, over, err error, limit time.Duration, what string) error {
	if err == nil {
		return nil
	}
	var mine *Error
	if errors.As(err, &mine) {
		return err
	}
	f := &Error{What: what, Err: err, Kind: Refused}
	switch {
	// The connection's own error hides the context's, so the contexts are asked first.
	case errors.Is(outer.Err(), context.Canceled):
		f.Kind, f.Err = Canceled, context.Canceled
	case errors.Is(over, context.DeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		f.Kind, f.Err = Timeout, context.DeadlineExceeded
	case client.IsErrConnectionFailed(err):
		f.Kind = Unreachable
	case cerrdefs.IsNotFound(err):
		f.Kind = NotFound
	case cerrdefs.IsConflict(err), cerrdefs.IsAlreadyExists(err):
		f.Kind = Conflict
	case cerrdefs.IsPermissionDenied(err), cerrdefs.IsUnauthorized(err):
		f.Kind = Denied
	}
	return failure(f, limit, e.start)
}

func failure(f *Error, limit time.Duration, start string) error {
	switch f.Kind {
	case Canceled:
		return reason.Fail(reason.New(reason.Interrupted), f)
	case Timeout:
		return reason.Fail(reason.New(reason.EngineTimeout, "limit", Spell(limit), "what", f.What), f)
	case Unreachable:
		return reason.Fail(reason.New(reason.EngineUnreachable, "start", start), f)
	}
	return reason.Fail(reason.New(reason.EngineFailed, "what", f.What), f)
}

// Spell writes a duration for a sentence: seconds up to two minutes, then minutes.
func Spell(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
}
