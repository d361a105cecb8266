package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/google/jsonschema-go/jsonschema"

	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

// vendor is a publisher with hooks that would hang whoever runs them.
type vendor struct {
	key minisign.PrivateKey
	pub minisign.PublicKey
}

func newVendor(t *testing.T) vendor {
	t.Helper()
	pub, key, err := minisign.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return vendor{key, pub}
}

// write puts a version of the hook, with its signature, into a folder, and returns its path and its digest.
func (v vendor) write(t *testing.T, dir, version string, devices ...string) (path, digest string) {
	t.Helper()
	m := sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: "mtgpu", Version: version, Title: "Moore Threads GPUs", Publisher: "Moore Threads",
		Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{"0x1ed5"}}, Permissions: sdk.Permissions{Devices: devices}}
	b := wasmtest.WithManifest(wasmtest.Loop(), m)
	path = filepath.Join(dir, "mtgpu-"+version+".wasm")
	for name, content := range map[string][]byte{path: b, path + ".minisig": minisign.SignWithComments(v.key, b, hookstore.SignedComment(m), "")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path, hookstore.Hook{Sum: sha256.Sum256(b)}.Digest()
}

// holds holds a JSON document against a published schema.
func holds(t *testing.T, schema, doc string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../core/report/schema", schema))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	var v any
	for text, into := range map[string]any{string(b): &s, doc: &v} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%v\nin %s", err, doc)
	}
}

func (m *machine) says(t *testing.T, want int, says string, args ...string) string {
	t.Helper()
	got := m.do(t, want, append([]string{"hooks"}, args...)...)
	if flat := strings.Join(strings.Fields(got), " "); !strings.Contains(flat, says) {
		t.Errorf("rigup hooks %q does not say %q:\n%s", args, says, got)
	}
	return got
}

func TestHooksFromTheFirstToTheLast(t *testing.T) {
	m, v := newMachine(t), newVendor(t)
	work := filepath.Join(m.dir, "work")
	_, digest := v.write(t, work, "1.0.0", "/dev/mtgpu*")
	m.says(t, 0, "Hooks of others: rigup hooks add FILE", "list")
	m.says(t, 2, "There is no hook mtgpu.", "info", "mtgpu")

	// Nobody can be asked: the file is kept, and the remedy is the command that approves it.
	key := v.pub.String()
	m.says(t, 2, "hook.key-unknown", "add", "mtgpu-1.0.0.wasm")
	again := "rigup hooks approve mtgpu-1.0.0.wasm --accept " + digest + " --key " + key
	m.says(t, 2, again, "add", "mtgpu-1.0.0.wasm", "--key", key)
	m.says(t, 2, "hook.key-unknown", "approve", "mtgpu")
	m.says(t, 0, "mtgpu 1.0.0 gpu Moore Threads, waits for approval", "list")
	m.says(t, 0, "Wants to look at these device nodes, and hand them to the cluster: /dev/mtgpu*", "info", "mtgpu")
	m.says(t, 2, "--accept cannot be sha256:1: the digest of mtgpu 1.0.0 is "+digest, "approve", "mtgpu", "--key", key, "--accept", "sha256:1")
	m.says(t, 0, "mtgpu 1.0.0 is approved.", strings.Fields(again)[2:]...)
	m.says(t, 0, "is approved already", "approve", "mtgpu")
	m.says(t, 0, "ok mtgpu 1.0.0 gpu Moore Threads, approved", "list")
	m.says(t, 0, "May look at these device nodes", "info", "mtgpu")

	// An update with the same key that asks for no more is no question; one that asks for more is.
	v.write(t, work, "1.1.0", "/dev/mtgpu*")
	m.says(t, 0, "mtgpu 1.1.0 is approved: it is signed with the key of 1.0.0 and asks for no more.", "add", "mtgpu-1.1.0.wasm")
	v.write(t, work, "1.2.0", "/dev/mtgpu*", "/dev/mtlink*")
	m.says(t, 2, "It asks for more than the approved 1.1.0 may.", "add", "mtgpu-1.2.0.wasm")
	m.says(t, 0, "an update that waits for approval", "list")
	m.says(t, 0, "Changes Version 1.2.0 instead of 1.1.0.", "info", "mtgpu-1.2.0.wasm")
	m.says(t, 1, "hook.downgrade", "add", "mtgpu-1.0.0.wasm")

	m.says(t, 0, "The hook mtgpu is switched off from now on.", "disable", "mtgpu")
	m.says(t, 0, "The hook mtgpu is switched off already.", "disable", "mtgpu")
	m.says(t, 0, "-- mtgpu 1.1.0", "list")
	m.says(t, 0, "The hook mtgpu is in use from now on.", "enable", "mtgpu")
	m.says(t, 0, "The hook mtgpu was removed.", "remove", "mtgpu", "--yes")
	if got := m.says(t, 0, "Hooks of others", "list"); strings.Contains(got, "mtgpu") {
		t.Error(got)
	}
	if len(m.fake.calls) > 0 {
		t.Errorf("the engine was needed for %q", m.fake.calls)
	}
}

