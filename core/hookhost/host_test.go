package hookhost

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

// failed is the failure of an error.
func failed(t *testing.T, err error) *Failure {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v is no failure", err)
	}
	return f
}

func pid(t *testing.T, h *Host, m Module) int {
	t.Helper()
	s := h.sessions[m.Sum]
	if s == nil || s.child == nil {
		t.Fatal("the module has no child")
	}
	return s.child.process.Pid
}

func TestOneChildForAModule(t *testing.T) {
	var e ended
	h := New(Options{observe: e.add})
	m := hello()
	mustAsk(t, h, m, detect())
	first := pid(t, h, m)
	mustAsk(t, h, m, detect())
	if second := pid(t, h, m); second != first {
		t.Errorf("the second request started another child: %d, then %d", first, second)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if len(e.states) != 1 {
		t.Errorf("%d children are gone, want 1", len(e.states))
	}
	_, err := h.Ask(t.Context(), m, detect())
	if f := failed(t, err); f.Cause != Unable || !strings.Contains(f.Text, "closed") {
		t.Errorf("a closed host says %v", f)
	}
}

func TestChildThatDiesIsStartedAgain(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	m := hello()
	mustAsk(t, h, m, detect())
	before := pid(t, h, m)
	c := h.sessions[m.Sum].child
	if err := c.process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.gone
	mustAsk(t, h, m, detect())
	if after := pid(t, h, m); after == before {
		t.Error("the child that was killed is still there")
	}
}

func TestAskAfterAFailure(t *testing.T) {
	h := New(Options{Limits: short()})
	defer h.Close()
	m := NewModule("loop", w.Loop())
	for range 2 {
		_, err := h.Ask(t.Context(), m, detect())
		if f := failed(t, err); f.Cause != TimedOut {
			t.Fatalf("failed with %v, want %v", f, TimedOut)
		}
	}
	mustAsk(t, h, hello(), detect())
}

// TestE1ContextEndsTheHook holds that a hook ends when who asks it no longer waits.
func TestE1ContextEndsTheHook(t *testing.T) {
	var e ended
	h := New(Options{observe: e.add, Limits: Limits{Run: time.Minute, Kill: time.Minute}})
	defer h.Close()
	for _, name := range []string{"loop", "recursion without a loop"} {
		for _, c := range runaways() {
			if c.name != name {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			begin := time.Now()
			_, err := h.Ask(ctx, NewModule(name, c.module()), detect())
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: failed with %v, want the context's error", name, err)
			}
			if took := time.Since(begin); took > slow {
				t.Errorf("%s: took %v", name, took)
			}
		}
	}
	if len(e.states) != 2 {
		t.Errorf("%d children are gone, want 2", len(e.states))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Ask(ctx, hello(), detect()); !errors.Is(err, context.Canceled) {
		t.Errorf("failed with %v, want the context's error", err)
	}
}

// TestE1CloseEndsTheHook holds that nobody waits for a hook when the program ends.
func TestE1CloseEndsTheHook(t *testing.T) {
	var e ended
	h := New(Options{observe: e.add, Limits: Limits{Run: time.Minute, Kill: time.Minute}})
	loop := NewModule("loop", w.Loop())
	errs := make(chan error)
	for range 2 { // one of them waits for its turn
		go func() {
			_, err := h.Ask(context.Background(), loop, detect())
			errs <- err
		}()
	}
	for busy := false; !busy; time.Sleep(time.Millisecond) {
		h.mu.Lock()
		s := h.sessions[loop.Sum]
		busy = s != nil && len(s.turn) == 0
		h.mu.Unlock()
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if f := failed(t, <-errs); f.Cause != Unable || !strings.Contains(f.Text, "closed") {
			t.Errorf("failed with %v", f)
		}
	}
	if len(e.states) > 1 {
		t.Errorf("%d children were started", len(e.states))
	}
}

func TestModulesSideBySide(t *testing.T) {
	var e ended
	h := New(Options{observe: e.add})
	var all sync.WaitGroup
	for i := range 3 * maxChildren {
		why := fmt.Sprint("module ", i)
		m := NewModule(why, w.Answer(sdk.No(why)))
		for range 3 {
			all.Go(func() {
				if a := mustAsk(t, h, m, detect()); a.Response.Why[0] != why {
					t.Errorf("%s answered %v", why, a.Response.Why)
				}
			})
		}
	}
	all.Wait()
	alive := 0
	for _, s := range h.sessions {
		if s.child != nil && s.child.alive() {
			alive++
		}
	}
	// Those at work are not ended to make room, and three times as many modules as there is room for were at work.
	if alive > 3*maxChildren {
		t.Errorf("%d children are left", alive)
	}
	mustAsk(t, h, NewModule("last", w.Answer(sdk.No("last"))), detect())
	alive = 0
	for _, s := range h.sessions {
		if s.child != nil && s.child.alive() {
			alive++
		}
	}
	if alive > maxChildren {
		t.Errorf("%d children are left, want at most %d", alive, maxChildren)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range e.states {
		if s == nil {
			t.Error("a child is not gone")
		}
	}
}

// TestH2SwappedBytes holds that bytes other than those that were hashed do not run.
func TestH2SwappedBytes(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	m := hello()
	m.Bytes = w.Echo([]byte(answer + " "))
	_, err := h.Ask(t.Context(), m, detect())
	if f := failed(t, err); f.Cause != Refused || !strings.Contains(f.Text, "another SHA-256") {
		t.Errorf("failed with %v", f)
	}
	mustAsk(t, h, hello(), detect()) // what pretended to be it does not spoil it
}

func TestLog(t *testing.T) {
	text := strings.Repeat("line\x1b[31m \u202e\xff1\n", 5000)
	m := answering(w.Write(2, 1024+int32(len(answer)), int32(len(text))))
	m.Data = append(m.Data, text...)
	m.Pages = 3
	h := New(Options{})
	defer h.Close()
	a := mustAsk(t, h, NewModule("log", m.Bytes()), detect())
	if !strings.HasPrefix(a.Log, "line[31m 1\nline[31m 1\n") || len(a.Log) > 16<<10 || len(a.Log) < 8<<10 {
		t.Errorf("the log has %d bytes: %.60q", len(a.Log), a.Log)
	}
	crash := NewModule("crash", w.Writing(2, []byte("panic: no"), w.Exit(2)))
	a, err := h.Ask(t.Context(), crash, detect())
	if f := failed(t, err); f.Log != "panic: no" || a.Log != f.Log || f.Text != "ended with exit code 2" {
		t.Errorf("failed with %+v and the log %q", f, a.Log)
	}
}

func TestRequestTooLarge(t *testing.T) {
	h := New(Options{})
	defer h.Close()
	req := detect()
	req.Failure = &sdk.Failure{Output: strings.Repeat("x", 9<<20)}
	_, err := h.Ask(t.Context(), hello(), req)
	if f := failed(t, err); f.Cause != Unable || !strings.Contains(f.Text, "9 MiB") {
		t.Errorf("failed with %v", f)
	}
}

func TestNoSuchProgram(t *testing.T) {
	h := New(Options{Exe: t.TempDir() + "/rigup"})
	defer h.Close()
	_, err := h.Ask(t.Context(), hello(), detect())
	if f := failed(t, err); f.Cause != Unable || !strings.HasPrefix(f.Text, "was not asked: start the process that runs hooks") {
		t.Errorf("failed with %v", f)
	}
}

// TestH1ChildIsNotTrusted holds that nothing that a child does makes the parent wait longer, need more memory, show
// hidden text, or take an answer that is none.
func TestH1ChildIsNotTrusted(t *testing.T) {
	strange := []Cause{Crashed, Unable, TimedOut}
	for _, c := range []struct {
		what   string
		causes []Cause
		text   string
	}{
		{"silent", []Cause{Unable}, "did not start within"},
		{"gone", []Cause{Unable}, "exit status 3"},
		{"babble", []Cause{Unable}, "did not start"},
		{"shouts", []Cause{Unable}, "did not start"},
		{"complains", []Cause{Unable}, "cannot [31mwork here"},
		{"no module", strange, ""},
		{"large log", strange, ""},
		{"unknown frame", strange, ""},
		{"wrong way", strange, ""},
		{"no log", strange, ""},
		{"large answer", strange, ""},
		{"half answer", strange, ""},
		{"unknown cause", strange, ""},
		{"hidden text", []Cause{Crashed}, "said [31mred and more!!!"},
		{"stalls", []Cause{TimedOut}, "did not end within 0.6 s"},
		{"more", []Cause{""}, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := short()
			l.Start = time.Second
			o := Options{Args: []string{evilArg, c.what}, Limits: l}
			a := askOnce(t, o, hello().Bytes)
			a.hold(t, o, len(hello().Bytes), c.causes, c.text)
			if a.err != nil {
				f := failed(t, a.err)
				if strings.ContainsFunc(f.Text+f.Log, func(r rune) bool { return hidden(r) && r != '\n' }) || len(f.Text) > 700 {
					t.Errorf("shows %q and %q", f.Text, f.Log)
				}
			}
		})
	}
}
