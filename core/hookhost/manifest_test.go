package hookhost

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	w "rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/hooks/sdk"
)

func testManifest(id string) sdk.Manifest {
	return sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: id, Version: "1.0.0", Title: "Test", Kinds: []sdk.Kind{sdk.GPUHook}}
}

func document(t testing.TB, m sdk.Manifest) []byte {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestManifests(t *testing.T) {
	module := hello().Bytes
	both := module
	var err error
	for _, id := range []string{"one", "two"} {
		if both, err = AddManifest(both, document(t, testManifest(id))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Inspect(both)
	if err != nil || len(s.Manifests) != 2 || s.Manifests[0].ID != "one" || s.Manifests[1].ID != "two" {
		t.Fatalf("%+v, %v", s, err)
	}
	if s.Functions != 1 || s.Pages != 1 || !slices.Contains(s.Imports, "fd_write") {
		t.Errorf("%+v", s)
	}
	without, err := WithoutManifest(both)
	if err != nil || !bytes.Equal(without, module) {
		t.Errorf("without its manifests the module differs, %v", err)
	}
	h := New(Options{})
	defer h.Close()
	if a := mustAsk(t, h, NewModule("both", both), detect()); a.Response.Kind != sdk.Decline {
		t.Errorf("answers %v", a.Response)
	}
}

// TestManifestProblems holds that a manifest that cannot be read is an error that says why, and that one which could
// not be read is not written.
func TestManifestProblems(t *testing.T) {
	good := string(document(t, testManifest("test")))
	for _, c := range []struct{ name, manifest, want string }{
		{"empty", "", "has a manifest that cannot be read: the JSON document is not complete"},
		{"text", "id: test", "has a manifest that cannot be read: the beginning, \"id: test\", is not JSON"},
		{"half", good[:40], "has a manifest that cannot be read: "},
		{"two", good + good, "something follows the JSON document"},
		{"unknown field", strings.Replace(good, `"id"`, `"name":"x","id"`, 1), "the field name is not known"},
		{"duplicate", strings.Replace(good, `"id"`, `"id":"x","id"`, 1), "the field id stands there twice"},
		{"kind of a field", strings.Replace(good, `"test"`, `7`, 1), "the field id is a number, and has to be a string"},
		{"hidden", strings.Replace(good, `"id"`, "\"i\x1bd\"", 1), "has a manifest that cannot be read"},
		{"other version", strings.Replace(good, sdk.API, "rigup.hook/v9", 1), `has a manifest that is for "rigup.hook/v9"; this program knows rigup.hook/v1`},
		{"other ABI", strings.Replace(good, sdk.ABI, "component/1", 1), `has a manifest that is for the ABI "component/1"; this program knows wasip1-json/1`},
		{"large", good + strings.Repeat(" ", 65<<10), "has a manifest that has 65 KiB; at most 64 are read"},
	} {
		module := w.Cat(hello().Bytes, w.Custom(sdk.Section, []byte(c.manifest)))
		_, err := Inspect(module)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsFunc(err.Error(), hidden) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if _, err := AddManifest(hello().Bytes, []byte(c.manifest)); err == nil {
			t.Errorf("%s: it is written", c.name)
		}
		if b, err := WithoutManifest(module); err != nil || !bytes.Equal(b, hello().Bytes) {
			t.Errorf("%s: it is not removed: %v", c.name, err)
		}
	}
	many := hello().Bytes
	for i := range 65 {
		many = w.WithManifest(many, testManifest(fmt.Sprint("h", i)))
	}
	if _, err := Inspect(many); err == nil || !strings.Contains(err.Error(), "more than 64 manifests") {
		t.Errorf("65 manifests: %v", err)
	}
	for _, b := range [][]byte{nil, []byte("MZ"), w.Component(), hello().Bytes[:50]} {
		if _, err := AddManifest(b, []byte(good)); err == nil || !strings.HasPrefix(err.Error(), "the module ") {
			t.Errorf("a manifest in %d bytes: %v", len(b), err)
		}
		if _, err := WithoutManifest(b); err == nil {
			t.Error("a manifest is taken out of what is no module")
		}
	}
}

// TestInspectGo holds that the static check takes what the Go toolchain makes, with room to spare.
func TestInspectGo(t *testing.T) {
	module := goHook(t, "clock")
	s, err := Inspect(module)
	if err != nil {
		t.Fatal(err)
	}
	if s.Functions < 1000 || s.Functions > maxItems/10 || len(s.Imports) < 10 || s.Pages > maxPages/4 {
		t.Errorf("%d functions, %d imports, %d pages", s.Functions, len(s.Imports), s.Pages)
	}
	b, err := bare(module)
	if err != nil || len(b) > len(module) {
		t.Fatal(len(b), err)
	}
	t.Logf("%d bytes, %d without names; %d functions, %d pages, imports %v", len(module), len(b), s.Functions, s.Pages, s.Imports)
}
