package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"rigup.dev/rigup/core/durable"
)

// backupSuffix is added to the file's name for the copy of the original.
const backupSuffix = ".rigup-backup"

// errMoved says that somebody changed the file while it was being worked on, in spite of the lock.
var errMoved = errors.New("the file was changed by another program meanwhile")

// target follows links, so that a link stays one and the file that it names is written. A link to a file that
// does not exist yet is followed too.
func target(path string) (string, error) {
	for range 40 { // the depth at which systems give up
		to, err := os.Readlink(path)
		if err != nil {
			// Not a link, or not there at all: this is the place. Links above it in the path are the system's business.
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("%s: too many links", path)
}

// content is the file's text; nil without error when there is no file.
func content(path string) (text []byte, mode fs.FileMode, err error) {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, err
	case !fi.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s is not a file", path)
	}
	text, err = os.ReadFile(path)
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, fi.Mode().Perm(), err
}

// writable reports why a file could not be replaced. A file that its owner made read-only is meant to stay, also
// for root and although a rename could replace it.
func writable(path string) error {
	fi, err := os.Stat(path)
	if err == nil && fi.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only", path)
	}
	dir := filepath.Dir(path)
	for {
		fi, err := os.Stat(dir)
		switch {
		case err == nil && !fi.IsDir():
			return fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			return accessible(dir)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		up := filepath.Dir(dir)
		if up == dir {
			return err
		}
		dir = up
	}
}

// replace writes a file so that at every moment there is the old or the new one, whole. before is what the file
// was when the change was worked out; when it is no longer that, nothing is written and the error is errMoved.
func replace(path string, before, after []byte) error {
	old, mode, err := content(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, before) || (old == nil) != (before == nil) {
		return errMoved
	}
	// The file gets a key that opens the cluster: nobody else may read it, and a stricter mode stays.
	if mode &= 0o600; old == nil {
		mode = 0o600
	}
	return write(path, after, mode)
}

// write puts a file in place by a rename, with the owner of the file or, for a new one, of its directory: a
// run as root must not take a user's kubeconfig away.
func write(path string, text []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".rigup-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(text); err != nil {
		return err
	}
	if err = f.Chmod(mode); err != nil {
		return err
	}
	if err = giveOwner(f.Name(), path); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	_ = durable.SyncDir(filepath.Dir(path))
	return nil
}

// makeDir makes the directory of a new kubeconfig, for its user only, and reports whether it had to.
func makeDir(dir string) (made bool, err error) {
	if _, err := os.Stat(dir); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	up := filepath.Dir(dir)
	if up != dir {
		if _, err := makeDir(up); err != nil {
			return false, err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	return true, giveOwner(dir, dir)
}

// backup keeps the file as it was before rigup's first change. A backup that is there stays, as long as what is
// not rigup's is still the same; otherwise it is out of date and the file as it is now replaces it.
func backup(path string, d *doc) (kept string, err error) {
	if len(bytes.TrimSpace(d.text)) == 0 {
		return "", nil
	}
	name := path + backupSuffix
	if old, _, err := content(name); err == nil && old != nil {
		if was, err := parse(old); err == nil && reflect.DeepEqual(was.foreign(), d.foreign()) {
			return name, nil
		}
	}
	return name, write(name, d.text, 0o600)
}

// dropBackup removes the backup when nothing of rigup's is left in the file and the backup holds nothing that
// the file does not.
func dropBackup(path string, d *doc) error {
	name := path + backupSuffix
	old, _, err := content(name)
	if err != nil || old == nil {
		return err
	}
	for _, l := range lists {
		for _, e := range d.entries(l.list) {
			if _, ours := e.mark(); ours {
				return nil
			}
		}
	}
	was, err := parse(old)
	if err != nil || !reflect.DeepEqual(was.foreign(), d.foreign()) {
		return nil
	}
	return os.Remove(name)
}
