package hookhost

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

// allocated is how many bytes f allocates, and what else allocates meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzInspect holds that the static check takes time and memory in proportion to the module, and that what it lets
// through makes the interpreter neither panic nor need much.
func FuzzInspect(f *testing.F) {
	for _, c := range corpus() {
		if b := c.module(); len(b) < 4<<10 {
			f.Add(b)
		}
	}
	f.Add(w.WithManifest(hello().Bytes, testManifest("test")))
	f.Add(w.WithManifest(w.WithManifest(dice(), testManifest("one")), testManifest("two")))
	f.Add(everything())
	f.Fuzz(func(t *testing.T, module []byte) {
		var s Static
		var err error
		if n := allocated(func() { s, err = Inspect(module) }); n > uint64(256<<10+100*len(module)) {
			t.Fatalf("allocated %d bytes for a module of %d", n, len(module))
		}
		if err != nil {
			if !isRefusal(err) || strings.ContainsFunc(err.Error(), hidden) || len(err.Error()) > 1000 {
				t.Fatalf("refused with %q", err)
			}
			return
		}
		without, err := WithoutManifest(module)
		if err != nil {
			t.Fatalf("the manifests of a good module cannot be removed: %v", err)
		}
		again, err := Inspect(without)
		if err != nil || len(again.Manifests) > 0 || again.Functions != s.Functions || !reflect.DeepEqual(again.Imports, s.Imports) {
			t.Fatalf("without its manifests %+v is %+v, %v", s, again, err)
		}
		core, err := bare(module)
		if err != nil {
			t.Fatal(err)
		}
		l := Limits{Run: 50 * time.Millisecond, Pages: 16}.withDefaults()
		n := allocated(func() {
			e, err := newEngine(context.Background(), core, l)
			if err == nil {
				e.code.Close(context.Background())
				err = e.runtime.Close(context.Background())
			}
			if err != nil && !isRefusal(err) {
				t.Fatal(err)
			}
		})
		// A local variable is 8 bytes in the interpreter, and what it pushes for one 50 more.
		if n > uint64(64<<20+2000*len(module)) {
			t.Fatalf("the interpreter allocated %d bytes for a module of %d", n, len(module))
		}
	})
}

func isRefusal(err error) bool {
	var r refusal
	return errors.As(err, &r)
}

// everything is a module with every kind of section and item.
func everything() []byte {
	sec, vec, cat := w.Section, w.Vec, w.Cat
	constant := cat(w.Const(0), []byte{w.End})
	return w.Raw(
		w.Custom("producers", []byte("x")),
		sec(w.TypeID, vec([]byte{0x60, 0, 0}, []byte{0x60, 2, 0x7f, 0x7e, 1, 0x7d}, []byte{0x60, 3, 0x7c, 0x7b, 0x70, 1, 0x6f})),
		sec(w.ImportID, vec(cat(w.Name(w.WASI), w.Name("sched_yield"), []byte{0, 0}))),
		sec(w.FunctionID, vec([]byte{0})),
		sec(w.TableID, vec([]byte{0x70, 1, 10, 20})),
		sec(w.MemoryID, vec([]byte{1, 1, 2})),
		sec(w.GlobalID, vec(cat([]byte{0x7f, 1}, constant), cat([]byte{0x7e, 0}, w.Const64(-1), []byte{w.End}),
			[]byte{0x7d, 0, 0x43, 0, 0, 0, 0, w.End}, []byte{0x7c, 0, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, w.End},
			[]byte{0x70, 0, 0xd0, 0x70, w.End}, []byte{0x70, 0, 0xd2, 0, w.End}, []byte{0x7f, 0, 0x23, 0, w.End},
			cat([]byte{0x7b, 0, 0xfd, 12}, make([]byte, 16), []byte{w.End}))),
		sec(w.ExportID, vec(cat(w.Name("_start"), []byte{0, 1}), cat(w.Name("t"), []byte{1, 0}), cat(w.Name("g"), []byte{3, 0}))),
		sec(w.StartID, []byte{1}),
		sec(w.ElementID, vec(
			cat([]byte{0}, constant, []byte{1, 0}), []byte{1, 0, 1, 0}, cat([]byte{2, 0}, constant, []byte{0, 1, 0}), []byte{3, 0, 1, 0},
			cat([]byte{4}, constant, []byte{1, 0xd2, 0, w.End}), []byte{5, 0x70, 1, 0xd2, 0, w.End},
			cat([]byte{6, 0}, constant, []byte{0x70, 1, 0xd2, 0, w.End}), []byte{7, 0x70, 1, 0xd0, 0x70, w.End})),
		sec(w.DataCountID, []byte{3}),
		sec(w.CodeID, vec(cat(w.U(6), vec([]byte{3, 0x7f}, []byte{1, 0x7e}), []byte{w.End}))),
		sec(w.DataID, vec(cat([]byte{0}, constant, w.Name("a")), cat([]byte{1}, w.Name("b")), cat([]byte{2, 0}, constant, w.Name("c")))),
		w.Custom("name", []byte{0, 2, 1, 'x'}),
	)
}

func TestInspectEverything(t *testing.T) {
	if _, err := Inspect(everything()); err != nil {
		t.Errorf("refused: %v", err)
	}
}

