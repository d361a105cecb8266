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

// A hook goes through plain maps and lists between JSON and the types of the protocol. encoding/json makes tables of
// every type that it is given, all of the protocol's, before it reads the first byte; a hook is started anew for each
// request, in an interpreter, and there the tables took longer than all the rest. For maps and lists it makes none.

// readPlain reads the one document in r into what into points to. Fields that its type does not have are skipped.
func readPlain(r io.Reader, into any) error {
	d := json.NewDecoder(r)
	d.UseNumber() // sizes in bytes need more than a float64 has
	var doc any
	if err := d.Decode(&doc); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON document")
	}
	return fill(reflect.ValueOf(into).Elem(), doc)
}

// fill puts a decoded value into v.
func fill(v reflect.Value, doc any) error {
	if raw, ok := v.Addr().Interface().(*json.RawMessage); ok && doc != nil {
		b, err := json.Marshal(doc)
		*raw = b
		return err
	}
	if v.Kind() == reflect.Pointer && doc != nil {
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), doc)
	}
	switch d := doc.(type) {
	case nil:
		v.SetZero()
		return nil
	case map[string]any:
		return fillObject(v, d)
	case []any:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), len(d), len(d)))
			for i, item := range d {
				if err := fill(v.Index(i), item); err != nil {
					return err
				}
			}
			return nil
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(d)
			return nil
		}
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(d)
			return nil
		}
	case json.Number:
		if n, err := d.Int64(); v.CanInt() && err == nil && !v.OverflowInt(n) {
			v.SetInt(n)
			return nil
		}
	}
	return fmt.Errorf("there is %T where there should be %s", doc, v.Type())
}

func fillObject(v reflect.Value, doc map[string]any) error {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if item, ok := doc[name]; ok {
				if err := fill(v.Field(i), item); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		return nil
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for name, item := range doc {
			e := reflect.New(v.Type().Elem()).Elem()
			if err := fill(e, item); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			v.SetMapIndex(reflect.ValueOf(name), e)
		}
		return nil
	}
	return fmt.Errorf("there is an object where there should be %s", v.Type())
}

// writePlain is v as JSON, with the fields in the order of their names.
func writePlain(v any) ([]byte, error) {
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(plain(reflect.ValueOf(v)))
	return b.Bytes(), err
}

// plain is v made of maps and lists.
func plain(v reflect.Value) any {
	if raw, ok := v.Interface().(json.RawMessage); ok {
		if raw == nil {
			return nil
		}
		return raw
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return plain(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			f := v.Field(i)
			left := strings.Contains(options, "omitzero") && f.IsZero() || strings.Contains(options, "omitempty") && empty(f)
			if !left {
				out[name] = plain(f)
			}
		}
		return out
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return nil
		}
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = plain(it.Value())
		}
		return out
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	}
	return v.Int()
}

// empty is what encoding/json leaves out with omitempty. A struct never is.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
