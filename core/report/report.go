// Package report renders what a run tells (core/event) for a terminal, a log and a program, and the screens
// that stand by themselves. No other package prints.
package report

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
	"rigup.dev/rigup/core/event"
)

// Reporter renders a run.
type Reporter interface {
	event.Sink
	// Interrupt says that the run was asked to stop and is stopping.
	Interrupt()
	// Close leaves the terminal as it was found. It may be called at any time and more than once; after it
	// nothing is written.
	Close()
}

// The values of --output.
const (
	Text = "text"
	JSON = "json"
)

// Options say where and how to render.
type Options struct {
	Out    io.Writer
	Width  func() int // columns of the terminal; nil: 100
	Height func() int // lines of the terminal; nil: 0, unlimited
	Color  bool
	Now    func() time.Time // nil: time.Now
	// Every is how often the running line is drawn, or how often a log is looked after; 0: never by itself.
	Every time.Duration
	// Verbose adds a line for every step.
	Verbose bool
	// Explain adds to a plan which hook said what.
	Explain bool
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

const (
	defaultWidth = 100
	liveEvery    = 125 * time.Millisecond
	logEvery     = time.Second
)

func (o Options) width() int {
	if o.Width == nil {
		return defaultWidth
	}
	if w := o.Width(); w > 0 {
		return w
	}
	return defaultWidth
}

// Terminal says what out is, and how to render on it. ok is false when nothing may be drawn in place:
// out is not a terminal, or one that understands no control sequences.
func Terminal(out io.Writer, env func(string) string) (o Options, ok bool) {
	o = Options{Out: out, Every: logEvery}
	f, isFile := out.(*os.File)
	if !isFile {
		return o, false
	}
	fd := int(f.Fd())
	if !term.IsTerminal(fd) || env("TERM") == "dumb" || !enableVT(f) {
		return o, false
	}
	o.Every = liveEvery
	o.Color = env("NO_COLOR") == "" // https://no-color.org
	o.Width = func() int { w, _, _ := term.GetSize(fd); return w }
	o.Height = func() int { _, h, _ := term.GetSize(fd); return h }
	return o, true
}

// Show is what a renderer shows beside the usual: see Options.
type Show struct{ Verbose, Explain bool }

// Open returns the renderer that fits: JSON when it is asked for, a live table on a terminal, plain lines
// everywhere else and when every step is to be seen.
func Open(format string, show Show, out io.Writer, env func(string) string) Reporter {
	if format == JSON {
		return NewJSON(Options{Out: out})
	}
	o, live := Terminal(out, env)
	o.Verbose, o.Explain = show.Verbose, show.Explain
	if live && !show.Verbose {
		return NewLive(o)
	}
	o.Every = logEvery
	return NewPlain(o)
}
