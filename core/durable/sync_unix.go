//go:build unix

package durable

import "os"

// SyncDir makes a rename in dir durable. Some file systems cannot, and say so; the rename is done all the same.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
