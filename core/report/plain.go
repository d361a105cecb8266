package report

import (
	"math"
	"strings"
	"sync"
	"time"

	"rigup.dev/rigup/core/event"
)

// Plain renders a run as lines of a log: one for each line of the table when it has ended, one now and then
// while something takes long. It writes no control characters.
type Plain struct {
	o Options

	mu       sync.Mutex
	m        model
	head     bool
	spoke    map[*row]event.State
	stopping bool
	closed   bool
	stop     chan struct{}
}

const (
	quiet = 10 * time.Second // what takes longer says so
	again = 15 * time.Second // and again
)

// NewPlain begins to render. Close ends it.
func NewPlain(o Options) *Plain {
	v := &Plain{o: o, m: model{explain: o.Explain}, spoke: map[*row]event.State{}, stop: make(chan struct{})}
	if o.Every > 0 {
		go every(o.Every, v.stop, v.Tick)
	}
	return v
}

// Emit takes an event in.
func (v *Plain) Emit(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	now := v.o.now()
	r := v.m.apply(e, now)
	if e.Type == event.TypeResult {
		v.finish(now)
		return
	}
	if v.o.Verbose {
		v.detail(r, e)
	}
	if e.Type == event.TypeStage {
		v.ended(false, now)
	}
}

// ended writes the lines that have come to their end, in their order.
func (v *Plain) ended(over bool, now time.Time) {
	for _, r := range v.m.visible() {
		s := r.state(over)
		if s == "" || s == event.Running && !over || s == v.spoke[r] {
			continue
		}
		v.spoke[r] = s
		v.line(r, now, over)
	}
}

// Tick writes how far something is that takes long.
func (v *Plain) Tick() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.o.now()
	for _, r := range v.m.visible() {
		if v.closed || r.state(false) != event.Running {
			continue
		}
		if now.Sub(r.begun) < quiet || r.said != r.begun && now.Sub(r.said) < again {
			continue
		}
		r.said = now
		v.line(r, now, false)
	}
}

// Interrupt says that the run is stopping.
func (v *Plain) Interrupt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.stopping && !v.closed {
		v.println("Stopping.")
	}
	v.stopping = true
}

// Close ends the log.
func (v *Plain) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.closed = true
		close(v.stop)
	}
}

func (v *Plain) line(r *row, now time.Time, over bool) {
	v.header()
	v.println(r.log(now, over, v.m.interrupted()))
}

func (v *Plain) header() {
	if !v.head {
		v.head = true
		v.println(v.m.header(math.MaxInt, false))
		v.println("")
	}
}

// detail writes what only --verbose shows.
func (v *Plain) detail(r *row, e event.Event) {
	if r == nil || e.Type != event.TypeStep && e.Type != event.TypeChange {
		return
	}
	v.header()
	text := clean(e.Text)
	if e.Change != nil {
		text = strings.TrimSpace(string(e.Change.Action) + " " + e.Change.Kind + " " + clean(e.Change.Name) + "  " + clean(e.Change.Detail))
	}
	v.println("      " + e.Stage + ": " + text)
}

func (v *Plain) finish(now time.Time) {
	if !v.m.nothingToDo() {
		v.ended(true, now)
	}
	if v.head {
		v.println("")
	}
	for _, l := range v.m.summary(now, defaultWidth, false) {
		v.println(l)
	}
	v.closed = true
	close(v.stop)
}

// println ignores errors: a log that went away must not stop the work.
func (v *Plain) println(s string) { _, _ = v.o.Out.Write([]byte(s + "\n")) }
