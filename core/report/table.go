package report

import (
	"math"
	"strings"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/units"
)

const maxTable = 96 // columns; wider than this a line's time is far from its text

// layout is how the table fits a width.
type layout struct {
	width  int // columns that may be filled; the last is left free, or some terminals would wrap
	indent string
	gap    string
	title  int
}

func fit(columns int) layout {
	l := layout{width: min(columns-1, maxTable), indent: "  ", gap: "  ", title: 12}
	if columns < 80 {
		l.title = 10
	}
	if columns < 60 {
		l.indent, l.gap, l.title = "", " ", 9
	}
	return l
}

// header is the first line: what runs, on which cluster and machine.
func (m *model) header(width int, st style) string {
	parts := []string{}
	if m.run.Cluster != "" {
		parts = append(parts, "cluster "+clean(m.run.Cluster))
	}
	if m.run.Machine != "" {
		parts = append(parts, clean(m.run.Machine))
	}
	name := "rigup"
	if m.run.Version != "" {
		name += " " + m.run.Version
	}
	rest := clip(strings.Join(parts, "   "), width-1-len(name)-3)
	if rest == "" {
		return st.paint(bold, name)
	}
	return st.paint(bold, name) + "   " + rest
}

// mark is how a state looks at the beginning of a line.
func mark(s event.State) (sign, color, word string) {
	switch s {
	case event.Done:
		return "ok", green, ""
	case event.Running:
		return "..", cyan, ""
	case event.Planned:
		return "->", cyan, ""
	case event.Skipped:
		return "--", dim, "skipped"
	case event.Degraded:
		return " !", yellow, ""
	case event.Failed:
		return "!!", red, "failed"
	}
	return "--", dim, ""
}

// cells are the parts of a line.
type cells struct {
	sign, color string
	time        string             // how long it took or has taken; may be empty
	text        func(n int) string // in n columns
	waiting     bool
}

// cells renders the row. over says that the run has ended.
func (r *row) cells(now time.Time, over, interrupted bool) cells {
	state := r.state(over)
	sign, color, word := mark(state)
	c := cells{sign: sign, color: color, waiting: state == ""}
	fixed := func(s string) func(int) string { return func(n int) string { return clip(s, n) } }
	switch {
	case c.waiting:
		c.text = fixed("")
	case state == event.Running && over:
		c.sign, c.color, c.text = "!!", red, fixed("not finished")
		if interrupted {
			c.text = fixed("interrupted")
		}
	case state == event.Running:
		c.time, c.text = elapsed(now.Sub(r.begun)), r.live
	default:
		if d := r.took(); d >= 50*time.Millisecond { // less is 0.0 s
			c.time = units.Duration(d)
		}
		c.text = fixed(worded(word, r.text(state)))
	}
	return c
}

// line renders the row on one line of a terminal.
func (r *row) line(now time.Time, over, interrupted bool, l layout, st style) string {
	c := r.cells(now, over, interrupted)
	s := l.indent + st.paint(c.color, c.sign) + l.gap
	if c.waiting {
		return s + st.paint(dim, r.title)
	}
	room := l.width - len(l.indent) - len(c.sign) - len(l.gap) - l.title
	if c.time == "" || room < len(c.time)+2 {
		return strings.TrimRight(s+pad(r.title, l.title)+c.text(max(room, 0)), " ")
	}
	room -= len(c.time) + 2
	return s + pad(r.title, l.title) + pad(c.text(room), room) + "  " + st.paint(dim, c.time)
}

// log renders the row as a line of a log, where the time follows the text.
func (r *row) log(now time.Time, over, interrupted bool) string {
	c := r.cells(now, over, interrupted)
	s := "  " + c.sign + "  " + pad(r.title, 12) + c.text(math.MaxInt)
	if c.time != "" {
		s += "  (" + c.time + ")"
	}
	return s
}

// worded puts the word of a state before the text, unless the text says it itself.
func worded(word, text string) string {
	switch {
	case word == "" || strings.Contains(text, word):
		return text
	case text == "":
		return word
	}
	return word + ": " + lower(text)
}

// live is the text of a running line in n columns: what is done, how far it is, the step. The numbers are
// kept longest: they are what moves.
func (r *row) live(n int) string {
	s := r.running()
	if s == nil {
		return clip(r.text(event.Running), n)
	}
	far, step := "", s.step
	if s.progress != nil {
		far = progress(*s.progress)
		if w := clean(s.progress.What); w != "" {
			step = w
		}
	}
	const between = 2
	join := func(parts ...string) string {
		kept := parts[:0]
		for _, p := range parts {
			if p != "" {
				kept = append(kept, p)
			}
		}
		return strings.Join(kept, strings.Repeat(" ", between))
	}
	if far == "" && step != "" { // without numbers the step says most
		if t := join(s.text, step); columns(t) <= n {
			return t
		}
		return clip(step, n)
	}
	if t := join(s.text, far, step); columns(t) <= n {
		return t
	}
	if t := join(s.text, far); s.text != "" && columns(t) <= n {
		if left := n - columns(t) - between; left >= 12 {
			return join(t, clip(step, left))
		}
		return t
	}
	if left := n - columns(far) - between; left >= 8 {
		if s.text == "" {
			return join(far, clip(step, left))
		}
		return join(clip(s.text, left), far)
	}
	return clip(far, n)
}

// table renders all lines.
func (m *model) table(now time.Time, width int, st style) []string {
	over := m.result != nil
	interrupted := over && m.interrupted()
	l := fit(width)
	out := make([]string, 0, len(m.rows))
	for _, r := range m.visible() {
		out = append(out, r.line(now, over, interrupted, l, st))
	}
	return out
}
