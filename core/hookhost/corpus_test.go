package hookhost

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

// hostile is one module of the corpus, and what has to become of it.
type hostile struct {
	name   string
	module func() []byte
	// check is a part of what the static check says; empty when the module passes it.
	check string
	// causes are what may become of it in the child when nothing was checked; empty means an answer.
	causes []Cause
	// text is a part of what is said about it then.
	text string
}

const answer = `{"api":"rigup.hook/v1","kind":"decline"}`

// padded is an answer of exactly so many bytes.
func padded(n int) []byte { return []byte(answer + strings.Repeat(" ", n-len(answer))) }

// answering is code before the answer of a well-behaved hook.
func answering(code ...[]byte) w.Module {
	m := w.Command(w.Cat(w.Cat(code...), w.Write(1, 1024, int32(len(answer)))))
	m.Data = []byte(answer)
	return m
}

// body is a module whose second function is code, and is not called.
func body(locals []byte, code ...[]byte) func() []byte {
	return func() []byte {
		return answering().With(w.Func{Locals: locals, Code: w.Cat(code...)})
	}
}

func times(n int, code ...[]byte) []byte { return bytes.Repeat(w.Cat(code...), n) }

func locals(n uint64) []byte { return w.Vec(w.Cat(w.U(n), []byte{w.I32})) }

// corpus is every hostile module.
func corpus() []hostile {
	return slices.Concat(bombs(), forms(), runaways(), writers(), endings(), documents())
}

// contained are the ways in which the child alone may end a module that the static check refuses.
var contained = []Cause{Refused, TooLarge, TimedOut, Crashed}[:4:4]

// bombs need more of the decoder than their size.
func bombs() []hostile {
	var out []hostile
	for id := w.TypeID; id <= w.DataID; id++ {
		if id != w.StartID {
			out = append(out, hostile{"items/" + sectionName(id), func() []byte { return w.Bomb(id) }, "claims 4294967295 items in the 5 bytes", contained, ""})
		}
	}
	raw := func(sections ...[]byte) func() []byte { return func() []byte { return w.Raw(sections...) } }
	empty := []byte{0x60, 0, 0}
	most := w.U(1<<32 - 1)
	return append(out,
		hostile{"items/tag", raw(w.Section(w.TagID, most)), "uses exceptions", contained, ""},
		hostile{"items/many types", raw(w.Section(w.TypeID, w.U(200_001), times(200_001, empty))), "claims 200001 items", append(contained, Garbled), ""},
		hostile{"parameters", raw(w.Section(w.TypeID, w.Vec(w.Cat([]byte{0x60}, most)))), "4294967295 parameters", contained, ""},
		hostile{"group of types", raw(w.Section(w.TypeID, w.Vec(w.Cat([]byte{0x4e}, most)))), "damaged type section", contained, ""},
		hostile{"name of an import", raw(w.Section(w.ImportID, w.Vec(most))), "damaged import section", contained, ""},
		hostile{"size of a section", raw(w.Cat([]byte{w.TypeID}, most)), "ends in the middle of its type section", contained, ""},
		hostile{"size of a data segment", raw(w.Section(w.DataID, w.Vec(w.Cat([]byte{1}, most)))), "damaged data section", contained, ""},
		hostile{"entries of a table", raw(w.Section(w.ElementID, w.Vec(w.Cat([]byte{1, 0}, most)))), "claims 4294967295 entries", contained, ""},
		hostile{"many entries of a table", raw(w.Section(w.ElementID, w.Vec(w.Cat([]byte{1, 0}, w.U(4_000_000), times(4_000_000, []byte{0}))))), "claims 4000000 entries", contained, ""},
		hostile{"locals/16 million", body(locals(16 << 20)), "more than 50000 local variables", contained, ""},
		hostile{"locals/128 million", body(locals(128 << 20)), "more than 50000 local variables", contained, ""},
		hostile{"locals/4 billion", body(locals(1<<32 - 1)), "more than 50000 local variables", contained, ""},
		hostile{"locals/in groups", body(w.Cat(w.U(1000), times(1000, w.U(1<<24), []byte{w.I32}))), "more than 50000 local variables", contained, ""},
		hostile{"locals/in many functions", func() []byte {
			return answering().With(slices.Repeat([]w.Func{{Locals: locals(50_000)}}, 20_000)...)
		}, "more than 500000 local variables", contained, ""},
		hostile{"table/at first", func() []byte { m := answering(); m.Table = 134_000_000; return m.Bytes() }, "a table of 134000000 entries", contained, ""},
		hostile{"table/two", raw(w.Section(w.TypeID, w.Vec(empty)), w.Section(w.TableID, w.Vec([]byte{0x70, 0, 1}, []byte{0x70, 0, 1}))), "2 items in its table section", append(contained, Garbled), ""},
		hostile{"memory/at first", func() []byte { m := answering(); m.Pages = 65536; return m.Bytes() }, "wants 4096 MiB of memory", []Cause{Refused}, ""},
		hostile{"function/2 MiB", body(nil, times(2<<20, []byte{w.Nop})), "a function of 2048 KiB", nil, ""},
		hostile{"function/1 MiB of branches", body(nil, []byte{0x02, 0x40}, times(260_000, w.Const(0), []byte{0x0d, 0}), []byte{w.End}), "", nil, ""},
		hostile{"function/one wide branch", body(nil, []byte{0x02, 0x40}, w.Const(0), []byte{0x0e}, w.U(1_000_000), times(1_000_001, []byte{0}), []byte{w.End}), "", nil, ""},
		hostile{"function/nested loops", body(nil, times(8000, []byte{0x03, 0x40}), times(8000, []byte{w.End})), "", nil, ""},
		hostile{"function/nested loops and locals", body(locals(50_000), times(8000, []byte{0x03, 0x40}), times(8000, []byte{w.End})), "", nil, ""},
		hostile{"function/nested deeply", body(nil, times(250_000, []byte{0x02, 0x40}), times(250_000, []byte{w.End})), "", []Cause{"", TimedOut, TooLarge, Crashed}, ""},
		hostile{"functions/190000", func() []byte { return answering().With(slices.Repeat([]w.Func{{Code: []byte{w.Nop}}}, 190_000)...) }, "", nil, ""},
		hostile{"functions/15 MiB of branches", func() []byte {
			f := w.Func{Code: w.Cat([]byte{0x02, 0x40}, times(250_000, w.Const(0), []byte{0x0d, 0}), []byte{w.End})}
			return answering().With(slices.Repeat([]w.Func{f}, 15)...)
		}, "", []Cause{TooLarge, TimedOut}, ""},
	)
}

