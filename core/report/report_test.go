package report

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

var update = flag.Bool("update", false, "write the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}

func play(name string, sink event.Sink, c *clock, draw func()) {
	for _, sc := range scenarios {
		if sc.name == name {
			sc.play(&script{sink, c, draw})
		}
	}
}

func liveOn(s *screen, c *clock, color bool) *Live {
	return NewLive(Options{Out: s, Now: c.now, Color: color, Explain: true,
		Width: func() int { return s.width }, Height: func() int { return s.height }})
}

func TestGoldenLive(t *testing.T) {
	for _, sc := range scenarios {
		for _, width := range []int{100, 60, 40} {
			t.Run(fmt.Sprint(sc.name, "-", width), func(t *testing.T) {
				c, s := newClock(), newScreen(width, 24)
				v := liveOn(s, c, true)
				play(sc.name, v, c, v.Draw)
				v.Close()
				if len(s.bad) > 0 {
					t.Errorf("the terminal was told %q", s.bad)
				}
				if !s.cursor {
					t.Error("the cursor is still hidden")
				}
				golden(t, fmt.Sprintf("live-%d/%s.txt", width, sc.name), s.String())
			})
		}
	}
}

func TestGoldenPlain(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			var b bytes.Buffer
			c := newClock()
			v := NewPlain(Options{Out: &b, Now: c.now, Explain: true})
			play(sc.name, v, c, v.Tick)
			v.Close()
			if i := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); i >= 0 {
				t.Errorf("control character at %d: %q", i, b.String()[i:i+1])
			}
			golden(t, "plain/"+sc.name+".txt", b.String())
		})
	}
}

func TestGoldenJSON(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			var b bytes.Buffer
			c := newClock()
			v := NewJSON(Options{Out: &b, Now: c.now})
			play(sc.name, v, c, nil)
			v.Close()
			golden(t, "json/"+sc.name+".jsonl", b.String())
		})
	}
}

// Every moving line stays on one line, whatever the width, and the frame within the screen.
func TestLiveNeverWrapsNorScrolls(t *testing.T) {
	for _, sc := range scenarios {
		for width := 20; width <= 130; width += 7 {
			for _, height := range []int{5, 8, 24} {
				c, s := newClock(), newScreen(width, height)
				v := liveOn(s, c, false)
				play(sc.name, v, c, func() {
					v.Draw()
					for _, l := range v.frame(width) {
						if columns(l) >= width {
							t.Fatalf("%s at %d: %q takes %d columns", sc.name, width, l, columns(l))
						}
					}
				})
				v.Close()
				if len(s.bad) > 0 {
					t.Errorf("%s at %dx%d: %q", sc.name, width, height, s.bad)
				}
			}
		}
	}
}

// A window made narrower in the middle leaves no piece of the old table behind.
func TestLiveResize(t *testing.T) {
	c, s := newClock(), newScreen(100, 40)
	v := liveOn(s, c, false)
	play("install-running", v, c, v.Draw)
	s.reflow(45)
	c.move(time.Second)
	v.Draw()
	s.reflow(120)
	c.move(time.Second)
	v.Draw()
	v.Close()
	if got := strings.Count(s.String(), "Image"); got != 1 {
		t.Errorf("the line of the image stands there %d times:\n%s", got, s)
	}
}

func TestLiveInterrupt(t *testing.T) {
	c, s := newClock(), newScreen(60, 24)
	v := liveOn(s, c, false)
	play("install-running", v, c, v.Draw)
	v.Interrupt()
	golden(t, "live-60/stopping.txt", s.String())
	if s.cursor {
		t.Error("the cursor is shown while the table moves")
	}
	v.Close()
	v.Close()
	v.Draw()
	if !s.cursor {
		t.Error("the cursor is hidden after the end")
	}
}

