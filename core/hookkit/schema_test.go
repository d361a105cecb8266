package hookkit

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"rigup.dev/rigup/hooks/sdk"
)

var update = flag.Bool("update", false, "write the schemas and the golden files anew")

const (
	schemaTree = "../../" + SchemaDir
	sdkTree    = "../../hooks/sdk"
)

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	return s
}

// enums are the types of which only some words are values. A test holds that every string type of the SDK with
// constants is here, with all of them.
func enums() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[sdk.Status]():       enum(sdk.Known, sdk.Absent, sdk.Unknown),
		reflect.TypeFor[sdk.Kind]():         enum(sdk.EnvironmentHook, sdk.GPUHook),
		reflect.TypeFor[sdk.Phase]():        enum(sdk.Detect, sdk.Decide, sdk.Diagnose),
		reflect.TypeFor[sdk.ResponseKind](): enum(sdk.Decline, sdk.Ask, sdk.Claimed, sdk.Decision, sdk.Because),
		reflect.TypeFor[sdk.AttachKind]():   enum(sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices),
		reflect.TypeFor[sdk.MemoryModel]():  enum(sdk.HostMemory, sdk.VirtualMemory),
		reflect.TypeFor[sdk.PathModel]():    enum(sdk.SamePaths, sdk.SharedPaths, sdk.NoPaths),
		reflect.TypeFor[sdk.Compute]():      enum(sdk.ComputeCUDA, sdk.ComputeKFD, sdk.ComputeDRM, sdk.ComputeDevices),
		reflect.TypeFor[sdk.CDIMode]():      enum(sdk.CDINVIDIA, sdk.CDIStatic),
		reflect.TypeFor[sdk.Step]():         enum(sdk.StepAttach, sdk.StepCheck, sdk.StepImage, sdk.StepCDI, sdk.StepAdvertise, sdk.StepPod),
		reflect.TypeFor[sdk.ProbeKind]():    enum(sdk.PCIList, sdk.DeviceStat, sdk.FileRead, sdk.EngineInfo, sdk.EngineRun, sdk.ToolVersion, sdk.RegistryReach),
		reflect.TypeFor[json.RawMessage]():  {Type: "object"},
	}
}

// document is one document of the protocol.
type document struct {
	name, title, api string
	of               reflect.Type
	open             bool // further fields may come within a version
}

func documents() []document {
	return []document{
		{"manifest", "What a hook is and may do, in the section rigup.hook of its module", sdk.API, reflect.TypeFor[sdk.Manifest](), false},
		{"request", "What a hook reads on its standard input", sdk.API, reflect.TypeFor[sdk.Request](), true},
		{"response", "What a hook writes to its standard output", sdk.API, reflect.TypeFor[sdk.Response](), false},
		{"machine", "A machine written down, as rigup facts --output json does and rigup hooks test reads", sdk.MachineAPI, reflect.TypeFor[sdk.Machine](), true},
		{"expected", "What rigup hooks test --update writes beside a case", ExpectedAPI, reflect.TypeFor[Expected](), false},
	}
}

// schema makes the schema of a document from its Go type, with the comments of its fields as descriptions.
func (d document) schema(t *testing.T, docs map[string]string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(d.of, &jsonschema.ForOptions{TypeSchemas: enums()})
	if err != nil {
		t.Fatal(err)
	}
	describe(s, d.of, docs, d.open)
	s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", "https://rigup.dev/schema/hooks/"+d.name+".v1.schema.json", d.title
	api := any(d.api)
	s.Properties["api"].Const, s.Properties["api"].Description = &api, "version of this document"
	if abi := s.Properties["abi"]; abi != nil {
		v := any(sdk.ABI)
		abi.Const, abi.Description = &v, "how the module is started and spoken to"
	}
	return s
}

// describe walks a schema and the type that it was made from. In an open document it takes the ban on other fields away.
func describe(s *jsonschema.Schema, of reflect.Type, docs map[string]string, open bool) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case s == nil || of == reflect.TypeFor[json.RawMessage]():
	case of.Kind() == reflect.Slice:
		describe(s.Items, of.Elem(), docs, open)
	case of.Kind() == reflect.Struct:
		if open {
			s.AdditionalProperties = nil
		}
		name, _, _ := strings.Cut(of.Name(), "[") // Fact[...] is one type with many schemas
		for i := range of.NumField() {
			f := of.Field(i)
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p := s.Properties[field]
			if p.Description == "" {
				p.Description = docs[name+"."+f.Name]
			}
			describe(p, f.Type, docs, open)
		}
	}
}

// comments are those above the fields of the SDK's types, by type and field.
func comments(t *testing.T, trees ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, f := range sources(t, trees...) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range st.Fields.List {
					text := strings.Join(strings.Fields(field.Doc.Text()+" "+field.Comment.Text()), " ")
					for _, name := range field.Names {
						out[spec.Name.Name+"."+name.Name] = text
					}
				}
			}
			return true
		})
	}
	return out
}

