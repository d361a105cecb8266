package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
)

// A hook reads its request and writes its response with the functions of this file and the next, because
// encoding/json makes tables of every type of the protocol before the first byte is read. A hook is started anew for
// each request, in an interpreter: there the tables take ten times as long as the request.
//
// They know what the protocol's types are made of, and nothing else. What they write is what encoding/json writes;
// they read what it reads, except that the case of a field's name counts.

// readLean reads the one document in b into what into points to. Fields that its type does not have are skipped.
func readLean(b []byte, into any) error {
	s := lean{b: b, names: map[reflect.Type][]field{}}
	err := s.value(reflect.ValueOf(into).Elem(), 0)
	if err == nil && s.next() != 0 {
		err = errors.New("something follows the JSON document")
	}
	return err
}

// lean is a JSON document that is read, and where.
type lean struct {
	b     []byte
	at    int
	names map[reflect.Type][]field
}

// field is what the tag of a struct's field says.
type field struct {
	name      string
	omitEmpty bool
	omitZero  bool
}

// fieldsOfType reads the tags of a type once.
func fieldsOfType(known map[reflect.Type][]field, t reflect.Type) []field {
	if f, ok := known[t]; ok {
		return f
	}
	f := make([]field, t.NumField())
	for i := range f {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		f[i] = field{name, strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")}
	}
	known[t] = f
	return f
}

// next is the next byte that is no blank, 0 at the end. It is not taken.
func (s *lean) next() byte {
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *lean) unexpected() error {
	if s.at >= len(s.b) {
		return errors.New("the JSON document is not complete")
	}
	return fmt.Errorf("%q at byte %d is not JSON", s.b[s.at], s.at)
}

// take takes the next byte that is no blank, which has to be c.
func (s *lean) take(c byte) error {
	if s.next() != c {
		return s.unexpected()
	}
	s.at++
	return nil
}

// value reads a value into v, or skips it when v is not valid.
func (s *lean) value(v reflect.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d levels deep", maxDepth)
	}
	start := s.at
	c := s.next()
	if v.IsValid() && v.Type() == reflect.TypeFor[json.RawMessage]() {
		if c == 'n' {
			return s.word(reflect.Value{})
		}
		start = s.at
		err := s.value(reflect.Value{}, depth)
		v.SetBytes(append([]byte(nil), s.b[start:s.at]...))
		return err
	}
	if v.IsValid() && v.Kind() == reflect.Pointer && c != 'n' {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return s.value(v.Elem(), depth)
	}
	switch {
	case c == '{':
		return s.object(v, depth)
	case c == '[':
		return s.list(v, depth)
	case c == '"':
		text, err := s.text()
		if err != nil || !v.IsValid() {
			return err
		}
		if v.Kind() != reflect.String {
			return fmt.Errorf("text at byte %d, where there should be %s", start, v.Kind())
		}
		v.SetString(text)
		return nil
	case c == '-' || c >= '0' && c <= '9':
		return s.number(v)
	}
	return s.word(v)
}

func (s *lean) object(v reflect.Value, depth int) error {
	var fields []field
	switch {
	case !v.IsValid():
	case v.Kind() == reflect.Struct:
		fields = fieldsOfType(s.names, v.Type())
	case v.Kind() == reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	default:
		return fmt.Errorf("an object at byte %d, where there should be %s", s.at, v.Kind())
	}
	s.at++
	for first := true; ; first = false {
		if s.next() == '}' {
			s.at++
			return nil
		}
		if !first {
			if err := s.take(','); err != nil {
				return err
			}
		}
		if s.next() != '"' {
			return s.unexpected()
		}
		name, err := s.text()
		if err == nil {
			err = s.take(':')
		}
		if err == nil {
			err = s.member(v, fields, name, depth+1)
		}
		if err != nil {
			return err
		}
	}
}

// member reads the value of a field, or skips it.
func (s *lean) member(v reflect.Value, fields []field, name string, depth int) error {
	if v.IsValid() && v.Kind() == reflect.Map {
		item := reflect.New(v.Type().Elem()).Elem()
		if err := s.value(item, depth); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(name).Convert(v.Type().Key()), item)
		return nil
	}
	for i := range fields {
		if fields[i].name == name {
			return s.value(v.Field(i), depth)
		}
	}
	return s.value(reflect.Value{}, depth)
}

