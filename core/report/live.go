package report

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"

	"rigup.dev/rigup/core/event"
)

// Live renders a run as a table that is redrawn in place.
//
// The control sequences are the few that every terminal since the VT100 knows (line up, erase), in some two
// hundred lines; a library for whole screens would be more to keep than that.
type Live struct {
	o  Options
	st style

	mu       sync.Mutex
	m        model
	drawn    []int // columns of the lines that stand on the screen
	last     string
	stopping bool
	paused   bool
	closed   bool
	stop     chan struct{}
}

// NewLive begins to render. Close ends it.
func NewLive(o Options) *Live {
	v := &Live{o: o, m: model{explain: o.Explain}, st: style(o.Color), stop: make(chan struct{})}
	if o.Every > 0 {
		go every(o.Every, v.stop, v.Draw)
	}
	return v
}

// every calls f until stop is closed.
func every(d time.Duration, stop <-chan struct{}, f func()) {
	t := time.NewTicker(d)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			f()
		}
	}
}

// Emit takes an event in. Progress waits for the next drawing: it may come thousands of times a second.
func (v *Live) Emit(e event.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.m.apply(e, v.o.now())
	switch e.Type {
	case event.TypeResult:
		v.finish()
	case event.TypeProgress:
	default:
		v.draw()
	}
}

// Draw brings the screen up to date.
func (v *Live) Draw() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.draw()
}

// Interrupt says below the table that the run is stopping.
func (v *Live) Interrupt() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopping = true
	v.draw()
}

// Pause takes the table off the screen, so that a question can be asked; the returned function brings it back.
func (v *Live) Pause() (resume func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		v.write(v.erase() + showCursor)
	}
	v.paused = true
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.paused = false
		v.draw()
	}
}

// Close ends the table. Without a result it stays as it was last.
func (v *Live) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.close()
}

func (v *Live) close() {
	v.closed = true
	close(v.stop)
	v.write(showCursor)
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	eraseLine  = "\x1b[K"
	eraseBelow = "\x1b[J"
)

func (v *Live) draw() {
	if v.closed || v.paused {
		return
	}
	width := v.o.width()
	lines := v.frame(width)
	frame := fmt.Sprint(width) + "\n" + strings.Join(lines, "\n")
	if frame == v.last {
		return
	}
	var b bytes.Buffer
	b.WriteString(hideCursor + v.up(width))
	v.drawn = v.drawn[:0]
	for _, l := range lines {
		b.WriteString(l + eraseLine + "\r\n")
		v.drawn = append(v.drawn, columns(unpainted(l)))
	}
	b.WriteString(eraseBelow)
	v.write(b.String())
	v.last = frame
}

// frame is what stands on the screen: the whole table, or, on a low screen, the part around the work.
func (v *Live) frame(width int) []string {
	now := v.o.now()
	lines := append([]string{v.m.header(width, v.st), ""}, v.m.table(now, width, v.st)...)
	work := 0
	for i, r := range v.m.visible() {
		if r.state(false) != "" {
			work = i + 2
		}
	}
	if v.stopping {
		lines = append(lines, "", clip("Stopping. Press Ctrl-C again to end at once.", width-1))
		work = len(lines) - 1
	}
	if v.o.Height != nil {
		// One line is the cursor's. What is scrolled out of the screen could not be redrawn.
		if room := v.o.Height() - 1; room > 0 && len(lines) > room {
			from := min(max(work-room+1, 0), len(lines)-room)
			lines = lines[from : from+room]
		}
	}
	return lines
}

// up moves to the first line of what was drawn. A window made narrower since has broken the lines into
// several, as terminals do that reflow.
func (v *Live) up(width int) string {
	n := 0
	for _, c := range v.drawn {
		n += 1 + max(c-1, 0)/width
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA", n)
}

func (v *Live) erase() string {
	s := v.up(v.o.width())
	v.drawn, v.last = v.drawn[:0], ""
	if s == "" {
		return ""
	}
	return s + eraseBelow
}

// finish replaces the moving table by its last state and the summary.
func (v *Live) finish() {
	width, now := v.o.width(), v.o.now()
	var b strings.Builder
	b.WriteString(v.erase())
	if !v.m.nothingToDo() {
		b.WriteString(v.m.header(width, v.st) + "\n\n")
		for _, l := range v.m.table(now, width, v.st) {
			b.WriteString(l + "\n")
		}
		b.WriteString("\n")
	}
	for _, l := range v.m.summary(now, width, v.st) {
		b.WriteString(l + "\n")
	}
	v.write(strings.ReplaceAll(b.String(), "\n", "\r\n"))
	v.close()
}

// write ignores errors: a terminal that went away must not stop the work.
func (v *Live) write(s string) { _, _ = v.o.Out.Write([]byte(s)) }

// unpainted is s without the colours.
func unpainted(s string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		_, s, _ = strings.Cut(rest, "m")
	}
}