func TestHooksAsJSON(t *testing.T) {
	m, v := newMachine(t), newVendor(t)
	path, digest := v.write(t, filepath.Join(m.dir, "elsewhere"), "1.0.0", "/dev/mtgpu*")
	json := func(want int, args ...string) string { return m.says(t, want, "", append(args, "--output", "json")...) }
	var e struct {
		Exit   int
		Reason reason.Reason
	}
	unmarshal(t, json(2, "add", path, "--key", v.pub.String()), &e)
	if e.Exit != 2 || e.Reason.ID != reason.HookApproval || !strings.Contains(e.Reason.Remedy[1], digest) {
		t.Errorf("%+v", e)
	}
	holds(t, "hooks.schema.json", json(0, "list"))
	holds(t, "hooks.schema.json", json(0, "info", "mtgpu"))
	for _, args := range [][]string{{"approve", "mtgpu", "--accept", digest, "--key", v.pub.String()}, {"approve", "mtgpu"}, {"disable", "mtgpu"}, {"enable", "mtgpu"}, {"remove", "mtgpu"}} {
		doc := json(0, args...)
		holds(t, "hook-change.schema.json", doc)
		var c report.HookChange
		unmarshal(t, doc, &c)
		if c.Action != args[0] || len(c.Text) == 0 || (c.Hook == nil) != (args[0] == "remove") {
			t.Errorf("%+v", c)
		}
		if c.Hook != nil && (c.Hook.ID != "mtgpu" || c.Hook.Digest != digest || c.Hook.Used != (args[0] != "disable")) {
			t.Errorf("%+v", c.Hook)
		}
	}
}

func unmarshal(t *testing.T, doc string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(doc), into); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
}

// --yes answers questions, and the approval of a hook is none that can be answered before it was read.
func TestH2_YesApprovesNoHook(t *testing.T) {
	m, v := newMachine(t), newVendor(t)
	path, _ := v.write(t, filepath.Join(m.dir, "work"), "1.0.0")
	for _, args := range [][]string{
		{"add", path, "--key", v.pub.String(), "--yes"}, {"approve", "mtgpu", "--key", v.pub.String(), "--yes"},
		{"approve", "mtgpu", "--key", v.pub.String(), "--yes", "--allow-unsigned", "--allow-downgrade"},
	} {
		m.says(t, 2, "--yes does not approve hooks", args...)
	}
	m.env["RIGUP_YES"] = "true"
	m.says(t, 2, "hook.approval", "approve", "mtgpu", "--key", v.pub.String())
	m.says(t, 0, "waits for approval", "list")
}

