//go:build !unix

package durable

// SyncDir does nothing: Windows makes renames durable with the file system's journal and offers no call for it.
func SyncDir(string) error { return nil }
