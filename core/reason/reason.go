// Package reason is the closed list of reasons: every way in which rigup stops, degrades or does without a
// GPU has an id, one sentence, what to do about it, and the evidence (invariant G4).
package reason

import (
	"errors"
	"strings"
)

// ID names a reason for searching: area.what.
type ID string

// Exit codes of the program, as a reason sets them.
const (
	ExitOK          = 0
	ExitFailed      = 1   // something failed
	ExitUsage       = 2   // wrong use, or "do this and run again"
	ExitGPU         = 3   // --gpu=require and the GPU is not proven
	ExitInterrupted = 130 // Ctrl-C
)

// Reason is one entry of the list, filled in. It is stored and printed as it is, so it holds no secrets.
type Reason struct {
	ID ID `json:"id" jsonschema:"stable id for searching, for example engine.unreachable"`
	// Text is one sentence without codes: why.
	Text string `json:"text" jsonschema:"one sentence: why"`
	// Remedy is what to do, most useful first. Each can work on the machine it is shown on.
	Remedy []string `json:"remedy,omitempty" jsonschema:"what to do, most useful first"`
	// Evidence is what was seen, verbatim and short.
	Evidence []string `json:"evidence,omitempty" jsonschema:"what was seen, verbatim"`
}

// New fills in the entry id. The values come in pairs: the name of a {placeholder} and what to put there.
// A remedy with a placeholder that got no value, or an empty one, is left out: it could not be followed.
func New(id ID, values ...string) Reason {
	e, ok := list[id]
	if !ok {
		e, values = list[Internal], []string{"what", "a reason that is not in the list: " + string(id)}
		id = Internal
	}
	pairs, missing := make([]string, 0, len(values)), []string(nil)
	for i := 0; i+1 < len(values); i += 2 {
		key := "{" + values[i] + "}"
		if values[i+1] == "" {
			missing = append(missing, key)
		}
		pairs = append(pairs, key, values[i+1])
	}
	fill := strings.NewReplacer(pairs...)
	r := Reason{ID: id, Text: fill.Replace(e.text)}
remedies:
	for _, m := range e.remedy {
		for _, key := range missing {
			if strings.Contains(m, key) {
				continue remedies
			}
		}
		if m = fill.Replace(m); !placeholder(m) {
			r.Remedy = append(r.Remedy, m)
		}
	}
	return r
}

// placeholder reports whether s still has a {name} in it.
func placeholder(s string) bool {
	_, rest, ok := strings.Cut(s, "{")
	if !ok {
		return false
	}
	name, _, ok := strings.Cut(rest, "}")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == ""
}

// Foreign is a reason that a hook gave: its id stands below the hook's. It is outside of the list, because hooks
// can be added without rebuilding the program.
func Foreign(hook, id, text string, remedy, evidence []string) Reason {
	return Reason{ID: ID(hook + "." + id), Text: text, Remedy: remedy}.With(evidence...)
}

// Listed reports whether an id stands in the list. The others are those of hooks.
func Listed(id ID) bool { _, ok := list[id]; return ok }

// With returns the reason with evidence added: what was seen, verbatim. Only the first lines of each are kept.
func (r Reason) With(evidence ...string) Reason {
	kept := append([]string(nil), r.Evidence...)
	for _, e := range evidence {
		if e = short(e); e != "" {
			kept = append(kept, e)
		}
	}
	r.Evidence = kept
	return r
}

// Do returns the reason with another first remedy, where the place that found it knows a better one.
func (r Reason) Do(remedy ...string) Reason {
	r.Remedy = append(append([]string(nil), remedy...), r.Remedy...)
	return r
}

// Exit is the exit code of a run that ends with this reason.
func (r Reason) Exit() int {
	if e, ok := list[r.ID]; ok && e.exit != 0 {
		return e.exit
	}
	return ExitFailed
}

const (
	maxLines = 3
	maxBytes = 600
)

func short(s string) string {
	s = strings.TrimSpace(s)
	if lines := strings.SplitN(s, "\n", maxLines+1); len(lines) > maxLines {
		s = strings.Join(lines[:maxLines], "\n")
	}
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "") + "..."
	}
	return s
}

// Error is a failure that knows its reason. Err is the cause, for the log and for errors.Is.
type Error struct {
	Reason Reason
	Err    error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return e.Reason.Text
	}
	return e.Reason.Text + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Fail makes an error of a reason; the cause may be nil and is added to the evidence.
func Fail(r Reason, cause error) error {
	if cause != nil {
		r = r.With(cause.Error())
	}
	return &Error{Reason: r, Err: cause}
}

// Of is the reason of an error: the one it carries, or an internal one with the error as evidence.
func Of(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return New(Internal, "what", "an unexpected error").With(err.Error())
}
