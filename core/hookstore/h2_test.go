package hookstore

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

const builtIns = "nvidia 1.0.0, native 1.0.0"

// The module loops for ever: if anything ran it, this test would not end.
func TestH2_DroppedFileWaitsAndNeverRuns(t *testing.T) {
	k := newKit(t)
	k.wantUsable(builtIns) // there is no folder yet
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	h := k.state("mtgpu.wasm", Pending, reason.HookPending)
	if h.ID != "mtgpu" || h.Manifest.Publisher != "Moore Threads" || h.Signature.KeyID != k.key.ID || h.Signature.From != KeyBeside {
		t.Errorf("%+v", h)
	}
	v := k.List()
	if len(v.Pending()) != 1 || len(v.Notes()) != 1 || v.Notes()[0].Remedy[0] != "rigup hooks approve mtgpu" {
		t.Errorf("%+v", v.Notes())
	}
	k.wantUsable(builtIns)
	k.approve("mtgpu", Options{})
	k.state("mtgpu.wasm", Approved, "")
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
	if v := k.List(); len(v.Pending()) != 0 || len(v.Notes()) != 0 {
		t.Errorf("%+v", v.Notes())
	}
	d := k.List().Usable()[2]
	if d.BuiltIn || d.Unsigned || d.Grant.Devices[0] != "/dev/mtgpu*" || d.Module.Name != "mtgpu.wasm" {
		t.Errorf("%+v", d)
	}
}

func TestH2_OnlyTheApprovedBytesRun(t *testing.T) {
	k := newKit(t)
	b := k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	for name, swap := range map[string][]byte{
		"another hook of the same name": wasmtest.WithManifest(wasmtest.Trap(), manifest("mtgpu 1.0.0")),
		"one byte more":                 append(bytes.Clone(b), wasmtest.Custom("x", nil)...),
		"an older one":                  module(manifest("mtgpu 0.9.0")),
		"garbage":                       []byte("garbage"),
		"nothing":                       {},
	} {
		k.put("mtgpu.wasm", swap)
		h := k.state("mtgpu.wasm", Changed, reason.HookChanged)
		if h.ID != "mtgpu" || h.Entry == nil {
			t.Errorf("%s: %+v", name, h)
		}
		k.wantUsable(builtIns)
	}
	k.put("mtgpu.wasm", b)
	k.state("mtgpu.wasm", Approved, "")

	t.Run("another hook in its place is that hook, and waits", func(t *testing.T) {
		k.put("mtgpu.wasm", module(manifest("evil 1.0.0")))
		found := k.List().Find("mtgpu")
		if len(found) != 1 || found[0].State != Missing || !strings.Contains(found[0].Problem.Evidence[0], "evil") {
			t.Errorf("%+v", found)
		}
		if evil := k.List().Find("evil"); len(evil) != 1 || evil[0].State != Pending {
			t.Errorf("%+v", evil)
		}
		k.wantUsable(builtIns)
	})
}

// What was listed is what runs, whatever happens to the file afterwards.
func TestH2_BytesAreReadOnce(t *testing.T) {
	k := newKit(t)
	b := k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	v := k.List()
	k.put("mtgpu.wasm", []byte("swapped"))
	if d := v.Usable()[2]; !bytes.Equal(d.Module.Bytes, b) {
		t.Error("the bytes changed under the view")
	}
	// A review is of the bytes that were shown: approving it does not approve what stands there now.
	k = newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	r, err := k.Review("mtgpu", Options{})
	must(t, err)
	k.put("mtgpu.wasm", module(manifest("mtgpu 1.0.0", func(m *sdk.Manifest) { m.Title = "swapped" })))
	_, err = k.Approve(t.Context(), r, r.Accepts())
	must(t, err)
	k.state("mtgpu.wasm", Changed, reason.HookChanged)
	k.wantUsable(builtIns)
}

// A glance reads no approved file. What is read when the hook is asked is held against the lock.
func TestH2_AGlanceIsHeldAgainstTheLockWhenTheHookIsAsked(t *testing.T) {
	k := newKit(t)
	b := k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	d := k.Glance().Usable()[2]
	if d.Module.Bytes != nil || d.Manifest.ID != "mtgpu" || d.Load == nil {
		t.Errorf("%+v", d)
	}
	swapped := bytes.Clone(b)
	swapped[len(swapped)-3] ^= 1 // of the same size
	k.put("mtgpu.wasm", swapped)
	if _, err := d.Load(); err == nil || !strings.Contains(err.Error(), "rigup hooks info mtgpu.wasm") {
		t.Errorf("%v", err)
	}
	must(t, os.Remove(k.path("mtgpu.wasm")))
	if _, err := d.Load(); err == nil {
		t.Error("a file that is gone was loaded")
	}
	must(t, os.Symlink(k.path("mtgpu.wasm.pub"), k.path("mtgpu.wasm")))
	if _, err := d.Load(); err == nil {
		t.Error("a link was followed")
	}
	k.wantUsable(builtIns)
	must(t, os.Remove(k.path("mtgpu.wasm")))
	k.put("mtgpu.wasm", b)
	if m, err := d.Load(); err != nil || !bytes.Equal(m.Bytes, b) {
		t.Error(err)
	}
	// What waits, and what is not as it was, is told at a glance as well.
	k.drop("new.wasm", manifest("other 1.0.0"), k.key)
	k.put("mtgpu.wasm", append(bytes.Clone(b), 0))
	if v := k.Glance(); len(v.Pending()) != 1 || len(v.Notes()) != 2 {
		t.Errorf("%+v", v.Notes())
	}
}