// forms are modules of a wrong form.
func forms() []hostile {
	module := func(f func(*w.Module)) func() []byte {
		return func() []byte { m := answering(); f(&m); return m.Bytes() }
	}
	raw := func(b ...[]byte) func() []byte { return func() []byte { return w.Cat(b...) } }
	importing := func(from, name string) func() []byte {
		return module(func(m *w.Module) { m.Imports = append(m.Imports, w.Import{Module: from, Name: name}); m.Start++ })
	}
	begin := func(i int) func() []byte { return module(func(m *w.Module) { m.Begin = &i }) }
	extra := func(sections ...[]byte) func() []byte { return module(func(m *w.Module) { m.Extra = sections }) }
	refused := []Cause{Refused}
	memory := w.Cat(w.Name("env"), w.Name("memory"), []byte{2, 0, 1})
	return []hostile{
		{"empty", raw(), "is not a WebAssembly module", refused, ""},
		{"garbage", raw([]byte(strings.Repeat("MZ\x90\x00garbage", 1000))), "is not a WebAssembly module", refused, ""},
		{"text", raw([]byte(`(module (func (export "_start")))`)), "is not a WebAssembly module", refused, ""},
		{"only a preamble", raw([]byte(w.Preamble)), "exports no function _start", []Cause{Garbled}, "wrote no answer"},
		{"version 2", raw([]byte("\x00asm\x02\x00\x00\x00")), "has the WebAssembly version 2", refused, ""},
		{"component", w.Component, "is a WebAssembly component; hooks are core modules: build it for wasip1", refused, ""},
		{"no _start", module(func(m *w.Module) { m.Start = -1 }), "exports no function _start", []Cause{Garbled}, "wrote no answer"},
		{"_start with a parameter", module(func(m *w.Module) { m.Funcs[0].Type.Params = []byte{w.I32} }), "exports a _start that is not a function", []Cause{Refused, Crashed}, ""},
		{"_start is imported", module(func(m *w.Module) { m.Start = w.ProcExit }), "exports a _start that is not a function", []Cause{Refused, Crashed}, ""},
		{"_start does not exist", module(func(m *w.Module) { m.Start = 99 }), "exports a _start that is not a function", refused, ""},
		{"start function does not exist", begin(99), "has a start function", refused, ""},
		{"start function with a parameter", begin(w.ProcExit), "has a start function", refused, ""},
		{"import/other module", importing("env", "foo"), "wants the import env.foo, which hooks do not get", refused, ""},
		{"import/other function", importing(w.WASI, "fd_teleport"), "wants the import wasi_snapshot_preview1.fd_teleport", refused, ""},
		{"import/with a hidden name", importing("env", "\x1b[2Jfoo\u202e"), "wants the import env.[2Jfoo,", refused, ""},
		{"import/memory", raw([]byte(w.Preamble), w.Section(w.ImportID, w.Vec(memory))), "wants the import env.memory", refused, ""},
		{"section/twice", extra(w.Section(w.DataID, w.U(0)), w.Section(w.DataID, w.U(0))), "has its data section twice", refused, ""},
		{"section/out of order", extra(w.Section(w.TypeID, w.U(0))), "has its type section after its data section", refused, ""},
		{"section/unknown", extra(w.Section(14)), "section of the unknown kind 14", refused, ""},
		{"section/too long", extra(w.Section(w.CustomID)), "a custom section without a valid name", refused, ""},
		{"section/with a rest", raw([]byte(w.Preamble), w.Section(w.TypeID, w.U(0), []byte{1})), "something follows its last item", refused, ""},
		{"memory/shared", raw([]byte(w.Preamble), w.Section(w.MemoryID, w.Vec([]byte{3, 1, 1}))), "damaged memory section", refused, ""},
		{"constant/long", raw([]byte(w.Preamble), w.Section(w.GlobalID, w.Vec(w.Cat([]byte{w.I32, 0}, times(100, w.Const(0)), []byte{w.End})))), "damaged global section", append(refused, Garbled), ""},
		{"functions without code", raw([]byte(w.Preamble), w.Section(w.TypeID, w.Vec([]byte{0x60, 0, 0})), w.Section(w.FunctionID, w.Vec([]byte{0}))), "has 1 functions and the code of 0", refused, ""},
		{"wrong instruction", body(nil, []byte{0xff}), "", refused, "is not taken by the interpreter"},
		{"wrong type", body(nil, w.Const64(0), []byte{0x1a, 0x1a}), "", refused, "is not taken by the interpreter"},
	}
}

