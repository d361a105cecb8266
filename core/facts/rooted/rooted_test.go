package rooted

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// tree makes files, and links (a target with "->" before it), below a new root.
func tree(t *testing.T, files map[string]string) Root {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: making links needs a privilege on Windows")
	}
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := cut(content); ok {
			err = os.Symlink(to, p)
		} else {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Root(root)
}

func cut(s string) (string, bool) {
	if len(s) > 2 && s[:2] == "->" {
		return s[2:], true
	}
	return "", false
}

func TestLinksStayBelowTheRoot(t *testing.T) {
	r := tree(t, map[string]string{
		"etc/passwd":           "of the tree",
		"usr/lib/os-release":   "ID=test\n",
		"etc/os-release":       "->../usr/lib/os-release",
		"etc/absolute":         "->/etc/passwd",
		"a/up":                 "->../../../../../../etc/passwd",
		"a/dir":                "->/usr",
		"loop/a":               "->b",
		"loop/b":               "->a",
		"dangling":             "->/nowhere",
		"deep/one/two/current": "->../two/./x/../file",
		"deep/one/two/file":    "1",
		"deep/one/two/x/y":     "",
	})
	for p, want := range map[string]string{
		"/etc/os-release":           "/usr/lib/os-release",
		"/etc/absolute":             "/etc/passwd",
		"/a/up":                     "/etc/passwd",
		"/a/dir/lib/os-release":     "/usr/lib/os-release",
		"/../../etc/passwd":         "/etc/passwd",
		"/deep/one/two/current":     "/deep/one/two/file",
		"/":                         "/",
		"/a/dir/lib/../lib":         "/usr/lib",
		"/deep/./one//two/x/y":      "/deep/one/two/x/y",
		"/deep/one/two/x/../../two": "/deep/one/two",
	} {
		if got, err := r.Resolve(p); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", p, got, err, want)
		}
	}
	for _, p := range []string{"/dangling", "/nowhere/at/all", "/etc/passwd/x"} {
		if _, err := r.Resolve(p); !Missing(err) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if _, err := r.Resolve("/loop/a"); err == nil || Missing(err) {
		t.Errorf("a loop: %v", err)
	}
	if b, err := r.ReadFile("/etc/absolute", 6); string(b) != "of the" || err != nil {
		t.Errorf("%q %v", b, err)
	}
	if _, err := r.ReadFile("/etc", 9); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}

func TestGlob(t *testing.T) {
	r := tree(t, map[string]string{
		"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/dri/card0": "", "dev/dri/by-path/x": "", "dev/kfd": "",
		"opt/rocm-6.2/lib/l": "", "opt/rocm": "->rocm-6.2",
	})
	for pattern, want := range map[string][]string{
		"/dev/nvidia*":       {"/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl"},
		"/dev/nvidia[0-9]*":  {"/dev/nvidia0", "/dev/nvidia1"},
		"/dev/*/card*":       {"/dev/dri/card0"},
		"/dev/kfd":           {"/dev/kfd"},
		"/dev/kfd/*":         nil,
		"/dev/dxg":           nil,
		"/nothing/*/at/all*": nil,
		"/opt/rocm*/lib":     {"/opt/rocm/lib", "/opt/rocm-6.2/lib"},
	} {
		got, err := r.Glob(pattern)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", pattern, got, err, want)
		}
	}
	if _, err := r.Glob("/dev/[x"); err == nil {
		t.Error("a broken pattern matches something")
	}
}

// What cannot be seen is not absent.
func TestG6_UnreadableIsNotMissing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("skipped: root reads everything")
	}
	r := tree(t, map[string]string{"dev/dri/card0": ""})
	dir := r.Path("/dev/dri")
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	if got, err := r.Glob("/dev/dri/*"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%q %v", got, err)
	}
	if _, err := r.Exists("/dev/dri/card0"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
