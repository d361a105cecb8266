// Package facts holds what was observed on the machine, each with how well it is known.
package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// Status says how well a fact is known. Unknown is never read as absent (invariants C1, G6).
type Status = sdk.Status

// The three things an observation can end in.
const (
	Known   = sdk.Known
	Absent  = sdk.Absent
	Unknown = sdk.Unknown
)

// Why a fact is unknown, where others ask.
const (
	Late   = "timed out"
	Denied = "permission denied"
)

// Fact is one observation of a T. The protocol with the hooks defines it, so that there is one.
type Fact[T any] = sdk.Fact[T]

// Of is a known fact.
func Of[T any](v T) Fact[T] { return Fact[T]{Status: Known, Value: v} }

// None is a fact known to be absent.
func None[T any]() Fact[T] { return Fact[T]{Status: Absent} }

// Not is a fact that could not be observed, and why.
func Not[T any](why string) Fact[T] { return Fact[T]{Status: Unknown, Why: why} }

// From turns a value and the error of reading it into a fact: a missing file is absent, a deadline is
// named as one, anything else is unknown.
func From[T any](v T, err error) Fact[T] {
	switch {
	case err == nil:
		return Of(v)
	case rooted.Missing(err):
		return None[T]()
	}
	return Not[T](Why(err))
}

// Why says in a few words why something is unknown. Paths are left out: they can name the user.
func Why(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Late
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, fs.ErrPermission):
		return Denied
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	case errors.As(err, &call):
		return call.Err.Error()
	}
	return err.Error()
}

// String writes a fact for people.
func String[T any](f Fact[T]) string {
	switch f.Status {
	case Known:
		return fmt.Sprint(f.Value)
	case Absent:
		return "absent"
	}
	if f.Why == "" {
		return "unknown"
	}
	return "unknown (" + f.Why + ")"
}

// Within reads one fact and gives up at the deadline: a file on a dead network mount blocks for ever. A reader that
// looks at its context ends with it.
func Within[T any](ctx context.Context, limit time.Duration, read func(context.Context) (T, error)) Fact[T] {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got := make(chan Fact[T], 1)
	go func() { got <- From(read(ctx)) }()
	select {
	case f := <-got:
		return f
	case <-ctx.Done():
		return Not[T](Why(ctx.Err()))
	}
}