// runaways do not end, or need ever more.
func runaways() []hostile {
	late := []Cause{TimedOut}
	command := func(code ...[]byte) func() []byte { return func() []byte { return w.Command(w.Cat(code...)).Bytes() } }
	// Calls itself twice, 44 deep: it has no loop in which the interpreter would look at the clock.
	fib := w.Func{Type: w.Type{Params: []byte{w.I32}, Results: []byte{w.I32}}, Code: w.Cat(
		[]byte{0x20, 0}, w.Const(2), []byte{0x48, 0x04, w.I32, 0x20, 0, 0x05},
		[]byte{0x20, 0}, w.Const(1), []byte{0x6b}, w.Call(w.Main+1),
		[]byte{0x20, 0}, w.Const(2), []byte{0x6b}, w.Call(w.Main+1), []byte{w.Add, w.End})}
	one := w.Main + 1
	return []hostile{
		{"loop", w.Loop, "", late, "did not end within"},
		{"loop in the start function", func() []byte {
			m := answering()
			m.Funcs, m.Begin = append(m.Funcs, w.Func{Code: w.Forever()}), &one
			return m.Bytes()
		}, "", late, "did not end within"},
		{"recursion without a loop", func() []byte { return w.Command(w.Cat(w.Const(44), w.Call(w.Main+1), []byte{w.Drop}), fib).Bytes() }, "", late, "did not end within"},
		{"recursion without an end", func() []byte { return w.Command(w.Call(w.Main)).Bytes() }, "", []Cause{Crashed}, "2000 deep"},
		{"memory/grows", command(w.Forever(w.Grow(1))), "", append(late, TooLarge), ""},
		{"memory/grows at once", command(w.Grow(1023), w.Forever()), "", late, ""},
		{"memory/is written", func() []byte {
			return w.Command(w.Cat(w.Grow(1023), w.Forever(w.Const(0), w.Const(1), w.Const(64<<20), []byte{0xfc, 0x0b, 0}))).Bytes()
		}, "", late, ""},
		{"table/grows", func() []byte {
			m := w.Command(w.Forever([]byte{0xd0, 0x70}, w.Const(1<<20), []byte{0xfc, 0x0f, 0, w.Drop}))
			m.Table = 1
			return m.Bytes()
		}, "", []Cause{TooLarge, TimedOut}, ""},
		{"random bytes", command(w.Grow(1000), w.Forever(w.Const(0), w.Const(60<<20), w.Call(w.RandomGet), []byte{w.Drop})), "", late, ""},
		{"sleeps", func() []byte { return answering(sleep(3600e9)).Bytes() }, "", nil, ""},
		{"sleeps for ever", command(w.Forever(sleep(1 << 62))), "", late, ""},
		{"waits for too much", command(w.Const(0), w.Const(0), w.Const(1<<28), w.Const(0), w.Call(w.PollOneoff), []byte{w.Drop}, w.Exit(7)), "", []Cause{Crashed}, ""},
		{"table of descriptors", func() []byte {
			m := answering(w.Const(1), w.Const(1<<30), w.Call(w.Main), []byte{w.Drop})
			m.Imports = append(m.Imports, w.Import{Name: "fd_renumber", Type: w.Type{Params: []byte{w.I32, w.I32}, Results: []byte{w.I32}}})
			m.Start++
			return m.Bytes()
		}, "wants the import wasi_snapshot_preview1.fd_renumber", nil, ""},
	}
}

