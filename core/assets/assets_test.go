package assets

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"rigup.dev/rigup"
)

// small is a tree with its manifests.
func small(t *testing.T) fstest.MapFS {
	t.Helper()
	m := fstest.MapFS{
		"assets/pins.yaml":            {Data: []byte("a")},
		"charts/c/templates/_lib.tpl": {Data: []byte("b")},
		"docker/Dockerfile":           {Data: []byte("c")},
		"hooks/templates/c/hook.c":    {Data: []byte("e")},
		Helpers + "/node.zst":         {Data: []byte("d")},
		Hooks + "/builtin.wasm.zst":   {Data: []byte("f")},
	}
	seal(t, m, "amd64")
	return m
}

func seal(t *testing.T, m fstest.MapFS, arch string) {
	t.Helper()
	tree, err := Generate(m)
	if err != nil {
		t.Fatal(err)
	}
	helpers, err := GenerateHelpers(m, arch)
	if err != nil {
		t.Fatal(err)
	}
	m[Manifest], m[HelperManifest] = &fstest.MapFile{Data: tree}, &fstest.MapFile{Data: helpers}
}

func TestU5_EveryDeviationIsNamed(t *testing.T) {
	edit := func(name string, f func(string) string) func(fstest.MapFS) {
		return func(m fstest.MapFS) { m[name] = &fstest.MapFile{Data: []byte(f(string(m[name].Data)))} }
	}
	for _, x := range []struct {
		name string
		do   func(fstest.MapFS)
		want []string // in the error; none: no error
	}{
		{"as it is", func(fstest.MapFS) {}, nil},
		{"without programs", func(m fstest.MapFS) {
			delete(m, Helpers+"/node.zst")
			delete(m, Hooks+"/builtin.wasm.zst")
			delete(m, HelperManifest)
		}, nil},
		{"changed", edit("docker/Dockerfile", func(string) string { return "x" }), []string{"docker/Dockerfile: differs"}},
		{"more", func(m fstest.MapFS) { m["assets/new"] = &fstest.MapFile{} }, []string{"assets/new: not in"}},
		{"less", func(m fstest.MapFS) { delete(m, "assets/pins.yaml") }, []string{"assets/pins.yaml: in manifest.sha256, but not there"}},
		{"twice", edit(Manifest, func(s string) string { return s + strings.Split(s, "\n")[0] + "\n" }), []string{"assets/pins.yaml: listed more than once"}},
		{"torn line", edit(Manifest, func(s string) string { return s + "abc" }), []string{"line 5"}},
		{"no manifest", func(m fstest.MapFS) { delete(m, Manifest) }, []string{"read manifest.sha256: "}},
		{"program changed", edit(Helpers+"/node.zst", func(string) string { return "x" }), []string{Helpers + "/node.zst: differs"}},
		{"hooks changed", edit(Hooks+"/builtin.wasm.zst", func(string) string { return "x" }), []string{Hooks + "/builtin.wasm.zst: differs from " + HelperManifest}},
		{"template changed", edit("hooks/templates/c/hook.c", func(string) string { return "x" }), []string{"hooks/templates/c/hook.c: differs from " + Manifest}},
		{"program, no manifest", func(m fstest.MapFS) { delete(m, HelperManifest) }, []string{HelperManifest}},
		{"program missing", func(m fstest.MapFS) { delete(m, Helpers+"/node.zst") }, []string{Helpers + "/node.zst: in"}},
		{"other platform", edit(HelperManifest, func(s string) string { return strings.Replace(s, "amd64", "arm64", 1) }), []string{"another platform"}},
		{"several", func(m fstest.MapFS) { delete(m, "assets/pins.yaml"); m["docker/Dockerfile"] = &fstest.MapFile{} }, []string{"assets/pins.yaml", "docker/Dockerfile"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			m := small(t)
			x.do(m)
			err := verify(m, "amd64")
			if (err == nil) != (x.want == nil) {
				t.Fatal(err)
			}
			for _, w := range x.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("no %q in %v", w, err)
				}
			}
		})
	}
}

// U5: what the program carries is what its manifests say, and the tree has nothing that embedding left out (it
// leaves out files that begin with a dot or an underscore unless told otherwise).
func TestU5_TreeAndProgram(t *testing.T) {
	if err := Verify(rigup.Files); err != nil {
		t.Errorf("%v\nmake manifest writes it anew", err)
	}
	out, err := exec.Command("git", append([]string{"-C", "../..", "ls-files", "-z", "--"}, roots...)...).Output()
	if err != nil {
		t.Skip("skipped the comparison with the tracked files: ", err)
	}
	for p := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join("../..", filepath.FromSlash(p))); err != nil {
			continue // removed, not yet committed
		}
		if _, err := fs.Stat(rigup.Files, p); err != nil {
			t.Errorf("%s is tracked, but not embedded", p)
		}
	}
}

func TestExport(t *testing.T) {
	m, dir := small(t), filepath.Join(t.TempDir(), "out")
	n, err := Export(m, dir, false)
	if err != nil || n != len(m) {
		t.Fatal(n, err)
	}
	if err := verify(os.DirFS(dir), "amd64"); err != nil {
		t.Error(err)
	}
	if n, err := Export(m, dir, false); !errors.Is(err, ErrExists) || n != 0 {
		t.Error(n, err)
	}
	if _, err := Export(m, dir, true); err != nil {
		t.Error(err)
	}
}

// C2: writing does not follow a link that leads elsewhere.
func TestC2_ExportStaysInItsFolder(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "charts")); err != nil {
		t.Skip("skipped: no symbolic links here: ", err)
	}
	if _, err := Export(small(t), dir, true); err == nil {
		t.Error("wrote through a link")
	}
	if left, _ := os.ReadDir(elsewhere); len(left) > 0 {
		t.Errorf("wrote %v elsewhere", left)
	}
}
