// Package assets holds the files that the program carries against their manifests (invariant U5).
//
// The manifest at the root covers the files of the tree. The programs that are built for the node, and the built-in
// hooks, are made together with the executable and have a manifest of their own.
package assets

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Manifest covers every file of the tree below Roots once.
const Manifest = "manifest.sha256"

// Helpers is where the generated programs lie, and Hooks where the built-in hooks do; HelperManifest covers both.
const (
	Helpers        = "assets/helpers"
	Hooks          = "assets/hooks"
	HelperManifest = Helpers + "/manifest.sha256"
	helperSuffix   = ".zst"
)

// roots are the folders and files that are embedded.
var roots = []string{"assets", "charts", "docker", "hooks/README.md", "hooks/schema", "hooks/sdk", "hooks/templates"}

// File is one embedded file.
type File struct {
	Path      string `json:"path"` // with slashes
	Size      int64  `json:"size"` // bytes
	SHA256    string `json:"sha256"`
	Generated bool   `json:"generated,omitempty"` // made with the executable, not a file of the tree
}

// List returns all files of fsys that a manifest covers, by path.
func List(fsys fs.FS) ([]File, error) {
	var files []File
	for _, root := range roots {
		err := fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || p == HelperManifest {
				return err
			}
			f, err := hash(fsys, p)
			files = append(files, f)
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("list %s: %w", root, err)
		}
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func generated(p string) bool {
	dir := path.Dir(p)
	return (dir == Helpers || dir == Hooks) && path.Ext(p) == helperSuffix
}

func hash(fsys fs.FS, p string) (File, error) {
	f, err := fsys.Open(p)
	if err != nil {
		return File{}, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", p, err)
	}
	return File{p, n, hex.EncodeToString(h.Sum(nil)), generated(p)}, nil
}

// Generate returns the manifest of the tree's files in fsys, as sha256sum would print it.
func Generate(fsys fs.FS) ([]byte, error) {
	return generate(fsys, false, "")
}

// GenerateHelpers returns the manifest of the generated files, the programs for linux on arch among them.
func GenerateHelpers(fsys fs.FS, arch string) ([]byte, error) {
	return generate(fsys, true, helperHeader(arch)+"\n")
}

func helperHeader(arch string) string { return "# linux/" + arch }

func generate(fsys fs.FS, helpers bool, header string) ([]byte, error) {
	files, err := List(fsys)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBufferString(header)
	for _, f := range files {
		if f.Generated == helpers {
			_, _ = fmt.Fprintf(b, "%s  %s\n", f.SHA256, f.Path)
		}
	}
	return b.Bytes(), nil
}

// Verify holds every file of fsys against the manifests: each is covered once, is there, and hashes to what is
// written. The error joins one for each offending file and names it.
func Verify(fsys fs.FS) error { return verify(fsys, runtime.GOARCH) }

func verify(fsys fs.FS, arch string) error {
	files, err := List(fsys)
	if err != nil {
		return err
	}
	var tree, helpers []File
	for _, f := range files {
		if f.Generated {
			helpers = append(helpers, f)
		} else {
			tree = append(tree, f)
		}
	}
	errs := []error{check(fsys, Manifest, "", tree)}
	_, err = fs.Stat(fsys, HelperManifest)
	if len(helpers) > 0 || !errors.Is(err, fs.ErrNotExist) { // a build without the programs has neither
		errs = append(errs, check(fsys, HelperManifest, helperHeader(arch), helpers))
	}
	return errors.Join(errs...)
}

// check holds files against one manifest, whose first line has to be the header if there is one.
func check(fsys fs.FS, manifest, header string, files []File) error {
	b, err := fs.ReadFile(fsys, manifest)
	if err != nil {
		return fmt.Errorf("read %s: %w", manifest, err)
	}
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	want := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(b))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 && header != "" {
			if line != header {
				bad("%s: the first line is %q, not %q: it was made for another platform", manifest, line, header)
			}
			continue
		}
		sum, p, ok := strings.Cut(line, "  ")
		switch {
		case !ok || !isSum(sum) || !fs.ValidPath(p):
			bad("%s: line %d is not of the form \"HASH  PATH\"", manifest, n)
			continue
		case want[p] != "":
			bad("%s: listed more than once in %s", p, manifest)
		}
		want[p] = sum
	}
	if err := lines.Err(); err != nil {
		bad("read %s: %w", manifest, err)
	}
	for _, f := range files {
		switch sum, ok := want[f.Path]; {
		case !ok:
			bad("%s: not in %s", f.Path, manifest)
		case sum != f.SHA256:
			bad("%s: differs from %s", f.Path, manifest)
		}
		delete(want, f.Path)
	}
	for _, p := range sorted(want) {
		bad("%s: in %s, but not there", p, manifest)
	}
	return errors.Join(errs...)
}

func isSum(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

func sorted(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// ErrExists is returned by Export when a file would be overwritten.
var ErrExists = errors.New("already there")

// Export writes all files of fsys and their manifests below dir and returns how many. Without force it stops
// before the first write if one of them is there.
func Export(fsys fs.FS, dir string, force bool) (int, error) {
	files, err := List(fsys)
	if err != nil {
		return 0, err
	}
	paths := []string{Manifest}
	if _, err := fs.Stat(fsys, HelperManifest); err == nil {
		paths = append(paths, HelperManifest)
	}
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir) // nothing is written through a link that leads out of dir
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }()
	if !force {
		for _, p := range paths {
			if _, err := root.Lstat(filepath.FromSlash(p)); err == nil {
				return 0, fmt.Errorf("%s: %w", filepath.Join(dir, filepath.FromSlash(p)), ErrExists)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return 0, err
			}
		}
	}
	for i, p := range paths {
		b, err := fs.ReadFile(fsys, p)
		if err != nil {
			return i, err
		}
		name := filepath.FromSlash(p)
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return i, err
		}
		if err := root.WriteFile(name, b, 0o644); err != nil {
			return i, err
		}
	}
	return len(paths), nil
}
