package data

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test program be its own child, as the real program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == ProveCommand {
		os.Exit(Prove(os.Args[2:], os.Stderr))
	}
	os.Exit(m.Run())
}

// Repairs are independent: whichever fail, all are tried for every directory, and only the proof decides.
// Chaining them once meant that a chown which a file system refuses cancelled the chmod that would have helped.
func TestC6_RepairsAreNotChainedAndTheEndStateDecides(t *testing.T) {
	no := errors.New("operation not permitted")
	for bits := range 16 {
		fails := func(bit int) error {
			if bits&bit != 0 {
				return no
			}
			return nil
		}
		var calls []string
		r := repairs{
			mkdir: func(p string, _ fs.FileMode) error { calls = append(calls, "create "+p); return fails(1) },
			chown: func(p string, _, _ int) error { calls = append(calls, "chown "+p); return fails(2) },
			chmod: func(p string, _ fs.FileMode) error { calls = append(calls, "chmod "+p); return fails(4) },
			prove: func(_ context.Context, p string, _, _ int) error {
				calls = append(calls, "prove "+p)
				if p == "/a" { // the other directory is always fine
					return fails(8)
				}
				return nil
			},
		}
		var out bytes.Buffer
		code := prepare(t.Context(), []Dir{{"/a", 0o777}, {"/b", 0o777 | fs.ModeSetgid}}, 1, 2, r, &out)
		want := []string{"create /a", "chown /a", "chmod /a", "prove /a", "create /b", "chown /b", "chmod /b", "prove /b"}
		if !slices.Equal(calls, want) {
			t.Errorf("%04b: %v", bits, calls)
		}
		if (code == 0) != (bits&8 == 0) {
			t.Errorf("%04b: exit %d", bits, code)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 2 || strings.Contains(lines[0], "not writable for 1:2: "+no.Error()) != (bits&8 != 0) || !strings.HasSuffix(lines[1], "writable for 1:2") {
			t.Errorf("%04b: %q", bits, lines)
		}
		if strings.Contains(lines[0], "chown 1:2 failed (") != (bits&2 != 0) {
			t.Errorf("%04b: the note is missing: %q", bits, lines[0])
		}
	}
}

func TestC6_ProofWritesAsTheWorkloadsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	root := t.TempDir()
	// The parents of a test's directory are closed to others.
	for p := root; p != "/" && p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(root, "new", "data")
	var out, errs bytes.Buffer
	code := Init(t.Context(), []string{"--uid=65532", "--gid=65532", "--dir=" + dir + "=2777"}, &out, &errs)
	if code != 0 || !strings.Contains(out.String(), "writable for 65532:65532") {
		t.Fatalf("%d %s %s", code, out.String(), errs.String())
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode()&fs.ModeSetgid == 0 || info.Mode().Perm() != 0o777 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	// Owned by somebody else and closed: root could write, the workload cannot.
	closed := filepath.Join(root, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	err = proveAs(t.Context(), closed, 65532, 65532)
	if err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("%v", err)
	}
}

func TestInit_Arguments(t *testing.T) {
	for want, args := range map[string][]string{
		"--uid and --gid": {"--dir=/a=777"},
		"no --dir":        {"--uid=1", "--gid=1"},
		"PATH=MODE":       {"--dir=relative=777"},
		"octal number":    {"--dir=/a=999"},
		"unexpected":      {"--uid=1", "--gid=1", "--dir=/a=777", "x"},
	} {
		var out, errs bytes.Buffer
		if code := Init(t.Context(), args, &out, &errs); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: %d %s", args, code, errs.String())
		}
	}
}