func TestH2_OnlyRegularFilesAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		put  func(path string) error
		says string
	}{
		"link": {func(p string) error {
			target := filepath.Join(filepath.Dir(p), "target")
			return firstError(os.WriteFile(target, module(manifest("mtgpu 1.0.0")), 0o600), os.Symlink(target, p))
		}, "symbolic link"},
		"link to nothing": {func(p string) error { return os.Symlink("/nowhere", p) }, "symbolic link"},
		"pipe":            {makePipe, "no regular file"},
		"folder":          {func(p string) error { return os.Mkdir(p, 0o700) }, "a folder"},
		"huge file":       {func(p string) error { return firstError(os.WriteFile(p, nil, 0o600), os.Truncate(p, maxModule+1)) }, "larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.put("keep", nil) // the folder
			if err := c.put(k.path("mtgpu.wasm")); err != nil && runtime.GOOS == "windows" {
				t.Skipf("skipped: %v", err)
			} else {
				must(t, err)
			}
			h := k.state("mtgpu.wasm", Broken, reason.HookFile)
			if !strings.Contains(h.Problem.Text, c.says) {
				t.Errorf("%q", h.Problem.Text)
			}
			_, err := k.Review("mtgpu.wasm", Options{AllowUnsigned: true})
			wantReason(t, err, reason.HookFile)
			must(t, os.RemoveAll(k.path("mtgpu.wasm")))

			k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
			k.approve("mtgpu", Options{})
			must(t, os.Remove(k.path("mtgpu.wasm")))
			must(t, c.put(k.path("mtgpu.wasm")))
			k.state("mtgpu.wasm", Changed, reason.HookChanged)
			k.wantUsable(builtIns)
		})
	}
	t.Run("names that commands could misread", func(t *testing.T) {
		for _, name := range []string{"a b.wasm", "-rf.wasm", "a;b.wasm", "é.wasm", strings.Repeat("a", 120) + ".wasm"} {
			k := newKit(t)
			k.put(name, module(manifest("mtgpu 1.0.0")))
			k.state(name, Broken, reason.HookFile)
		}
	})
	t.Run("what is no module is left alone", func(t *testing.T) {
		k := newKit(t)
		for _, name := range []string{".hidden.wasm", "README", "x.wasm.minisig", "trust/a.wasm"} {
			k.put(name, []byte("x"))
		}
		k.wantUsable(builtIns)
		if n := len(k.List().Hooks); n != 2 {
			t.Errorf("%d hooks", n)
		}
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestH2_WhatIsNoHookIsNamed(t *testing.T) {
	ok := manifest("mtgpu 1.0.0")
	for says, b := range map[string][]byte{
		"not a WebAssembly":         []byte("#!/bin/sh\necho\n"),
		"component":                 wasmtest.Component(),
		"claims":                    wasmtest.Bomb(wasmtest.ImportID),
		"no section rigup.hook":     wasmtest.Loop(),
		"2 sections rigup.hook":     wasmtest.WithManifest(module(ok), ok),
		"manifest is not valid: id": module(manifest("MTGPU 1.0.0")),
		"is not a device node that": module(manifest("mtgpu 1.0.0", func(m *sdk.Manifest) { m.Permissions.Devices = []string{"/dev/sda"} })),
	} {
		k := newKit(t)
		k.put("mtgpu.wasm", b)
		h := k.state("mtgpu.wasm", Broken, reason.HookInvalid)
		if h.Problem != nil && !strings.Contains(h.Problem.Text, says) {
			t.Errorf("%q is not in %q", says, h.Problem.Text)
		}
		_, err := k.Review("mtgpu.wasm", Options{AllowUnsigned: true})
		wantReason(t, err, reason.HookInvalid)
		_, err = k.ReviewFetched(Artifact{Module: b}, Options{AllowUnsigned: true})
		wantReason(t, err, reason.HookInvalid)
	}
}

// rewrite edits what the lock says and makes the checksum right again.
func (k *kit) rewrite(edit func(*lock)) {
	k.t.Helper()
	l, err := k.readLock()
	must(k.t, err)
	edit(&l)
	b, err := encodeLock(l)
	must(k.t, err)
	k.put(LockFile, b)
}

func TestH2_NothingOfAnEditedLockCounts(t *testing.T) {
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	for name, edit := range map[string]func(string) string{
		"more devices":        replace(`"/dev/mtgpu*"`, `"/dev/mtgpu*", "/dev/dri/*"`),
		"another hash":        replace(`"sha256": "`, `"sha256": "0`),
		"switched on":         replace(`"enabled": true`, `"enabled": false`),
		"unknown field":       replace(`"by":`, `"note": "x", "by":`),
		"a field twice":       replace(`"by":`, `"by": "eve", "by":`),
		"another case":        replace(`"by":`, `"BY":`),
		"outside of the lock": replace(`"format": 1,`, `"format": 1, "x": 2,`),
		"second document":     func(s string) string { return s + "{}" },
		"cut off":             func(s string) string { return s[:len(s)/2] },
		"empty":               func(string) string { return "" },
		"null":                func(string) string { return "null" },
		"format 0":            replace(`"format": 1`, `"format": 0`),
		"no checksum":         replace(`"sum": "`, `"sum": "0`),
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
			k.approve("mtgpu", Options{})
			b, err := os.ReadFile(k.path(LockFile))
			must(t, err)
			edited := edit(string(b))
			if edited == string(b) {
				t.Fatal("nothing was edited")
			}
			k.put(LockFile, []byte(edited))
			k.state("mtgpu.wasm", Pending, reason.HookPending)
			k.wantUsable(builtIns)
			v := k.List()
			if len(v.Problems) != 1 || v.Problems[0].ID != reason.HookLockDamaged || len(v.Problems[0].Evidence) != 1 {
				t.Fatalf("%+v", v.Problems)
			}
			// The next change keeps it aside and begins anew.
			r, err := k.Review("mtgpu", Options{})
			must(t, err)
			done, err := k.Approve(t.Context(), r, r.Accepts())
			must(t, err)
			if kept, err := os.ReadFile(k.path(done.Kept)); err != nil || string(kept) != edited {
				t.Errorf("kept as %q: %v", done.Kept, err)
			}
			k.wantUsable(builtIns + ", mtgpu 1.0.0")
		})
	}
	// Whatever changes it first says what became of it.
	for name, change := range map[string]func(k *kit) (string, error){
		"switching": func(k *kit) (string, error) {
			_, kept, err := k.SetEnabled(t.Context(), "nvidia", false)
			return kept, err
		},
		"removing": func(k *kit) (string, error) { return k.Remove(t.Context(), Removal{Name: "x"}) },
		"keeping": func(k *kit) (string, error) {
			r, err := k.ReviewFetched(k.published("1.0.0"), Options{})
			must(t, err)
			r, err = k.Keep(t.Context(), r)
			return r.Questions[len(r.Questions)-1], err
		},
	} {
		k := newKit(t)
		k.put(LockFile, []byte("damaged"))
		if kept, err := change(k); err != nil || !strings.Contains(kept, LockFile+".damaged-") {
			t.Errorf("%s: %q %v", name, kept, err)
		}
	}
}