func sources(t *testing.T, trees ...string) []*ast.File {
	t.Helper()
	var out []*ast.File
	for _, tree := range trees {
		names, err := filepath.Glob(filepath.Join(tree, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, f)
		}
	}
	return out
}

func TestSchemasAreCurrent(t *testing.T) {
	docs := comments(t, sdkTree, ".")
	for _, d := range documents() {
		b, err := json.MarshalIndent(d.schema(t, docs), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b = append(b, '\n')
		file := filepath.Join(schemaTree, d.name+".v1"+schemaSuffix)
		if *update {
			if err := os.WriteFile(file, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, b) {
			t.Errorf("%s is not what the types say: go test ./core/hookkit -update writes it, make manifest its hash", file)
		}
	}
}

// Every string type of the SDK that has constants is an enum in the schemas, with all of them.
func TestSchemasKnowEveryWord(t *testing.T) {
	known := map[string][]any{}
	for of, s := range enums() {
		known[of.Name()] = s.Enum
	}
	for _, f := range sources(t, sdkTree) {
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				of, ok := v.Type.(*ast.Ident)
				if !ok {
					continue
				}
				word := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)
				if !slices.Contains(known[of.Name], any(word)) {
					t.Errorf("the schemas do not know the %s %q", of.Name, word)
				}
			}
		}
	}
}

func TestSchemas(t *testing.T) {
	all, err := Schemas(os.DirFS("../.."))
	if err != nil || len(all) != len(documents()) {
		t.Fatalf("%v, %v", all, err)
	}
	for _, s := range all {
		b, ok, err := ReadSchema(os.DirFS("../.."), s.Name)
		if err != nil || !ok || !json.Valid(b) || s.Version != "v1" {
			t.Errorf("%v: %v %v", s, ok, err)
		}
	}
	if _, ok, err := ReadSchema(os.DirFS("../.."), "nonsense"); ok || err != nil {
		t.Error("a schema that is not there", ok, err)
	}
}

// validator reads a published schema.
func validator(t *testing.T, name string) *jsonschema.Resolved {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(schemaTree, name+".v1"+schemaSuffix))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func anyOf(t *testing.T, v any) any {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	var out any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the schemas allow and what the decoders take is the same where it matters.
func TestSchemasAreStrictWhereTheHostIs(t *testing.T) {
	for _, x := range []struct {
		schema, doc string
		ok          bool
	}{
		{"response", `{"api":"rigup.hook/v1","kind":"decline"}`, true},
		{"response", `{"api":"rigup.hook/v1","kind":"decline","more":1}`, false},
		{"response", `{"api":"rigup.hook/v2","kind":"decline"}`, false},
		{"response", `{"api":"rigup.hook/v1","kind":"perhaps"}`, false},
		{"response", `{"api":"rigup.hook/v1","kind":"reason","reason":{"id":"x","text":"y","level":3}}`, false},
		{"manifest", `{"api":"rigup.hook/v1","abi":"wasip1-json/1","id":"x","version":"1.0.0","title":"t","publisher":"p","kinds":["gpu"]}`, true},
		{"manifest", `{"api":"rigup.hook/v1","abi":"wasip1-json/1","id":"x","version":"1.0.0","title":"t","publisher":"p","kinds":["cpu"]}`, false},
		{"manifest", `{"api":"rigup.hook/v1","abi":"wasip2","id":"x","version":"1.0.0","title":"t","publisher":"p","kinds":["gpu"]}`, false},
		{"manifest", `{"api":"rigup.hook/v1","abi":"wasip1-json/1","id":"x","version":"1.0.0","title":"t","publisher":"p","kinds":["gpu"],"permissions":{"everything":true}}`, false},
	} {
		err := validator(t, x.schema).Validate(anyOf(t, []byte(x.doc)))
		if (err == nil) != x.ok {
			t.Errorf("%s: %v", x.doc, err)
		}
	}
	f := sdk.Facts{}
	fill(reflect.ValueOf(&f).Elem())
	req := anyOf(t, sdk.Request{API: sdk.API, Hook: "x", Kind: sdk.GPUHook, Phase: sdk.Detect, Facts: f}).(map[string]any)
	req["later"] = true
	req["facts"].(map[string]any)["host"].(map[string]any)["later"] = true
	if err := validator(t, "request").Validate(req); err != nil {
		t.Errorf("a request of a later rigup: %v", err)
	}
	machine := anyOf(t, sdk.Machine{API: sdk.MachineAPI, Title: "t", Facts: f}).(map[string]any)
	machine["later"] = true
	if err := validator(t, "machine").Validate(machine); err != nil {
		t.Errorf("a machine of a later rigup: %v", err)
	}
}

// fill makes every fact unknown, so that each status is a word that there is.
func fill(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Type() == reflect.TypeFor[sdk.Status]() {
			f.SetString(string(sdk.Unknown))
		}
		fill(f)
	}
}
