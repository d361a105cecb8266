package wasmtest

import (
	"encoding/binary"
	"encoding/json"

	"rigup.dev/rigup/hooks/sdk"
)

// WASI is the module that hooks import from.
const WASI = "wasi_snapshot_preview1"

// Instructions without operands.
const (
	Unreachable byte = 0x00
	Nop         byte = 0x01
	End         byte = 0x0b
	Return      byte = 0x0f
	Drop        byte = 0x1a
	Add         byte = 0x6a // of i32
)

// Const pushes an i32.
func Const(n int32) []byte { return Cat([]byte{0x41}, S(int64(n))) }

// Const64 pushes an i64.
func Const64(n int64) []byte { return Cat([]byte{0x42}, S(n)) }

// Call calls a function by its index.
func Call(i int) []byte { return Cat([]byte{0x10}, U(uint64(i))) }

// Forever is a loop around instructions.
func Forever(code ...[]byte) []byte {
	return Cat([]byte{0x03, 0x40}, Cat(code...), []byte{0x0c, 0, End})
}

// Store puts an i32 at an address.
func Store(at, value int32) []byte { return Cat(Const(at), Const(value), []byte{0x36, 2, 0}) }

// Grow grows the memory by pages and drops the answer.
func Grow(pages int32) []byte { return Cat(Const(pages), []byte{0x40, 0, Drop}) }

// The functions of WASI that tests need.
func fdWrite() Import {
	return Import{Name: "fd_write", Type: Type{Params: []byte{I32, I32, I32, I32}, Results: []byte{I32}}}
}
func fdRead() Import {
	return Import{Name: "fd_read", Type: Type{Params: []byte{I32, I32, I32, I32}, Results: []byte{I32}}}
}
func procExit() Import { return Import{Name: "proc_exit", Type: Type{Params: []byte{I32}}} }
func randomGet() Import {
	return Import{Name: "random_get", Type: Type{Params: []byte{I32, I32}, Results: []byte{I32}}}
}
func clockTime() Import {
	return Import{Name: "clock_time_get", Type: Type{Params: []byte{I32, I64, I32}, Results: []byte{I32}}}
}
func pollOneoff() Import {
	return Import{Name: "poll_oneoff", Type: Type{Params: []byte{I32, I32, I32, I32}, Results: []byte{I32}}}
}

// Indexes of the functions that Command imports.
const (
	FdWrite = iota
	FdRead
	ProcExit
	RandomGet
	ClockTime
	PollOneoff
	Main // the first function of the module's own, exported as _start
)

// Command is a module with one page of memory that imports the functions above and whose _start is this code.
// More functions may follow; they start at the index Main+1.
func Command(code []byte, more ...Func) Module {
	return Module{
		Imports: []Import{fdWrite(), fdRead(), procExit(), randomGet(), clockTime(), pollOneoff()},
		Funcs:   append([]Func{{Code: code}}, more...),
		Start:   Main,
		Pages:   1,
	}
}

// Write writes so many bytes at an address to a descriptor, in one call.
func Write(fd, at, n int32) []byte {
	return Cat(Store(0, at), Store(4, n), Const(fd), Const(0), Const(1), Const(8), Call(FdWrite), []byte{Drop})
}

// Exit ends the module with a code.
func Exit(code uint32) []byte { return Cat(Const(int32(code)), Call(ProcExit)) }

// Writing is a module that writes fixed bytes to a descriptor, 1 or 2, and then runs more code.
func Writing(fd int32, text []byte, then ...[]byte) []byte {
	m := Command(Cat(Write(fd, 1024, int32(len(text))), Cat(then...)))
	m.Data = text
	m.Pages = (1024+len(text))>>16 + 1
	return m.Bytes()
}

// Echo is a hook that always gives the same answer, which may be anything.
func Echo(response []byte) []byte { return Writing(1, response) }

// Answer is Echo of a response.
func Answer(r sdk.Response) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // a response is plain data
	}
	return Echo(b)
}

// Loop is a module that never ends.
func Loop() []byte { return Command(Forever()).Bytes() }

// Trap is a module that traps.
func Trap() []byte { return Command([]byte{Unreachable}).Bytes() }

// Exiting is a module that ends with an exit code and writes nothing.
func Exiting(code uint32) []byte { return Command(Exit(code)).Bytes() }

// Bomb is a module of one section that claims the most items there can be: 21 bytes or so.
func Bomb(id byte) []byte { return Raw(Section(id, U(1<<32-1), []byte{0, 0, 0, 0, 0})) }

// Component is the beginning of a component.
func Component() []byte {
	return Cat([]byte("\x00asm"), binary.LittleEndian.AppendUint32(nil, 0x1000d), Custom("component", nil))
}