// An entry that is well formed and says other things than the approved file is no approval.
func TestH2_AnEntryBeyondTheFileIsQuarantined(t *testing.T) {
	for name, edit := range map[string]func(*Entry){
		"permissions beyond the maxima":   func(e *Entry) { e.Grant.Devices = []string{"/dev/sda"} },
		"permissions beyond the manifest": func(e *Entry) { e.Grant.Devices = append(e.Grant.Devices, "/dev/dri/*") },
		"another version":                 func(e *Entry) { e.Manifest.Version = "0.9.0" },
		"kinds":                           func(e *Entry) { e.Manifest.Kinds = []sdk.Kind{sdk.EnvironmentHook} },
	} {
		k := newKit(t)
		k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
		k.approve("mtgpu", Options{})
		k.rewrite(func(l *lock) { edit(&l.Hooks[0]) })
		k.state("mtgpu.wasm", Changed, reason.HookGrant)
		k.wantUsable(builtIns)
		r, err := k.Review("mtgpu", Options{})
		must(t, err)
		if r.Same || len(r.Questions) == 0 {
			t.Errorf("%s: approving again is no question: %+v", name, r)
		}
		k.approve("mtgpu", Options{})
		k.state("mtgpu.wasm", Approved, "")
	}
	// Less than the manifest asks for is a narrower approval, and counts.
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	k.rewrite(func(l *lock) { l.Hooks[0].Grant = sdk.Permissions{} })
	if d := k.List().Usable()[2]; len(d.Grant.Devices) != 0 {
		t.Errorf("%+v", d.Grant)
	}
}