func TestLivePauseLeavesRoomForAQuestion(t *testing.T) {
	c, s := newClock(), newScreen(60, 24)
	v := liveOn(s, c, false)
	play("install-running", v, c, v.Draw)
	resume := v.Pause()
	v.Draw()
	if strings.Contains(s.String(), "Image") || !s.cursor {
		t.Errorf("the table stands there while a question is asked:\n%s", s)
	}
	resume()
	v.Close()
	if !strings.Contains(s.String(), "Image") {
		t.Errorf("the table did not come back:\n%s", s)
	}
}

func TestPlainSpeaksWhenItTakesLong(t *testing.T) {
	var b bytes.Buffer
	c := newClock()
	v := NewPlain(Options{Out: &b, Now: c.now})
	s := &script{v, c, nil}
	s.run("install")
	s.begin("image", "pulling")
	s.progress("image", event.Progress{Unit: event.Bytes, Done: 1e6, Total: 40e6})
	for range 60 {
		c.move(time.Second)
		v.Tick()
	}
	v.Close()
	if got := strings.Count(b.String(), "1 of 40 MB"); got != 4 { // after 10, 25, 40 and 55 s
		t.Errorf("%d lines in a minute:\n%s", got, &b)
	}
}

func TestVerboseTellsSteps(t *testing.T) {
	var b bytes.Buffer
	c := newClock()
	v := NewPlain(Options{Out: &b, Now: c.now, Verbose: true})
	play("install-cpu", v, c, nil)
	if !strings.Contains(b.String(), "cluster: creating the node") {
		t.Errorf("no step in:\n%s", &b)
	}
}

// The result is the last thing written, whatever comes after it.
func TestNothingAfterTheResult(t *testing.T) {
	var plain, js bytes.Buffer
	c, s := newClock(), newScreen(80, 24)
	sinks := []Reporter{liveOn(s, c, false), NewPlain(Options{Out: &plain, Now: c.now}), NewJSON(Options{Out: &js, Now: c.now})}
	written := func() string { return s.String() + plain.String() + js.String() }
	for _, v := range sinks {
		play("install-cpu", v, c, nil)
	}
	before := written()
	for _, v := range sinks {
		(&script{v, c, nil}).stage("ready", event.Done, "late", 0)
		v.Interrupt()
		v.Close()
	}
	if written() != before {
		t.Error("something was written after the result")
	}
}

// E3: what was skipped says so.
func TestE3_SkippedSaysSkipped(t *testing.T) {
	for _, text := range []string{"", "no GPU here", "skipped: no GPU here"} {
		r := newRow("Check", "verify")
		r.stages[0].state, r.stages[0].text = event.Skipped, text
		if l := r.log(time.Time{}, false, false); strings.Count(l, "skipped") != 1 {
			t.Errorf("%q", l)
		}
	}
}

// G4: whatever the reason for the CPU, the summary tells it, with its remedies and its id.
func TestG4_EveryReasonIsInTheSummary(t *testing.T) {
	for _, id := range reason.IDs() {
		r := reason.New(id, "gpu", "a GPU")
		for _, changed := range []bool{true, false} {
			var b bytes.Buffer
			c := newClock()
			v := NewPlain(Options{Out: &b, Now: c.now})
			s := &script{v, c, nil}
			s.run("install")
			s.result(0, "cpu", &r, "", event.Result{Changed: changed})
			got := strings.Join(strings.Fields(b.String()), " ")
			if quietMode(&r) {
				if want := strings.TrimSuffix(lower(clean(r.Text)), "."); !strings.Contains(got, want) {
					t.Errorf("%s: no %q in %q", id, want, got)
				}
				continue
			}
			for _, want := range append([]string{r.Text, string(id)}, r.Remedy...) {
				if !strings.Contains(got, clean(want)) && !strings.Contains(strings.ReplaceAll(got, " "+string(id), ""), clean(want)) {
					t.Errorf("%s: no %q in %q", id, want, got)
				}
			}
		}
	}
}
