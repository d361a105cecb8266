package main

import (
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/hooks/sdk"
)

func TestGoldenHelpForVendors(t *testing.T) {
	m := newMachine(t)
	for _, c := range []string{"init", "test", "keygen", "pack", "schema"} {
		golden(t, "help-hooks-"+c, m.do(t, 0, "hooks", c, "--help"))
	}
}

// From nothing to a signed hook that another rigup takes; only building is left out.
func TestAVendorsWay(t *testing.T) {
	m, dir := newMachine(t), t.TempDir()
	project := filepath.Join(dir, "acme")
	out := m.do(t, 0, "hooks", "init", "--lang", "c", "--pci", "0x1ace", "--dir", project, "acme")
	for _, want := range []string{"files written to ", "apt-get install", "rigup hooks test acme.wasm --facts cases", "rigup hooks keygen acme.key"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := m.do(t, 2, "hooks", "init", "--lang", "c", "--pci", "0x1ace", "--dir", project, "acme"); !strings.Contains(out, "nothing was written") {
		t.Error(out)
	}

	key, module := filepath.Join(dir, "acme.key"), filepath.Join(dir, "hook.wasm")
	m.in = strings.NewReader("\n") // no password
	if out := m.do(t, 0, "hooks", "keygen", key); !strings.Contains(out, "has no password") {
		t.Error(out)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Error("others can read the key", err)
	}
	m.in = strings.NewReader("\n")
	if out := m.do(t, 2, "hooks", "keygen", key); !strings.Contains(out, "never overwritten") {
		t.Error(out)
	}
	if err := os.WriteFile(module, wasmtest.Loop(), 0o600); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(dir, "acme.wasm")
	out = m.do(t, 0, "hooks", "pack", module, "--manifest", filepath.Join(project, "manifest.json"), "--key", key, "-o", packed)
	if !strings.Contains(out, "acme 0.1.0") || !strings.Contains(out, "signed") {
		t.Error(out)
	}
	first, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	m.do(t, 0, "hooks", "pack", packed, "--key", key)
	if again, err := os.ReadFile(packed); err != nil || string(again) != string(first) {
		t.Error("signing again changed the module", err)
	}
	for _, args := range [][]string{{"pack", packed, "-o", filepath.Join(dir, "nowhere", "x.wasm")}, {"keygen", filepath.Join(dir, "nowhere", "x.key")}} {
		if out := m.do(t, 2, append([]string{"hooks"}, args...)...); !strings.Contains(out, "cannot be written: no such file or directory") {
			t.Error(out)
		}
	}

	store := hookstore.Store{Dir: filepath.Join(dir, "hooks"), Now: m.now}
	a, err := hookstore.Fetcher{}.Fetch(t.Context(), packed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.ReviewFetched(a, hookstore.Options{})
	if err != nil || r.Signature.Key == "" || r.Manifest.ID != "acme" {
		t.Errorf("%+v, %v", r, err)
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/hooks/acme:0.1.0"
	if out := m.do(t, 0, "hooks", "pack", packed, "--push", reference); !strings.Contains(out, "rigup hooks add "+reference+"@sha256:") {
		t.Error(out)
	}
	a, err = hookstore.Fetcher{}.Fetch(t.Context(), reference)
	if err != nil || string(a.Module) != string(first) || len(a.Signature) == 0 || len(a.Key) == 0 {
		t.Errorf("what was pushed comes back otherwise: %v", err)
	}

	if out := m.do(t, 0, "hooks", "pack", packed); !strings.Contains(out, ", signed") { // as it is, so its signature holds
		t.Error(out)
	}
	m.do(t, 0, "hooks", "pack", module, "--manifest", filepath.Join(project, "manifest.json"), "-o", packed)
	if _, err := os.Stat(packed + ".minisig"); err != nil {
		t.Error("the same bytes again lost their signature", err)
	}
	changed := strings.ReplaceAll(readText(t, filepath.Join(project, "manifest.json")), "0.1.0", "0.2.0")
	if err := os.WriteFile(filepath.Join(project, "manifest.json"), []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := m.do(t, 0, "hooks", "pack", module, "--manifest", filepath.Join(project, "manifest.json"), "-o", packed); !strings.Contains(out, "acme 0.2.0") || !strings.Contains(out, "not signed") {
		t.Error(out)
	}
	if _, err := os.Stat(packed + ".minisig"); !os.IsNotExist(err) {
		t.Error("the signature of other bytes is left", err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestMistakesOfVendors(t *testing.T) {
	m, dir := newMachine(t), t.TempDir()
	file := filepath.Join(dir, "x.wasm")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"init", "acme"}, "--lang cannot be empty: it is one of go, c, rust, assemblyscript"},
		{[]string{"init", "--lang", "c", "acme"}, "--pci cannot be empty"},
		{[]string{"init", "--lang", "c", "--pci", "0x1ace", "Acme"}, "NAME cannot be Acme: use up to 40"},
		{[]string{"test", filepath.Join(dir, "nowhere.wasm")}, "there is no such file"},
		{[]string{"test", file, "--facts", filepath.Join(dir, "nowhere")}, "--facts cannot be"},
		{[]string{"pack", file}, "is not a WebAssembly module"},
		{[]string{"pack", file, "--manifest", filepath.Join(dir, "nowhere")}, "there is no such file"},
		{[]string{"schema", "respnse"}, "did you mean response?"},
	} {
		if out := m.do(t, 2, append([]string{"hooks"}, x.args...)...); !strings.Contains(out, x.want) {
			t.Errorf("%v: no %q in\n%s", x.args, x.want, out)
		}
	}
	if out := m.do(t, 1, "hooks", "test", file); !strings.Contains(out, "0 passed, 1 failed, 0 skipped") {
		t.Error(out)
	}
}

func TestSchemaCommand(t *testing.T) {
	m := newMachine(t)
	if out := m.do(t, 0, "hooks", "schema"); !strings.Contains(out, "response   v1  hooks/schema/response.v1.schema.json") {
		t.Error(out)
	}
	var schema struct{ Title string }
	if err := json.Unmarshal([]byte(m.do(t, 0, "hooks", "schema", "manifest")), &schema); err != nil || schema.Title == "" {
		t.Error(schema, err)
	}
	if !json.Valid([]byte(m.do(t, 0, "hooks", "schema", "--output", "json"))) || sdk.API == "" {
		t.Error("not JSON")
	}
}
