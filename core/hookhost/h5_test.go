package hookhost

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

// goHook builds a hook of testdata with the Go toolchain.
func goHook(t testing.TB, name string) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), name+".wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "./testdata/"+name)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the hook %s: %v\n%s", name, err, b)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func mustAsk(t testing.TB, h *Host, m Module, req sdk.Request) Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := h.Ask(ctx, m, req)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rawAnswer is the bytes that a module wrote.
func rawAnswer(t testing.TB, h *Host, m Module, req sdk.Request) string {
	t.Helper()
	request, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := h.run(t.Context(), m, request)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestH5SameAnswer holds that a hook that reads the clock, random bytes, the order of maps and of goroutines answers
// the same request with the same bytes: in one child, in another, and from memory.
func TestH5SameAnswer(t *testing.T) {
	m := NewModule("clock", goHook(t, "clock"))
	req := detect()
	req.Hook = "clock"
	hosts := []*Host{New(Options{}), New(Options{}), New(Options{Memory: DirMemory(filepath.Join(t.TempDir(), "answers"))})}
	want := rawAnswer(t, hosts[0], m, req)
	for i, h := range hosts {
		for range 2 {
			if got := rawAnswer(t, h, m, req); got != want {
				t.Errorf("host %d answers\n%s\nand not\n%s", i, got, want)
			}
		}
	}
	first, second := mustAsk(t, hosts[2], m, req), mustAsk(t, hosts[2], m, req)
	if first.Remembered || !second.Remembered {
		t.Errorf("remembered: %v, then %v", first.Remembered, second.Remembered)
	}
	a, _ := json.Marshal(first.Response)
	b, _ := json.Marshal(second.Response)
	if string(a) != string(b) || strings.TrimSpace(want) != string(a) {
		t.Errorf("answered\n%s\n%s\n%s", want, a, b)
	}
	for _, h := range hosts {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	all := strings.Join(first.Response.Why, "\n")
	for _, part := range []string{"began 2000-01-01 00:00:00", "took 1h0m0", "environment [] arguments []"} {
		if !strings.Contains(all, part) {
			t.Errorf("the hook did not see %q:\n%s", part, all)
		}
	}
	if !strings.Contains(all, "file open /etc/hostname: ") {
		t.Errorf("the hook saw a file:\n%s", all)
	}
	other := req
	other.Round = 1
	h := New(Options{})
	defer h.Close()
	if rawAnswer(t, h, m, other) == want {
		t.Error("another request gets the same random bytes")
	}
}

// dice is a module that answers with the clock and random bytes, as letters.
func dice() []byte {
	const from, n = 2048, 24
	text := `{"api":"rigup.hook/v1","kind":"decline","why":["` + strings.Repeat("?", n) + `"]}`
	to := int32(1024 + strings.IndexByte(text, '?'))
	code := w.Cat(
		w.Const(0), w.Const64(1), w.Const(from), w.Call(w.ClockTime), []byte{w.Drop},
		w.Const(from+8), w.Const(n-8), w.Call(w.RandomGet), []byte{w.Drop})
	for i := range int32(n) {
		load := w.Cat(w.Const(from+i), []byte{0x2d, 0, 0}) // i32.load8_u
		code = w.Cat(code, w.Const(to+i), load, w.Const(15), []byte{0x71}, w.Const('a'), []byte{w.Add, 0x3a, 0, 0})
	}
	m := w.Command(w.Cat(code, w.Write(1, 1024, int32(len(text)))))
	m.Data = []byte(text)
	return m.Bytes()
}

// TestH5World pins the clock and the random bytes: they have to be the same on every platform and in every version.
func TestH5World(t *testing.T) {
	e, err := newEngine(t.Context(), dice(), Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"api":"rigup.hook/v1","kind":"decline","why":["acccpmdnicojeaahcgcemfjm"]}`
	for range 2 {
		if o := e.run(t.Context(), [32]byte{1, 2, 3}, []byte("{}")); string(o.answer) != want {
			t.Errorf("answered %s%s, want %s", o.answer, o.text, want)
		}
	}
}
