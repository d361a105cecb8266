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

// wrong says for the author of a document what encoding/json says for authors of Go programs.
func wrong(document []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the JSON document is not complete")
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("the field %s is %s, and has to be %s", shortened(kind.Field), article(kind.Value), jsonKind(kind.Type))
	case errors.As(err, &kind):
		return fmt.Errorf("the document is %s, and has to be %s", article(kind.Value), jsonKind(kind.Type))
	case errors.As(err, &syntax):
		return fmt.Errorf("%s is not JSON: %w", spot(document, syntax.Offset), err)
	}
	return err
}

// spot is where in a document something stands: what it begins with, or the number of the line.
func spot(document []byte, offset int64) string {
	before := document[:min(max(offset, 0), int64(len(document)))]
	first, _, _ := bytes.Cut(bytes.TrimSpace(document), []byte("\n"))
	if len(bytes.TrimSpace(before)) <= 1 && !bytes.HasPrefix(first, []byte("{")) {
		return fmt.Sprintf("the beginning, %q,", shortened(string(first)))
	}
	return fmt.Sprintf("line %d", bytes.Count(before, []byte("\n"))+1)
}

// shortened is the beginning of a text whose author chose how long it is.
func shortened(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxName)], "") }

// article is encoding/json's word for what stands in the document.
func article(value string) string {
	word, of, _ := strings.Cut(value, " ")
	switch word {
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "number":
		if of != "" {
			return "the number " + shortened(of)
		}
	}
	return "a " + word
}

// jsonKind is what a type is in JSON.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	}
	return "a whole number"
}

// alike is the name that differs from another only in its case; empty if there is none.
func alike(fields map[string]reflect.Type, name string) string {
	for f := range fields {
		if strings.EqualFold(f, name) {
			return f
		}
	}
	return ""
}