func (s *lean) list(v reflect.Value, depth int) error {
	if v.IsValid() {
		if v.Kind() != reflect.Slice {
			return fmt.Errorf("a list at byte %d, where there should be %s", s.at, v.Kind())
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
	}
	s.at++
	for first := true; ; first = false {
		if s.next() == ']' {
			s.at++
			return nil
		}
		if !first {
			if err := s.take(','); err != nil {
				return err
			}
		}
		var item reflect.Value
		if v.IsValid() {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			item = v.Index(v.Len() - 1)
		}
		if err := s.value(item, depth+1); err != nil {
			return err
		}
	}
}

func (s *lean) number(v reflect.Value) error {
	start := s.at
	for s.at < len(s.b) && strings.IndexByte("+-.eE0123456789", s.b[s.at]) >= 0 {
		s.at++
	}
	text := string(s.b[start:s.at])
	if !v.IsValid() {
		_, err := strconv.ParseFloat(text, 64)
		return err
	}
	if !v.CanInt() {
		return fmt.Errorf("a number at byte %d, where there should be %s", start, v.Kind())
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && v.OverflowInt(n) {
		err = fmt.Errorf("%s at byte %d is too large", text, start)
	}
	v.SetInt(n)
	return err
}

// word reads true, false and null.
func (s *lean) word(v reflect.Value) error {
	for _, w := range [...]string{"null", "true", "false"} {
		if !strings.HasPrefix(string(s.b[s.at:min(s.at+len(w), len(s.b))]), w) {
			continue
		}
		s.at += len(w)
		switch {
		case !v.IsValid():
		case w == "null":
			v.SetZero()
		case v.Kind() != reflect.Bool:
			return fmt.Errorf("%s at byte %d, where there should be %s", w, s.at-len(w), v.Kind())
		default:
			v.SetBool(w == "true")
		}
		return nil
	}
	return s.unexpected()
}

// text reads a text, which begins here.
func (s *lean) text() (string, error) {
	s.at++
	start := s.at
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return string(s.b[start : s.at-1]), nil
		case c == '\\':
			return s.escaped(s.b[start:s.at])
		case c < ' ':
			return "", s.unexpected()
		}
	}
	return "", s.unexpected()
}

// escapes are the characters that stand for others behind a backslash.
const escapes, escaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// escaped reads on in a text of which a part was read, at its first backslash.
func (s *lean) escaped(read []byte) (string, error) {
	out := append(make([]byte, 0, 2*len(read)+16), read...)
	for s.at < len(s.b) {
		c := s.b[s.at]
		s.at++
		switch {
		case c == '"':
			return string(out), nil
		case c < ' ':
			s.at--
			return "", s.unexpected()
		case c != '\\':
			out = append(out, c)
			continue
		}
		if s.at >= len(s.b) {
			break
		}
		c = s.b[s.at]
		s.at++
		if i := strings.IndexByte(escapes, c); i >= 0 {
			out = append(out, escaped[i])
			continue
		}
		r, ok := s.unicode()
		if c != 'u' || !ok {
			return "", fmt.Errorf("a backslash at byte %d that stands for nothing", s.at)
		}
		if utf16.IsSurrogate(r) {
			// The other half has to follow; alone it stands for a character that cannot be read.
			rest := *s
			rest.at += 2
			low, ok := rest.unicode()
			if pair := utf16.DecodeRune(r, low); ok && strings.HasPrefix(string(s.b[s.at:min(s.at+2, len(s.b))]), `\u`) && pair != '\uFFFD' {
				r, s.at = pair, rest.at
			} else {
				r = '\uFFFD'
			}
		}
		out = append(out, string(r)...)
	}
	return "", s.unexpected()
}

// unicode takes the four digits of an escaped character.
func (s *lean) unicode() (rune, bool) {
	if s.at+4 > len(s.b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.b[s.at:s.at+4]), 16, 16)
	s.at += 4
	return rune(n), err == nil
}