// On a terminal everything that the decision is about is shown before the question.
func TestHooksAreApprovedOnATerminal(t *testing.T) {
	for answer, approved := range map[string]bool{"y\n": true, "n\n": false, "\n": false} {
		v := newVendor(t)
		path, digest := v.write(t, t.TempDir(), "1.0.0", "/dev/mtgpu*")
		a, err := hookstore.Fetcher{}.Fetch(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine(t)
		s := hookstore.Store{Dir: filepath.Join(m.dir, "hooks"), Now: m.now, By: "ada"}
		r, err := s.ReviewFetched(a, hookstore.Options{Key: v.pub.String()})
		if err != nil {
			t.Fatal(err)
		}
		var screen bytes.Buffer
		flow := approval{store: s, ask: report.Prompt{In: strings.NewReader(answer), Out: &screen}, show: &screen, env: m.program.env}
		change, err := flow.run(t.Context(), "add", r, "")
		if err != nil || (change != nil) != approved {
			t.Fatalf("%q: %v %+v", answer, err, change)
		}
		for _, word := range []string{"Moore Threads", digest, "/dev/mtgpu*", v.pub.String(), "was given on the command line", "Approve it? [y/N]"} {
			if !strings.Contains(screen.String(), word) {
				t.Errorf("%q is not shown:\n%s", word, &screen)
			}
		}
		if got := len(s.List().Usable()); (got == 1) != approved {
			t.Errorf("%q: %d usable", answer, got)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir, "*.wasm*")); !approved && len(left) > 0 {
			t.Errorf("after a no there is %q", left)
		}
	}
}

func TestGoldenHelpOfHooks(t *testing.T) {
	m := newMachine(t)
	for _, c := range []string{"list", "info", "add", "approve", "remove", "enable", "disable"} {
		got := m.do(t, 0, "hooks", c, "--help")
		golden(t, "help-hooks-"+c, got)
		if !strings.Contains(got, "Example\n  rigup hooks "+c) || strings.Contains(got, "plain-http") {
			t.Error(got)
		}
	}
}

func TestMistakesAboutHooks(t *testing.T) {
	m, v := newMachine(t), newVendor(t)
	v.write(t, filepath.Join(m.dir, "home", ".rigup", "hooks"), "1.0.0")
	for args, want := range map[string]string{
		"":                                  "rigup hooks needs one of: list, info, add, approve",
		"ad x":                              "did you mean rigup hooks add?",
		"add":                               "rigup hooks add needs SOURCE",
		"add http://example.com/x.wasm":     "SOURCE cannot be http://example.com/x.wasm: it is a file, an https:// address or an oci:// reference",
		"add https://u:secret@x.test/a":     "leave out user and password",
		"add none.wasm":                     "there is no such file",
		"info":                              "rigup hooks info needs HOOK",
		"info none":                         "There is no hook none.",
		"approve none":                      "There is no hook none.",
		"approve mtgpu --accept":            "--accept needs a value: --accept DIGEST",
		"approve mtgpu --key nonsense":      "--key cannot be nonsense",
		"enable none":                       "There is no hook none.",
		"enable mtgpu":                      "which is not known here",
		"remove none":                       "There is no hook none.",
		"approve mtgpu --acept":             "did you mean --accept?",
		"add x --ca-file none.pem --output": "--output needs a value",
	} {
		got := m.says(t, map[bool]int{true: 1, false: 2}[strings.Contains(want, "such file")], want, strings.Fields(args)...)
		if strings.Contains(got, "secret") {
			t.Errorf("E2: %s", got)
		}
	}
}

func TestHooksAreCompleted(t *testing.T) {
	m, v := newMachine(t), newVendor(t)
	v.write(t, filepath.Join(m.dir, "home", ".rigup", "hooks"), "1.0.0")
	for _, x := range []struct{ before, word, want string }{
		{"", "hoo", "hooks"},
		{"hooks", "ap", "approve"},
		{"hooks info", "mt", "mtgpu"},
		{"hooks approve", "mt", "mtgpu"},
		{"hooks approve", "--acc", "--accept"},
		{"hooks add", "mt", ""}, // a file
		{"hooks add", "--pl", ""},
	} {
		args := append([]string{completeCommand, "cur=" + x.word}, strings.Fields(x.before)...)
		if got := strings.Join(strings.Fields(m.do(t, 0, args...)), " "); got != x.want {
			t.Errorf("%s|%s: %q, want %q", x.before, x.word, got, x.want)
		}
	}
}
