// Package rooted reads a file system below a directory as if that were /: links are followed within it, so that a
// tree in a test behaves as the machine that it stands for. Paths are absolute and written with slashes.
package rooted

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Root is the directory; "/" on a real machine.
type Root string

// maxLinks is how many links one path may lead through; Linux gives up at as many.
const maxLinks = 40

// Path is where p lies for the system. Links in it are not followed within the root: use what Resolve returns.
func (r Root) Path(p string) string {
	return filepath.Join(string(r), filepath.FromSlash(path.Clean("/"+p)))
}

// Resolve follows every link in p and returns the path of what is there, as seen from the root. What is not there
// is fs.ErrNotExist.
func (r Root) Resolve(p string) (string, error) {
	rest := strings.Split(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
	at, links := "/", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		st, err := os.Lstat(r.Path(next))
		if err != nil {
			return "", err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("follow %s: too many links", p)
		}
		to, err := os.Readlink(r.Path(next))
		if err != nil {
			return "", err
		}
		if to = filepath.ToSlash(to); path.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// ErrNotRegular says that a path leads to something else than a file: a directory, a device, a pipe.
var ErrNotRegular = errors.New("not a regular file")

// ReadFile returns at most limit bytes from the beginning of a regular file. It never waits for a writer, as
// opening a pipe would.
func (r Root) ReadFile(p string, limit int64) ([]byte, error) {
	real, err := r.Resolve(p)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(r.Path(real), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: p, Err: ErrNotRegular}
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// ReadDir returns the sorted names in a directory.
func (r Root) ReadDir(p string) ([]string, error) {
	real, err := r.Resolve(p)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(r.Path(real))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Exists reports whether something is at p. What cannot be seen is an error.
func (r Root) Exists(p string) (bool, error) {
	switch _, err := r.Resolve(p); {
	case err == nil:
		return true, nil
	case Missing(err):
		return false, nil
	default:
		return false, err
	}
}

// Glob returns the sorted paths that match a pattern of path.Match, in which * does not match a slash. Unlike
// filepath.Glob it fails where a directory cannot be read: what was not seen must not count as absent.
func (r Root) Glob(pattern string) ([]string, error) {
	found := []string{"/"}
	for _, part := range strings.Split(strings.TrimPrefix(path.Clean(pattern), "/"), "/") {
		var next []string
		for _, dir := range found {
			names, err := r.matching(dir, part)
			if err != nil {
				return nil, err
			}
			for _, n := range names {
				next = append(next, path.Join(dir, n))
			}
		}
		found = next
	}
	return found, nil
}

// matching are the names in a directory that match one part of a pattern.
func (r Root) matching(dir, part string) ([]string, error) {
	if !strings.ContainsAny(part, `*?[\`) {
		ok, err := r.Exists(path.Join(dir, part))
		if !ok || err != nil {
			return nil, err
		}
		return []string{part}, nil
	}
	names, err := r.ReadDir(dir)
	if Missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		ok, err := path.Match(part, n)
		if err != nil {
			return nil, fmt.Errorf("match %q: %w", part, err)
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, nil
}

// Missing reports whether an error says that something is not there: it does not exist, or what would be its
// directory is a file.
func Missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || notDir(err) }
