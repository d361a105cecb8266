package hookkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

func guideText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../" + guide)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The examples of the guide are what the host takes: their fence says what they are.
func TestGuideExamples(t *testing.T) {
	text := guideText(t)
	blocks := regexp.MustCompile("(?ms)^```json([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(text, -1)
	manifest := sdk.Manifest{}
	for _, b := range blocks {
		if strings.TrimSpace(b[1]) == "manifest" {
			m, err := sdk.DecodeManifest([]byte(b[2]))
			if err == nil {
				err = grant.Valid(m)
			}
			if err != nil {
				t.Fatalf("%v in\n%s", err, b[2])
			}
			manifest = m
		}
	}
	seen := map[string]int{}
	for _, b := range blocks {
		words, doc := strings.Fields(b[1]), []byte(b[2])
		if len(words) == 0 {
			t.Fatalf("a block that does not say what it is:\n%s", doc)
		}
		seen[words[0]]++
		if err := validator(t, words[0]).Validate(anyOf(t, doc)); err != nil {
			t.Errorf("%v in\n%s", err, doc)
		}
		if err := exampleIs(words, doc, manifest.Permissions); err != nil {
			t.Errorf("%v in\n%s", err, doc)
		}
	}
	for _, want := range []string{"manifest", "request", "response", "machine"} {
		if seen[want] == 0 {
			t.Errorf("no example of a %s", want)
		}
	}
}

// exampleIs holds an example against what it says it is: request, machine, manifest, or response PHASE [KIND].
func exampleIs(words []string, doc []byte, g sdk.Permissions) error {
	switch words[0] {
	case "request":
		d := json.NewDecoder(bytes.NewReader(doc))
		d.DisallowUnknownFields()
		return d.Decode(&sdk.Request{})
	case "machine":
		_, err := sdk.DecodeMachine(doc)
		return err
	case "response":
		req := sdk.Request{Kind: sdk.GPUHook, Phase: sdk.Phase(words[1])}
		if len(words) > 2 {
			req.Kind = sdk.Kind(words[2])
		}
		r, err := hookhost.CheckResponse(req, doc)
		if err != nil {
			return err
		}
		for _, p := range r.Probes {
			if err := grant.Probe(p, g); err != nil {
				return err
			}
		}
		if r.Environment != nil {
			return grant.Environment(*r.Environment)
		}
		if r.GPU != nil {
			return grant.GPU(*r.GPU, g)
		}
	}
	return nil
}

// Everything that a document can have is named in the guide, and so are the words that fields can be.
func TestGuideNamesEverything(t *testing.T) {
	text := guideText(t)
	name := func(what, word string) {
		if !regexp.MustCompile("`[^`\n]*\\b" + regexp.QuoteMeta(word) + "\\b[^`\n]*`|\"" + regexp.QuoteMeta(word) + "\"").MatchString(text) {
			t.Errorf("the guide does not name the %s %s", what, word)
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[sdk.Manifest](), reflect.TypeFor[sdk.Match](), reflect.TypeFor[sdk.Permissions](), reflect.TypeFor[sdk.Request](),
		reflect.TypeFor[sdk.Response](), reflect.TypeFor[sdk.GPU](), reflect.TypeFor[sdk.Attach](), reflect.TypeFor[sdk.Check](), reflect.TypeFor[sdk.Expect](),
		reflect.TypeFor[sdk.CDI](), reflect.TypeFor[sdk.Workload](), reflect.TypeFor[sdk.Reason](), reflect.TypeFor[sdk.Claim](), reflect.TypeFor[sdk.Device](),
		reflect.TypeFor[sdk.Failure](), reflect.TypeFor[sdk.Probe](), reflect.TypeFor[sdk.ProbeResult](), reflect.TypeFor[sdk.Environment](),
		reflect.TypeFor[sdk.Facts](), reflect.TypeFor[sdk.Host](), reflect.TypeFor[sdk.Engine](), reflect.TypeFor[sdk.PCIDevice](), reflect.TypeFor[sdk.DeviceNode](),
		reflect.TypeFor[sdk.Module](), reflect.TypeFor[sdk.Library](), reflect.TypeFor[sdk.Tool](), reflect.TypeFor[sdk.Distro](), reflect.TypeFor[sdk.WSL](),
	} {
		for i := range of.NumField() {
			field, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			name("field of "+of.Name(), field)
		}
	}
	for of, s := range enums() {
		for _, word := range s.Enum {
			name(of.Name(), fmt.Sprint(word))
		}
	}
	if want := fmt.Sprintf("at most %d rounds with at most %d probes each", sdk.MaxRounds, sdk.MaxProbes); !strings.Contains(text, want) {
		t.Errorf("the guide does not say %q", want)
	}
}

// The texts of errors that the guide explains are those that there are. Numbers and what stands for ... are left out.
func TestGuideExplainsErrorsThatThereAre(t *testing.T) {
	var source strings.Builder
	comment := regexp.MustCompile(`(?m)(^|\s)//.*$`)
	for _, dir := range []string{"core/hookhost", "core/grant", "core/hookkit", "core/hookstore", "core/decision", "core/reason", "core/pins", "hooks/sdk"} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatal(dir, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.go") {
				source.Write(comment.ReplaceAll(b, nil))
			}
		}
	}
	_, table, ok := strings.Cut(guideText(t), "## Errors and what to do\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \|$`).FindAllStringSubmatch(table, -1)
	if !ok || len(rows) < 15 {
		t.Fatalf("%d errors", len(rows))
	}
	for _, row := range rows[1:] {
		for _, part := range regexp.MustCompile(`\.\.\.|[0-9]+|: `).Split(row[1], -1) {
			if part = strings.Trim(part, " ,"); len(part) > 3 && !strings.Contains(source.String(), part) {
				t.Errorf("no source has %q, which the guide explains", part)
			}
		}
	}
}
