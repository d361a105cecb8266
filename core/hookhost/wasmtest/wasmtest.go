// Package wasmtest writes small WebAssembly modules for tests: well-behaved hooks, hostile ones, and broken ones.
package wasmtest

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"rigup.dev/rigup/hooks/sdk"
)

// Preamble is how every module begins.
const Preamble = "\x00asm\x01\x00\x00\x00"

// Ids of sections.
const (
	CustomID byte = iota
	TypeID
	ImportID
	FunctionID
	TableID
	MemoryID
	GlobalID
	ExportID
	StartID
	ElementID
	CodeID
	DataID
	DataCountID
	TagID
)

// U is an unsigned number in LEB128.
func U(n uint64) []byte { return binary.AppendUvarint(nil, n) }

// S is a signed number in LEB128.
func S(n int64) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Cat joins parts.
func Cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

// Vec is a vector: the number of items, then the items.
func Vec(items ...[]byte) []byte { return Cat(U(uint64(len(items))), Cat(items...)) }

// Name is a string with its length.
func Name(s string) []byte { return Cat(U(uint64(len(s))), []byte(s)) }

// Section is a section of any kind.
func Section(id byte, body ...[]byte) []byte {
	b := Cat(body...)
	return Cat([]byte{id}, U(uint64(len(b))), b)
}

// Custom is a custom section.
func Custom(name string, body []byte) []byte { return Section(CustomID, Name(name), body) }

// Raw is a module of these sections.
func Raw(sections ...[]byte) []byte { return Cat([]byte(Preamble), Cat(sections...)) }

// Types of values.
const (
	I32 byte = 0x7f
	I64 byte = 0x7e
)

// Type is the type of a function.
type Type struct{ Params, Results []byte }

// Func is a function: how many local variables of which type, and its instructions without the last end.
type Func struct {
	Type   Type
	Locals []byte // as in the module: a vector of groups; nil means none
	Code   []byte
}

// Import is an imported function of WASI, or of another module.
type Import struct {
	Module, Name string // Module "" is WASI preview 1
	Type         Type
}

// Module is a module that Bytes writes out. Imported functions come first in the index space of functions.
type Module struct {
	Imports []Import
	Funcs   []Func
	// Start is the index of the function that is exported as _start; -1 exports none.
	Start int
	// Begin is the index of the module's start function, if it has one.
	Begin *int
	// Pages is the memory at first, MaxPages the most; 0 means no limit.
	Pages, MaxPages int
	// Data lies in memory at 1024.
	Data []byte
	// Table is the number of entries of a table of functions; 0 means no table.
	Table int
	// Extra are sections to put behind all others.
	Extra [][]byte
}

// Bytes writes the module.
func (m Module) Bytes() []byte {
	var types, imports, funcs, codes [][]byte
	typeOf := func(t Type) []byte {
		b := Cat([]byte{0x60}, U(uint64(len(t.Params))), t.Params, U(uint64(len(t.Results))), t.Results)
		i := slices.IndexFunc(types, func(x []byte) bool { return string(x) == string(b) })
		if i < 0 {
			i = len(types)
			types = append(types, b)
		}
		return U(uint64(i))
	}
	for _, i := range m.Imports {
		module := i.Module
		if module == "" {
			module = WASI
		}
		imports = append(imports, Cat(Name(module), Name(i.Name), []byte{0}, typeOf(i.Type)))
	}
	for _, f := range m.Funcs {
		funcs = append(funcs, typeOf(f.Type))
		locals := f.Locals
		if locals == nil {
			locals = U(0)
		}
		body := Cat(locals, f.Code, []byte{End})
		codes = append(codes, Cat(U(uint64(len(body))), body))
	}
	out := Raw(Section(TypeID, Vec(types...)), Section(ImportID, Vec(imports...)), Section(FunctionID, Vec(funcs...)))
	if m.Table > 0 {
		out = Cat(out, Section(TableID, Vec(Cat([]byte{0x70, 0}, U(uint64(m.Table))))))
	}
	if m.MaxPages > 0 {
		out = Cat(out, Section(MemoryID, Vec(Cat([]byte{1}, U(uint64(m.Pages)), U(uint64(m.MaxPages))))))
	} else {
		out = Cat(out, Section(MemoryID, Vec(Cat([]byte{0}, U(uint64(m.Pages))))))
	}
	exports := [][]byte{Cat(Name("memory"), []byte{2, 0})}
	if m.Start >= 0 {
		exports = append(exports, Cat(Name("_start"), []byte{0}, U(uint64(m.Start))))
	}
	out = Cat(out, Section(ExportID, Vec(exports...)))
	if m.Begin != nil {
		out = Cat(out, Section(StartID, U(uint64(*m.Begin))))
	}
	out = Cat(out, Section(CodeID, Vec(codes...)))
	if len(m.Data) > 0 {
		out = Cat(out, Section(DataID, Vec(Cat([]byte{0}, Const(1024), []byte{End}, Name(string(m.Data))))))
	}
	return Cat(out, Cat(m.Extra...))
}

// WithManifest adds a manifest to a module. A manifest without API and ABI gets the current ones.
func WithManifest(module []byte, m sdk.Manifest) []byte {
	if m.API == "" {
		m.API = sdk.API
	}
	if m.ABI == "" {
		m.ABI = sdk.ABI
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // a manifest is plain data
	}
	return Cat(module, Custom(sdk.Section, b))
}

// With is the module with more functions of its own.
func (m Module) With(more ...Func) []byte {
	m.Funcs = append(slices.Clip(m.Funcs), more...)
	return m.Bytes()
}
