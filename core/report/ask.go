package report

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
)

// Question is something only the owner can decide.
type Question struct {
	Text string // ends with a question mark
	Cost string // what a yes costs, one sentence
	// Default is the answer to an empty line.
	Default bool
}

// Answer is how a question was answered.
type Answer int

// The answers. NotAsked means that there was nobody to ask, and says neither yes nor no.
const (
	NotAsked Answer = iota
	No
	Yes
)

// Asker asks the owner.
type Asker interface {
	Ask(context.Context, Question) (Answer, error)
}

// Always answers every question with yes (--yes).
type Always struct{}

// Ask answers yes.
func (Always) Ask(context.Context, Question) (Answer, error) { return Yes, nil }

// Never asks nobody: there is no terminal.
type Never struct{}

// Ask answers that nobody was asked.
func (Never) Ask(context.Context, Question) (Answer, error) { return NotAsked, nil }

// Prompt asks on a terminal.
type Prompt struct {
	In  io.Reader
	Out io.Writer
	// Pause takes away what is drawn in place, and brings it back; may be nil.
	Pause func() (resume func())
}

// Ask writes the question and reads the answer. It ends with the context's error when that is done first.
func (p Prompt) Ask(ctx context.Context, q Question) (Answer, error) {
	if p.Pause != nil {
		defer p.Pause()()
	}
	choice := "[y/N]"
	if q.Default {
		choice = "[Y/n]"
	}
	if q.Cost != "" {
		_, _ = fmt.Fprintln(p.Out, clean(q.Cost))
	}
	// Reading a terminal cannot be called off, so it is left behind when the context ends: the program ends then.
	in, read := bufio.NewReader(p.In), make(chan string)
	fail := make(chan error, 1)
	line := func() {
		s, err := in.ReadString('\n')
		if err != nil && s == "" {
			fail <- err
			return
		}
		select {
		case read <- s:
		case <-ctx.Done():
		}
	}
	for {
		_, _ = fmt.Fprintf(p.Out, "%s %s ", clean(q.Text), choice)
		go line()
		select {
		case <-ctx.Done():
			_, _ = fmt.Fprintln(p.Out)
			return NotAsked, ctx.Err()
		case err := <-fail:
			_, _ = fmt.Fprintln(p.Out)
			if err == io.EOF {
				return NotAsked, nil
			}
			return NotAsked, fmt.Errorf("read the answer: %w", err)
		case s := <-read:
			switch strings.ToLower(strings.TrimSpace(s)) {
			case "y", "yes":
				return Yes, nil
			case "n", "no":
				return No, nil
			case "":
				if q.Default {
					return Yes, nil
				}
				return No, nil
			}
		}
	}
}
