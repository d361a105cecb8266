//go:build unix

package program

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"rigup.dev/rigup/core/facts/rooted"
)

// script writes a shell script below a new root.
func script(t *testing.T, p, text string) rooted.Root {
	t.Helper()
	root := rooted.Root(t.TempDir())
	put(t, root, p, text, 0o755)
	return root
}

func put(t *testing.T, root rooted.Root, p, text string, mode os.FileMode) {
	t.Helper()
	file := root.Path(p)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), mode)); err != nil {
		t.Fatal(err)
	}
}

func TestRun(t *testing.T) {
	root := script(t, "/usr/bin/tool", `echo "out $1 $NAME$HOME"; echo err >&2; cat; exit 3`)
	r := Run(t.Context(), Call{Root: root, Path: "/usr/bin/tool", Args: []string{"--version"}, Env: []string{"NAME=x"}, Limit: 10 * time.Second, Max: 100})
	if r.Exit != 3 || r.Err != nil || r.Output != "out --version x\nerr\n" {
		t.Errorf("%+v", r)
	}
	if r := Run(t.Context(), Call{Root: root, Path: "/usr/bin/none", Limit: time.Second}); !errors.Is(r.Err, fs.ErrNotExist) {
		t.Errorf("%+v", r)
	}
	put(t, root, "/usr/bin/plain", "", 0o644)
	if r := Run(t.Context(), Call{Root: root, Path: "/usr/bin/plain", Limit: time.Second}); !errors.Is(r.Err, fs.ErrPermission) {
		t.Errorf("%+v", r)
	}
}

func TestOutputIsBounded(t *testing.T) {
	root := script(t, "/tool", "while :; do echo 0123456789; done")
	r := Run(t.Context(), Call{Root: root, Path: "/tool", Limit: 200 * time.Millisecond, Max: 25})
	if r.Output != "0123456789\n0123456789\n012" || !errors.Is(r.Err, context.DeadlineExceeded) {
		t.Errorf("%+v", r)
	}
}

// A program that hangs ends at its deadline, and the children it started with it, also those that keep its output
// open when it has ended itself.
func TestE1_ChildrenDieWithTheProgram(t *testing.T) {
	for name, c := range map[string]struct {
		after string // what the program does after it started its child
		late  bool
	}{
		"the program hangs":    {"wait", true},
		"only its child hangs": {"exit 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := script(t, "/tool", "sleep 1000 & echo $!; "+c.after)
			begin := time.Now()
			r := Run(t.Context(), Call{Root: root, Path: "/tool", Limit: 300 * time.Millisecond, Max: 100})
			if late := errors.Is(r.Err, context.DeadlineExceeded); late != c.late || r.Exit != 0 {
				t.Errorf("%+v", r)
			}
			if d := time.Since(begin); d > 10*time.Second {
				t.Errorf("it took %s", d)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(r.Output))
			if err != nil {
				t.Fatal(err)
			}
			if !gone(pid) {
				t.Errorf("the child %d is still there", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// gone reports whether a process ends. Killed, it may stay for a moment until somebody asks for its exit code.
func gone(pid int) bool {
	for range 100 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if syscall.Kill(pid, 0) == syscall.ESRCH || err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

func TestFind(t *testing.T) {
	root := script(t, "/usr/bin/smi", "")
	put(t, root, "/opt/rocm-6.1/bin/rocm-smi", "", 0o755)
	put(t, root, "/opt/rocm-6.2/bin/rocm-smi", "", 0o755)
	put(t, root, "/usr/local/bin/plain", "", 0o644)
	put(t, root, "/usr/local/bin/dir/x", "", 0o755)
	s := Search{Root: root, Dirs: []string{"/usr/local/bin", "/usr/bin", "/opt/rocm*/bin"}}
	for name, want := range map[string]string{
		"smi": "/usr/bin/smi", "rocm-smi": "/opt/rocm-6.2/bin/rocm-smi", "plain": "", "dir": "", "none": "",
	} {
		got, err := s.Find(name)
		if got != want || (want == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
}

// H4: as root, a probe runs no program that another user can have put there, and does not say that there is none.
func TestH4_RootRunsNoProgramOfOthers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: this is for root")
	}
	root := script(t, "/home/ada/bin/smi", "")
	put(t, root, "/open/smi", "", 0o755)
	if err := errors.Join(os.Chown(root.Path("/home/ada/bin"), 1000, 1000), os.Chmod(root.Path("/open"), 0o777)); err != nil {
		t.Fatal(err)
	}
	s := Search{Root: root, Dirs: []string{"/home/ada/bin", "/open"}}
	if got, err := s.Find("smi"); got != "" || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%q %v", got, err)
	}
	put(t, root, "/usr/bin/smi", "", 0o755)
	s.Dirs = append(s.Dirs, "/usr/bin")
	if got, err := s.Find("smi"); got != "/usr/bin/smi" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestPathDirs(t *testing.T) {
	got := PathDirs("/usr/bin:relative::/opt/x/../y:/with*wildcard:.")
	if want := []string{"/usr/bin", "/opt/y"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