// sleep waits for so many nanoseconds of the module's clock.
func sleep(ns int64) []byte {
	store64 := func(at int32, v int64) []byte { return w.Cat(w.Const(at), w.Const64(v), []byte{0x37, 3, 0}) }
	return w.Cat(store64(64, 0), store64(72, 0), store64(80, 0), store64(88, ns), store64(96, 0), store64(104, 0),
		w.Const(64), w.Const(256), w.Const(1), w.Const(512), w.Call(w.PollOneoff), []byte{w.Drop})
}

// writers write too much.
func writers() []hostile {
	flood := []Cause{Flooded}
	// Vectors lie from 64 on; each is the whole memory.
	giant := func(fd int32) func() []byte {
		return func() []byte {
			m := w.Command(w.Cat(w.Grow(960), w.Const(fd), w.Const(1024), w.Const(4096), w.Const(8), w.Call(w.FdWrite), []byte{w.Drop}))
			m.Data, m.Pages = times(4096, []byte{0, 0, 0, 0, 0, 0, 0xc0, 3}), 2
			return m.Bytes()
		}
	}
	return []hostile{
		{"output/flood", func() []byte { return w.Command(w.Forever(w.Write(1, 0, 4096))).Bytes() }, "", flood, "1024 KiB to its standard output"},
		{"output/flood of nothing", func() []byte { return w.Command(w.Forever(w.Write(1, 0, 0))).Bytes() }, "", []Cause{TimedOut}, ""},
		{"output/one giant write", giant(1), "", flood, "1024 KiB to its standard output"},
		{"output/1 MiB", func() []byte { return w.Echo(padded(1 << 20)) }, "", nil, ""},
		{"output/1 MiB and 1", func() []byte { return w.Echo(padded(1<<20 + 1)) }, "", flood, ""},
		{"log/flood", func() []byte { return w.Command(w.Forever(w.Write(2, 0, 4096))).Bytes() }, "", flood, "1024 KiB to its standard error"},
		{"log/one giant write", giant(2), "", flood, "1024 KiB to its standard error"},
		{"log/1 MiB and an answer", func() []byte { return answering(times(256, w.Write(2, 1024, 4096))).Bytes() }, "", nil, ""},
	}
}

