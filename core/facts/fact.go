// Package facts holds what was observed on the machine, each with how well it is known.
package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Status says how well a fact is known. Unknown is never read as absent (invariants C1, G6).
type Status string

// The three things an observation can end in.
const (
	Known   Status = "known"
	Absent  Status = "absent"
	Unknown Status = "unknown"
)

// Why a fact is unknown, where others ask.
const (
	Late   = "timed out"
	Denied = "permission denied"
)

// Fact is one observation of a T.
type Fact[T any] struct {
	Status Status `json:"status"`
	Value  T      `json:"value,omitempty"`
	// Why says why the value is unknown, in a few words.
	Why string `json:"why,omitempty"`
}

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
	case errors.Is(err, fs.ErrNotExist):
		return None[T]()
	case errors.Is(err, context.DeadlineExceeded):
		return Not[T](Late)
	case errors.Is(err, fs.ErrPermission):
		return Not[T](Denied)
	}
	return Not[T](err.Error())
}

// Known reports whether the value was observed.
func (f Fact[T]) Known() bool { return f.Status == Known }

func (f Fact[T]) String() string {
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
