package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// strict is the schema of T that allows no other fields. The published one allows them: new fields do not
// make a new version of the stream.
func strict[T any](t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[event.Type](): enum(event.TypeRun, event.TypeStage, event.TypeStep, event.TypeProgress,
			event.TypeChange, event.TypeWarning, event.TypeHook, event.TypeResult),
		reflect.TypeFor[event.State]():  enum(event.Running, event.Done, event.Skipped, event.Degraded, event.Failed, event.Planned),
		reflect.TypeFor[event.Unit]():   enum(event.Bytes, event.Pods, event.Seconds),
		reflect.TypeFor[event.Action](): enum(event.Create, event.Update, event.Start, event.Replace, event.Delete, event.Pull, event.Load, event.Keep),
		reflect.TypeFor[reason.ID]():    {Type: "string"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open takes the ban on other fields away.
func open(s *jsonschema.Schema) *jsonschema.Schema {
	s = s.CloneSchemas()
	var walk func(*jsonschema.Schema)
	walk = func(s *jsonschema.Schema) {
		if s == nil {
			return
		}
		s.AdditionalProperties = nil
		for _, p := range s.Properties {
			walk(p)
		}
		walk(s.Items)
	}
	walk(s)
	return s
}

func schemaFile(t *testing.T, name, title string, s *jsonschema.Schema) {
	t.Helper()
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", title
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, '\n')
	path := filepath.Join("schema", name)
	if *update {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b) {
		t.Errorf("%s is not what the types say; go test ./core/report -update writes it", path)
	}
}

func TestSchemaIsCurrent(t *testing.T) {
	schemaFile(t, "event.schema.json", "One line of rigup --output json", open(strict[event.Event](t)))
	schemaFile(t, "status.schema.json", "rigup status --output json", open(strict[Status](t)))
}

// validate holds a line against the checked-in schema and against the strict one.
func validate[T any](t *testing.T, file string, line []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("schema", file))
	if err != nil {
		t.Fatal(err)
	}
	var published jsonschema.Schema
	if err := json.Unmarshal(b, &published); err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	for _, s := range []*jsonschema.Schema{&published, strict[T](t)} {
		r, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); err != nil {
			t.Errorf("%v\nin %s", err, line)
		}
	}
}

func TestEveryEventValidates(t *testing.T) {
	for _, sc := range scenarios {
		var b bytes.Buffer
		c := newClock()
		play(sc.name, NewJSON(Options{Out: &b, Now: c.now}), c, nil)
		lines := bytes.Split(bytes.TrimSpace(b.Bytes()), []byte("\n"))
		for _, l := range lines {
			validate[event.Event](t, "event.schema.json", l)
		}
		if last := string(lines[len(lines)-1]); sc.name != "install-running" && (!strings.HasPrefix(last, `{"type":"result"`) || !strings.Contains(last, `"exit":`)) {
			t.Errorf("%s ends with %s", sc.name, last)
		}
	}
}

func TestEveryStatusValidates(t *testing.T) {
	for _, s := range statuses(newClock()) {
		b, err := json.Marshal(s.status)
		if err != nil {
			t.Fatal(err)
		}
		validate[Status](t, "status.schema.json", b)
	}
}
