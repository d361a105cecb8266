package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// writeLean writes a value of the protocol's types as encoding/json does.
func writeLean(v any) ([]byte, error) {
	w := writer{names: map[reflect.Type][]field{}}
	err := w.value(reflect.ValueOf(v), 0)
	return w.b, err
}

// writer is a JSON document that is written.
type writer struct {
	b     []byte
	names map[reflect.Type][]field
}

func (w *writer) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d levels deep", maxDepth)
	}
	switch v.Kind() {
	case reflect.Struct:
		return w.object(v, depth)
	case reflect.Map:
		return w.table(v, depth)
	case reflect.Slice:
		return w.list(v, depth)
	case reflect.Pointer:
		if !v.IsNil() {
			return w.value(v.Elem(), depth)
		}
		w.b = append(w.b, "null"...)
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Int, reflect.Int64:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	default:
		return fmt.Errorf("%s is no type of the protocol", v.Type())
	}
	return nil
}

func (w *writer) object(v reflect.Value, depth int) error {
	w.b = append(w.b, '{')
	sep := false
	for i, f := range fieldsOfType(w.names, v.Type()) {
		item := v.Field(i)
		if f.omitEmpty && empty(item) || f.omitZero && item.IsZero() {
			continue
		}
		if sep {
			w.b = append(w.b, ',')
		}
		sep = true
		w.text(f.name)
		w.b = append(w.b, ':')
		if err := w.value(item, depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

// empty is what omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// table writes a map, by key.
func (w *writer) table(v reflect.Value, depth int) error {
	if v.IsNil() {
		w.b = append(w.b, "null"...)
		return nil
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch x, y := a.String(), b.String(); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	w.b = append(w.b, '{')
	for i, k := range keys {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text(k.String())
		w.b = append(w.b, ':')
		if err := w.value(v.MapIndex(k), depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	return nil
}

func (w *writer) list(v reflect.Value, depth int) error {
	switch {
	case v.IsNil():
		w.b = append(w.b, "null"...)
		return nil
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		return w.raw(v.Bytes())
	}
	w.b = append(w.b, '[')
	for i := range v.Len() {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.value(v.Index(i), depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	return nil
}

// raw writes a document that is one already, without its blanks.
func (w *writer) raw(doc []byte) error {
	s := lean{b: doc}
	err := s.value(reflect.Value{}, 0)
	if err == nil && s.next() != 0 {
		err = errors.New("something follows it")
	}
	if err != nil {
		return fmt.Errorf("a document inside of the document: %w", err)
	}
	quoted := false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case quoted && c == '\\':
			w.b = append(w.b, c, doc[i+1])
			i++
		case c == '"':
			quoted = !quoted
			w.b = append(w.b, c)
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
		case c == '<' || c == '>' || c == '&':
			w.unicode(rune(c))
		default:
			w.b = append(w.b, c)
		}
	}
	return nil
}

// text writes a text. As in encoding/json, nothing in it is special to HTML.
func (w *writer) text(s string) {
	w.b = append(w.b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && n == 1, r == '\u2028', r == '\u2029':
				w.unicode(r)
			default:
				w.b = append(w.b, s[i:i+n]...)
			}
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', c)
		case c == '\b':
			w.b = append(w.b, `\b`...)
		case c == '\f':
			w.b = append(w.b, `\f`...)
		case c == '\n':
			w.b = append(w.b, `\n`...)
		case c == '\r':
			w.b = append(w.b, `\r`...)
		case c == '\t':
			w.b = append(w.b, `\t`...)
		case c < ' ' || c == '<' || c == '>' || c == '&':
			w.unicode(rune(c))
		default:
			w.b = append(w.b, c)
		}
	}
	w.b = append(w.b, '"')
}

func (w *writer) unicode(r rune) {
	const hex = "0123456789abcdef"
	w.b = append(w.b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
