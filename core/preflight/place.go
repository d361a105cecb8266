package preflight

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rigup.dev/rigup/core/reason"
)

// disks are where Linux machines keep local disks beside the home directories.
var disks = []string{"/data", "/mnt", "/media", "/srv", "/scratch", "/opt"}

// CheckPlace says whether dir may be the data directory: below the home directory, or below one of the
// places for local disks; never one of these itself. Links are followed first, so that a link below home
// does not lead elsewhere. own is the folder of rigup itself, where the default lies.
//
// Nothing is created: a refused directory must not be left behind.
func CheckPlace(dir, home, own string) error {
	refuse := func(why string) error {
		return reason.Fail(reason.New(reason.DataPlace, "path", dir, "why", why, "suggest", filepath.Join(home, "rigup-data")), nil)
	}
	if !filepath.IsAbs(dir) {
		return refuse("it is not an absolute path")
	}
	real, err := resolve(dir)
	if err != nil {
		return refuse("it cannot be followed: " + err.Error())
	}
	if info, err := os.Stat(real); err == nil && !info.IsDir() {
		return refuse("it is not a directory")
	}
	roots := []string{home, own}
	if filepath.Separator == '/' {
		roots = append(roots, disks...)
	}
	for _, root := range roots {
		r, err := resolve(root)
		if root == "" || err != nil {
			continue
		}
		if real == r {
			return refuse("it is the whole of " + root)
		}
		if inside(real, r) {
			return writable(dir, real)
		}
	}
	where := "your home directory"
	if filepath.Separator == '/' {
		where += " or " + strings.Join(disks, ", ")
	}
	return refuse("it is not below " + where)
}

// inside reports whether path is strictly below root.
func inside(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != "." && !slices.Contains(strings.Split(rel, string(filepath.Separator)), "..")
}

// resolve follows the links of the part of dir that exists.
func resolve(dir string) (string, error) {
	dir = filepath.Clean(dir)
	p, err := filepath.EvalSymlinks(dir)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	if _, lerr := os.Lstat(dir); lerr == nil {
		return "", errors.New("it is a link to nowhere")
	}
	up, err := resolve(filepath.Dir(dir))
	if err != nil {
		return "", err
	}
	return filepath.Join(up, filepath.Base(dir)), nil
}

// writable tries the nearest directory that exists: permission bits are not evidence (root, ACLs,
// read-only mounts).
func writable(asked, real string) error {
	for {
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			break
		}
		real = filepath.Dir(real)
	}
	f, err := os.CreateTemp(real, ".rigup-*")
	if err != nil {
		return reason.Fail(reason.New(reason.DataAccess, "path", asked), err)
	}
	f.Close()
	return os.Remove(f.Name())
}
