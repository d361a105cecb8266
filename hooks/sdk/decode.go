package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// DecodeResponse reads a response strictly: one document, every field known and written as it is defined, none
// twice. What the fields mean is not checked.
func DecodeResponse(b []byte) (Response, error) {
	var r Response
	return r, DecodeStrict(b, &r)
}

// DecodeManifest reads a manifest as strictly.
func DecodeManifest(b []byte) (Manifest, error) {
	var m Manifest
	return m, DecodeStrict(b, &m)
}

// DecodeStrict is encoding/json without its leniency: it takes fields in any case, the last of two, and knows no
// end of the document. Whoever reads the same document with other rules would see another one.
func DecodeStrict(b []byte, into any) error {
	if err := walk(b, reflect.TypeOf(into).Elem()); err != nil {
		return wrong(b, err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return wrong(b, err)
	}
	return nil
}

// maxDepth is far beyond what a document of the protocol needs.
const maxDepth = 64

// place is where something stands in a document. It becomes text only when something is wrong there: the document's
// author chooses how long the names are and how many items there are, and one text for each would take minutes.
type place struct {
	up    *place
	name  string // of a field; empty: an item of a list
	index int
}

// maxName is how much of a name an error repeats.
const maxName = 60

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.name == "" {
		return fmt.Sprintf("%s[%d]", p.up, p.index)
	}
	return strings.TrimPrefix(p.up.String()+"."+strings.ToValidUTF8(p.name[:min(len(p.name), maxName)], ""), ".")
}

// walk reads the one document in b token by token and holds its fields against t.
func walk(b []byte, t reflect.Type) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := value(d, t, nil, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return nil
}

func value(d *json.Decoder, t reflect.Type, at *place, depth int) error {
	tok, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return errors.New("the JSON document is not complete")
		}
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d levels deep", at, maxDepth)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch tok {
	case json.Delim('{'):
		return object(d, t, at, depth)
	case json.Delim('['):
		var elem reflect.Type
		if t != nil && t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() {
			elem = t.Elem()
		}
		for i := 0; d.More(); i++ {
			if err := value(d, elem, &place{up: at, index: i}, depth+1); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return err
	}
	return nil
}

func object(d *json.Decoder, t reflect.Type, at *place, depth int) error {
	var fields map[string]reflect.Type
	if t != nil && t.Kind() == reflect.Struct {
		fields = fieldsOf(t)
	}
	seen := map[string]bool{}
	for d.More() {
		tok, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := tok.(string)
		here := &place{up: at, name: name}
		if seen[name] {
			return fmt.Errorf("the field %s stands there twice", here)
		}
		seen[name] = true
		var ft reflect.Type
		if fields != nil {
			var ok bool
			if ft, ok = fields[name]; !ok {
				if as := alike(fields, name); as != "" {
					return fmt.Errorf("the field %s is not known: it is written %s", here, as)
				}
				return fmt.Errorf("the field %s is not known", here)
			}
		} else if t != nil && t.Kind() == reflect.Map {
			ft = t.Elem()
		}
		if err := value(d, ft, here, depth+1); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = f.Type
	}
	return out
}