// FuzzDecodeResponse holds that what is taken as a response is bounded, hides nothing, and is taken again.
func FuzzDecodeResponse(f *testing.F) {
	phases := []sdk.Phase{sdk.Detect, sdk.Decide, sdk.Diagnose}
	for i := range phases {
		for _, r := range full() {
			b, err := json.Marshal(r)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, byte(i))
		}
	}
	for _, text := range []string{"", answer + answer, `{"api":"rigup.hook/v1","kind":"decline","kind":"decline"}`, `{"API":"rigup.hook/v1"}`, strings.Repeat("[", 100), "\xff",
		`{"api":"rigup.hook/v1","kind":"probes","probes":[{"id":"a","kind":"pci.list","attach":{"kind":"cdi","env":{"A":"b"}}}]}`,
		`{"api":"rigup.hook/v1","kind":"decision","environment":{"id":"native","title":"Docker","attach":["cdi"],"memory":"host","paths":"same","warnings":[{"id":"a","text":"b"}]}}`} {
		f.Add([]byte(text), byte(1))
	}
	f.Fuzz(func(t *testing.T, b []byte, n byte) {
		req := sdk.Request{Phase: phases[int(n)%len(phases)], Kind: []sdk.Kind{sdk.GPUHook, sdk.EnvironmentHook}[int(n>>4)%2]}
		r, err := CheckResponse(req, b)
		if err != nil {
			var fail *Failure
			if !errors.As(err, &fail) || fail.Cause != Garbled || strings.ContainsFunc(fail.Text, hidden) || len(fail.Text) > 500 {
				t.Fatalf("refused with %q", err)
			}
			return
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := CheckResponse(req, first)
		if err != nil {
			t.Fatalf("%s is taken once, and then: %v", first, err)
		}
		if second, _ := json.Marshal(again); !bytes.Equal(first, second) {
			t.Fatalf("%s becomes %s", first, second)
		}
	})
}

// FuzzDecodeManifest holds that what is taken as a manifest can be written and is the same when it is read again.
func FuzzDecodeManifest(f *testing.F) {
	f.Add(document(f, testManifest("test")))
	f.Add(document(f, sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: "x", Match: sdk.Match{OS: []string{"linux"}, PCI: []string{"0x10de"}},
		Permissions: sdk.Permissions{Probes: []sdk.ProbeKind{sdk.FileRead}, Files: []string{"/proc/*"}, Attach: []sdk.AttachKind{sdk.AttachCDI}}}))
	for _, text := range []string{"", "{}", "null", "[]", `{"api":"rigup.hook/v1","abi":"wasip1-json/1"}`, `{"id":1}`, `{"id":"a","id":"b"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		module, err := AddManifest(hello().Bytes, b)
		raw := w.Cat(hello().Bytes, w.Custom(sdk.Section, b))
		s, errInspect := Inspect(raw)
		if (err == nil) != (errInspect == nil) {
			t.Fatalf("written: %v; read: %v", err, errInspect)
		}
		if err != nil {
			return
		}
		if !bytes.Equal(module, raw) {
			t.Fatal("it is written otherwise")
		}
		module, err = AddManifest(hello().Bytes, document(t, s.Manifests[0]))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Inspect(module)
		if err != nil || !bytes.Equal(document(t, again.Manifests[0]), document(t, s.Manifests[0])) {
			t.Fatalf("%+v becomes %+v, %v", s.Manifests[0], again.Manifests, err)
		}
	})
}

// FuzzFrame holds that frames make neither side allocate more than they carry and their kind may, and are read as they
// were written.
func FuzzFrame(f *testing.F) {
	for _, kind := range []byte{frameSetup, frameModule, frameRequest, frameHello, frameDecoded, frameLog, frameAnswer, frameFailure, 'x'} {
		f.Add(binary.LittleEndian.AppendUint32([]byte{kind}, 1<<32-1), true)
		f.Add(append(binary.LittleEndian.AppendUint32([]byte{kind}, 3), "abcdef"...), false)
		f.Add(binary.LittleEndian.AppendUint32([]byte{kind}, 0), true)
	}
	f.Add([]byte{}, true)
	l := Limits{Log: 1 << 10, Output: 1 << 12, Request: 1 << 12}.withDefaults()
	f.Fuzz(func(t *testing.T, b []byte, fromChild bool) {
		limit := l.fromParent
		if fromChild {
			limit = l.fromChild
		}
		r := bytes.NewReader(b)
		for {
			at := len(b) - r.Len()
			kind, payload, err := readFrame(r, limit)
			if err != nil {
				if len(payload) > 0 {
					t.Fatal("an error comes with a payload")
				}
				if at+frameHead > len(b) && at < len(b) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("a frame that is cut off: %v", err)
				}
				return
			}
			if len(payload) > limit(kind) {
				t.Fatalf("a frame %q of %d bytes", kind, len(payload))
			}
			var back bytes.Buffer
			if err := writeFrame(&back, kind, payload); err != nil || !bytes.Equal(back.Bytes(), b[at:len(b)-r.Len()]) {
				t.Fatalf("%q is written as %q, %v", b, back.Bytes(), err)
			}
		}
	})
}
