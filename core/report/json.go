package report

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"rigup.dev/rigup/core/event"
)

// Lines renders a run as JSON, one event per line (schema/event.schema.json), each written at once.
type Lines struct {
	out io.Writer
	now func() time.Time

	mu     sync.Mutex
	moved  map[string]time.Time // stage: when its progress was last written
	closed bool
}

// moveEvery is how often the progress of a stage is written: a pull tells it for every block.
const moveEvery = 250 * time.Millisecond

// NewJSON begins to render. Only Out and Now of the options are used.
func NewJSON(o Options) *Lines {
	return &Lines{out: o.Out, now: o.now, moved: map[string]time.Time{}}
}

// Emit writes the event.
func (v *Lines) Emit(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	now := v.now()
	if e.Time == "" {
		e.Time = now.UTC().Format(TimeFormat)
	}
	if p := e.Progress; e.Type == event.TypeProgress && p != nil {
		end := p.Total > 0 && p.Done >= p.Total
		if last, ok := v.moved[e.Stage]; ok && !end && now.Sub(last) < moveEvery {
			return
		}
		v.moved[e.Stage] = now
	}
	v.closed = e.Type == event.TypeResult // nothing comes after the result
	WriteJSON(v.out, e)
}

// TimeFormat is how events write a time: RFC 3339 with milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// WriteJSON writes v as one line.
func WriteJSON(w io.Writer, v any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // evidence is verbatim
	_ = enc.Encode(v)        // a reader that went away must not stop the work
}

// Interrupt writes nothing: the result says it.
func (v *Lines) Interrupt() {}

// Close ends the stream.
func (v *Lines) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
}