func TestH2_LockThatNoApprovalWrites(t *testing.T) {
	for name, edit := range map[string]func(*lock){
		"a path":       func(l *lock) { l.Hooks[0].File = "../mtgpu.wasm" },
		"an id twice":  func(l *lock) { l.Hooks = append(l.Hooks, l.Hooks[0]) },
		"a bad id":     func(l *lock) { l.Hooks[0].ID = "x y" },
		"a bad hash":   func(l *lock) { l.Hooks[0].SHA256 = "ABC" },
		"a bad key":    func(l *lock) { l.Hooks[0].Key = "ABC" },
		"no version":   func(l *lock) { l.Hooks[0].Manifest.Version = "" },
		"a bad id off": func(l *lock) { l.Off = []string{"../x"} },
	} {
		k := newKit(t)
		k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
		k.approve("mtgpu", Options{})
		k.rewrite(edit)
		if v := k.List(); len(v.Problems) != 1 || v.Problems[0].ID != reason.HookLockDamaged {
			t.Errorf("%s: %+v", name, v.Problems)
		}
		k.wantUsable(builtIns)
	}
}

func TestH2_LockThatCannotBeReplaced(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	b, err := os.ReadFile(k.path(LockFile))
	must(t, err)
	newer := bytes.Replace(b, []byte(`"format": 1`), []byte(`"format": 2`), 1)
	k.put(LockFile, newer)
	if v := k.List(); len(v.Problems) != 1 || v.Problems[0].ID != reason.StateNewer {
		t.Errorf("%+v", v.Problems)
	}
	k.wantUsable(builtIns)
	_, _, err = k.SetEnabled(t.Context(), "nvidia", false)
	wantReason(t, err, reason.StateNewer)
	if got, _ := os.ReadFile(k.path(LockFile)); !bytes.Equal(got, newer) {
		t.Error("the lock of a newer rigup was changed")
	}

	must(t, os.Rename(k.path(LockFile), k.path("elsewhere")))
	must(t, os.Symlink("elsewhere", k.path(LockFile)))
	if v := k.List(); len(v.Problems) != 1 || v.Problems[0].ID != reason.HookLockDamaged {
		t.Errorf("a linked lock: %+v", v.Problems)
	}
}

func TestH2_MissingRenamedAndCopied(t *testing.T) {
	k := newKit(t)
	b := k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	k.put("again.wasm", b)
	k.state("mtgpu.wasm", Approved, "")
	h := k.state("again.wasm", Copied, reason.HookCopy)
	k.wantUsable(builtIns + ", mtgpu 1.0.0") // once
	if h.Problem.Remedy[0] != "rigup hooks remove again.wasm" {
		t.Error(h.Problem.Remedy)
	}
	must(t, os.Remove(k.path("mtgpu.wasm")))
	k.state("again.wasm", Approved, "") // approval is of the bytes, not of the name
	must(t, os.Remove(k.path("again.wasm")))
	k.state("mtgpu.wasm", Missing, reason.HookMissing)
	_, err := k.Review("mtgpu", Options{})
	wantReason(t, err, reason.HookMissing)
	k.wantUsable(builtIns)
}

func TestTheLockIsPrivateAndRelative(t *testing.T) {
	k := newKit(t)
	file := filepath.Join(t.TempDir(), "vendor.wasm")
	m := manifest("mtgpu 1.0.0")
	must(t, os.WriteFile(file, module(m), 0o644))
	must(t, os.WriteFile(file+signatureSuffix, signed(k.key, module(m), SignedComment(m)), 0o644))
	a, err := Fetcher{}.Fetch(t.Context(), file)
	must(t, err)
	r, err := k.ReviewFetched(a, Options{Key: k.key.Text})
	must(t, err)
	_, err = k.Approve(t.Context(), r, r.Accepts())
	must(t, err)
	b, err := os.ReadFile(k.path(LockFile))
	must(t, err)
	if bytes.Contains(b, []byte("/tmp")) || bytes.Contains(b, []byte(k.Dir)) {
		t.Errorf("%s", b)
	}
	var e struct{ Lock struct{ Hooks []Entry } }
	must(t, json.Unmarshal(b, &e))
	got := e.Lock.Hooks[0]
	if got.Source != "file vendor.wasm" || got.By != "ada" || got.Key != k.key.Text || got.KeyFrom != KeyGiven || got.Approved != k.Now() {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{LockFile, got.File, got.File + signatureSuffix} {
		info, err := os.Stat(k.path(name))
		must(t, err)
		if writableByOthers(info) || info.Mode().Perm() != private(info) {
			t.Errorf("%s is %v", name, info.Mode())
		}
	}
}
