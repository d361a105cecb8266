package hookhost

import (
	"errors"
	"fmt"
	"iter"
	"unicode/utf8"
)

// refusal says why a module is not taken. It goes on after "the hook NAME".
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }

// The ids of sections, as the WebAssembly core specification 2.0 has them, and that of a proposal after it.
const (
	idCustom byte = iota
	idType
	idImport
	idFunction
	idTable
	idMemory
	idGlobal
	idExport
	idStart
	idElement
	idCode
	idData
	idDataCount
	idTag
)

// sectionName is the name of a section for people.
func sectionName(id byte) string {
	names := [...]string{"custom", "type", "import", "function", "table", "memory", "global", "export", "start", "element", "code",
		"data", "data count", "tag"}
	if int(id) < len(names) {
		return names[id]
	}
	return fmt.Sprintf("number %d", id)
}

// section is one section of a module. All slices are parts of the module.
type section struct {
	id   byte
	name string // of a custom section
	body []byte // without the name
	raw  []byte // with its header
}

// preamble is how a core module of version 1 begins.
const preamble = "\x00asm\x01\x00\x00\x00"

// checkPreamble tells modules from components and from other files.
func checkPreamble(module []byte) error {
	switch {
	case len(module) > maxModule:
		return refuse("is %d MiB large; hooks have at most %d", len(module)>>20, maxModule>>20)
	case len(module) < len(preamble) || string(module[:4]) != preamble[:4]:
		return refuse("is not a WebAssembly module")
	case string(module[:8]) == preamble:
		return nil
	case module[6] == 1 && module[7] == 0:
		return refuse("is a WebAssembly component; hooks are core modules: build it for wasip1 (in Rust the target wasm32-wasip1)")
	}
	return refuse("has the WebAssembly version %d; hooks have version 1", uint32(module[4])|uint32(module[5])<<8|uint32(module[6])<<16|uint32(module[7])<<24)
}

// sections are the sections of a module in its order. The walk ends with the first error. It looks at headers alone
// and allocates nothing but the names of custom sections.
func sections(module []byte) iter.Seq2[section, error] {
	return func(yield func(section, error) bool) {
		if err := checkPreamble(module); err != nil {
			yield(section{}, err)
			return
		}
		for r := (reader{b: module[len(preamble):]}); len(r.b) > 0; {
			s, err := nextSection(&r)
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

func nextSection(r *reader) (section, error) {
	before := r.b
	id := r.byte()
	body := r.take(r.u32())
	if r.err != nil {
		return section{}, refuse("ends in the middle of its %s section", sectionName(id))
	}
	s := section{id: id, body: body, raw: before[:len(before)-len(r.b)]}
	if id == idCustom {
		c := reader{b: body}
		s.name = string(c.name())
		if c.err != nil {
			return section{}, refuse("has a custom section without a valid name")
		}
		s.body = c.b
	}
	return s, nil
}

// filter is a module with only the sections that keep wants.
func filter(module []byte, keep func(section) bool) ([]byte, error) {
	out := make([]byte, 0, len(module))
	out = append(out, preamble...)
	for s, err := range sections(module) {
		if err != nil {
			return nil, err
		}
		if keep(s) {
			out = append(out, s.raw...)
		}
	}
	return out, nil
}

var (
	errShort = errors.New("it ends too early")
	errLEB   = errors.New("a number in it is not valid")
	errUTF8  = errors.New("a name in it is not valid UTF-8")
	errForm  = errors.New("it has a form that is not known")
)

// reader reads the parts of a section. After the first error it returns zeros, so that callers look once.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.b = nil
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.fail(errShort)
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

// u32 reads an unsigned number in LEB128, of at most five bytes.
func (r *reader) u32() uint32 {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(errLEB)
	return 0
}

// skipInt reads over a signed number in LEB128 of at most so many bytes. Its value does not matter here.
func (r *reader) skipInt(most int) {
	for range most {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail(errLEB)
}

func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errShort)
		return nil
	}
	x := r.b[:n]
	r.b = r.b[n:]
	return x
}

func (r *reader) name() []byte {
	n := r.take(r.u32())
	if !utf8.Valid(n) {
		r.fail(errUTF8)
	}
	return n
}
