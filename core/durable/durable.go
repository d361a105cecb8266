// Package durable replaces files so that a power cut leaves the old content or the new one.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace writes content beside path, syncs it and renames it over path. The file is readable by this user alone. Until
// the rename it has a name that begins with prefix; a killed run can leave it. The new name is durable after SyncDir.
func Replace(path, prefix string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*") // made with 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after the rename, as it should
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
