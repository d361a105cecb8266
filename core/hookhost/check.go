package hookhost

import (
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Static is what can be known of a module without running it.
type Static struct {
	// Manifests are those of all hooks in the module, in its order. A module without one is no hook, but is valid.
	Manifests []sdk.Manifest
	Functions int
	// Imports are the functions of WASI that the module uses, each once.
	Imports []string
	// Pages is the memory that it starts with, in pages of 64 KiB.
	Pages int
}

// Inspect checks a module and reads the manifests in it. Nothing of the module runs. It takes time and memory in
// proportion to the size of the module, whatever its headers claim. The text of the error goes on after "the hook
// NAME" or "the module" and says what is wrong.
func Inspect(module []byte) (Static, error) {
	m := checker{}
	for s, err := range sections(module) {
		if err == nil {
			err = m.section(s)
		}
		if err != nil {
			return Static{}, err
		}
	}
	if err := m.end(); err != nil {
		return Static{}, err
	}
	return m.Static, nil
}

// checker is the state of the static check.
type checker struct {
	Static
	order     int    // of the last section
	last      byte   // its id
	plain     []bool // types: whether it is ()->()
	imported  int    // functions
	functions []uint32
	bodies    int
	locals    int
	elements  int
	segments  int
	counted   bool // there was a data count section,
	dataCount int  // which says so many
	start     bool // a function _start is exported
}

// position is the place of a section in the order that the specification wants; 0 if it is not known.
func position(id byte) int {
	order := [...]byte{idType, idImport, idFunction, idTable, idMemory, idGlobal, idExport, idStart, idElement, idDataCount, idCode, idData}
	return strings.IndexByte(string(order[:]), id) + 1
}

func (m *checker) section(s section) error {
	if s.id == idCustom {
		return m.custom(s)
	}
	if s.id == idTag {
		return refuse("uses exceptions of WebAssembly, which hooks do not get")
	}
	at := position(s.id)
	switch {
	case at == 0:
		return refuse("has a section of the unknown kind %d", s.id)
	case at == m.order:
		return refuse("has its %s section twice", sectionName(s.id))
	case at < m.order:
		return refuse("has its %s section after its %s section", sectionName(s.id), sectionName(m.last))
	}
	m.order, m.last = at, s.id
	r := reader{b: s.body}
	if err := m.content(s.id, &r); err != nil {
		return err
	}
	if r.err == nil && len(r.b) > 0 {
		return refuse("has a damaged %s section: something follows its last item", sectionName(s.id))
	}
	return damaged(s.id, &r)
}

// damaged is the error of a reader as a refusal.
func damaged(id byte, r *reader) error {
	if r.err == nil {
		return nil
	}
	return refuse("has a damaged %s section: %v", sectionName(id), r.err)
}

func (m *checker) content(id byte, r *reader) error {
	switch id {
	case idStart:
		return m.startFunction(r)
	case idDataCount:
		m.counted, m.dataCount = true, int(r.u32())
		return nil
	}
	n, err := count(id, r)
	if err != nil {
		return err
	}
	switch id {
	case idFunction:
		m.functions = make([]uint32, 0, n)
	case idTable, idMemory:
		if n > 1 {
			return refuse("has %d items in its %s section; hooks have at most one", n, sectionName(id))
		}
	case idCode:
		if m.bodies = n; n != len(m.functions) {
			return refuse("has %d functions and the code of %d", len(m.functions), n)
		}
	case idData:
		m.segments = n
	}
	item := map[byte]func(*reader, int) error{
		idType: m.funcType, idImport: m.imports, idFunction: m.function, idTable: m.table, idMemory: m.memories,
		idGlobal: m.global, idExport: m.export, idElement: m.element, idCode: m.code, idData: m.data,
	}[id]
	for i := 0; i < n && r.err == nil; i++ {
		if err := item(r, i); err != nil {
			return err
		}
	}
	return nil
}

// count reads the number of items in a section. Decoders make room for that many before they look at the first, so
// it must not be believed.
func count(id byte, r *reader) (int, error) {
	n := r.u32()
	if r.err != nil {
		return 0, damaged(id, r)
	}
	if n > maxItems || uint64(n) > uint64(len(r.b)) {
		return 0, refuse("claims %d items in the %d bytes of its %s section", n, len(r.b), sectionName(id))
	}
	return int(n), nil
}

// end checks what takes the whole module.
func (m *checker) end() error {
	switch {
	case m.bodies != len(m.functions):
		return refuse("has %d functions and the code of %d", len(m.functions), m.bodies)
	case m.counted && m.dataCount != m.segments:
		return refuse("announces %d data segments and has %d", m.dataCount, m.segments)
	case !m.start:
		return refuse("exports no function _start: it is not a WASI command (in Go build package main, in Rust a binary)")
	}
	m.Functions = len(m.functions)
	return nil
}

// isPlain reports whether a function takes nothing and returns nothing.
func (m *checker) isPlain(function uint32) bool {
	i := int64(function) - int64(m.imported)
	return i >= 0 && i < int64(len(m.functions)) && m.plain[m.functions[i]]
}
