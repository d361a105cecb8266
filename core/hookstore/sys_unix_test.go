//go:build unix

package hookstore

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"rigup.dev/rigup/core/reason"
)

func makePipe(path string) error { return unix.Mkfifo(path, 0o600) }

func private(fs.FileInfo) fs.FileMode { return 0o600 }

func TestWhatOthersMayWriteIsSaid(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	for _, name := range []string{".", LockFile, "mtgpu.wasm"} {
		info, err := os.Stat(k.path(name))
		must(t, err)
		must(t, os.Chmod(k.path(name), info.Mode()|0o022))
		v := k.List()
		if len(v.Problems) != 1 || v.Problems[0].ID != reason.HookWritable {
			t.Errorf("%s: %+v", name, v.Problems)
		}
		k.wantUsable(builtIns + ", mtgpu 1.0.0") // what runs is what was approved, whoever writes
		must(t, os.Chmod(k.path(name), info.Mode()))
	}
}

func TestAFolderThatCannotBeReadKeepsTheBuiltIns(t *testing.T) {
	k := newKit(t)
	must(t, os.WriteFile(k.Dir, []byte("a file"), 0o600))
	v := k.List()
	if len(v.Problems) == 0 || v.Problems[len(v.Problems)-1].ID != reason.HookFolder {
		t.Errorf("%+v", v.Problems)
	}
	k.wantUsable(builtIns)
}

// E1: whoever can put something into the folder holds nothing up, and has nothing made elsewhere.
func TestE1_WhatStandsInThePlaceOfTheLockHoldsNothingUp(t *testing.T) {
	k := newKit(t)
	must(t, os.MkdirAll(k.Dir, 0o700))
	must(t, makePipe(k.path(".lock")))
	if changed, _, err := k.SetEnabled(t.Context(), "nvidia", false); err != nil || !changed {
		t.Errorf("a pipe: %t, %v", changed, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "made")
	must(t, os.Remove(k.path(".lock")))
	must(t, os.Symlink(elsewhere, k.path(".lock")))
	if _, _, err := k.SetEnabled(t.Context(), "nvidia", true); err == nil {
		t.Error("a link is followed")
	}
	if _, err := os.Lstat(elsewhere); !absent(err) {
		t.Errorf("something was made where the link leads: %v", err)
	}
}