// endings end otherwise than they should.
func endings() []hostile {
	crashed := []Cause{Crashed}
	out := []hostile{
		{"trap/unreachable", w.Trap, "", crashed, "trapped: unreachable"},
		{"trap/division", func() []byte { return w.Command(w.Cat(w.Const(1), w.Const(0), []byte{0x6d, w.Drop})).Bytes() }, "", crashed, "trapped: integer divide by zero"},
		{"trap/memory", func() []byte { return w.Command(w.Store(1<<30, 1)).Bytes() }, "", crashed, "trapped: out of bounds"},
		{"trap/after the answer", func() []byte { return w.Writing(1, []byte(answer), []byte{w.Unreachable}) }, "", crashed, "trapped: unreachable"},
		{"exit 0 after the answer", func() []byte { return w.Writing(1, []byte(answer), w.Exit(0)) }, "", nil, ""},
		{"exit 0 without an answer", func() []byte { return w.Exiting(0) }, "", []Cause{Garbled}, "wrote no answer"},
	}
	// The last two are those with which the interpreter says that a context ended.
	for _, code := range []uint32{1, 2, 255, 1 << 31, 0xffffffff, 0xefffffff} {
		out = append(out, hostile{fmt.Sprintf("exit/%#x", code), func() []byte { return w.Writing(1, []byte(answer), w.Exit(code)) }, "", crashed, fmt.Sprintf("ended with exit code %d", code)})
	}
	return out
}

// documents are wrong answers.
func documents() []hostile {
	say := func(name, text, why string) hostile {
		return hostile{"answer/" + name, func() []byte { return w.Echo([]byte(text)) }, "", []Cause{Garbled}, why}
	}
	probe := `{"id":"a","kind":"pci.list"}`
	head := `{"api":"` + sdk.API + `","kind":`
	return []hostile{
		say("nothing", "", "wrote no answer"),
		say("spaces", " \n\t ", "wrote no answer"),
		say("text", "hello", "did not answer with one valid document"),
		say("half", answer[:20], "did not answer with one valid document"),
		say("two", answer+answer, "something follows"),
		say("two with a log line", "detecting...\n"+answer, "did not answer with one valid document"),
		say("duplicate key", head+`"decline","kind":"claim"}`, "the field kind stands there twice"),
		say("unknown field", head+`"decline","shell":"rm"}`, "the field shell is not known"),
		say("field in capitals", `{"API":"rigup.hook/v1","kind":"decline"}`, "the field API is not known"),
		say("deep", head+`"decline","why":`+strings.Repeat("[", 100_000), "levels deep"),
		say("not UTF-8", head+"\"decline\",\"why\":[\"\xff\"]}", "not UTF-8"),
		say("null", "null", "in the version"),
		say("a list", "[]", "did not answer with one valid document"),
		say("other version", `{"api":"rigup.hook/v2","kind":"decline"}`, `in the version "rigup.hook/v2"`),
		say("unknown kind", head+`"shell"}`, `with the kind "shell"`),
		say("kind of another phase", head+`"decision","gpu":{}}`, `the phase detect with the kind "decision"`),
		say("without its field", head+`"claim"}`, "without its field claim"),
		say("another field", head+`"decline","probes":[`+probe+`]}`, "the field probes, which does not belong"),
		say("confidence", head+`"claim","claim":{"confidence":101}}`, "claim.confidence 101"),
		say("17 probes", head+`"probes","probes":[`+strings.TrimSuffix(strings.Repeat(probe+",", 17), ",")+`]}`, "asked for 17 probes"),
		say("probes of one name", head+`"probes","probes":[`+probe+","+probe+`]}`, `probes[1].id "a"`),
		say("control character", head+`"probes","probes":[{"id":"a\u001b","kind":"pci.list"}]}`, "the character U+001B in probes[0].id"),
		say("turned text", head+`"probes","probes":[{"id":"a","kind":"file.read","path":"/etc/\u202egpj"}]}`, "the character U+202E in probes[0].path"),
		say("long string", head+`"probes","probes":[{"id":"a","kind":"file.read","path":"/`+strings.Repeat("a", 1000)+`"}]}`, "1001 bytes in probes[0].path"),
		say("long list", head+`"decline","why":[`+strings.TrimSuffix(strings.Repeat(`"a",`, 257), ",")+`]}`, "257 items in why"),
	}
}
