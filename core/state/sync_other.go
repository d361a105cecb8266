//go:build !unix

package state

// syncDir does nothing: Windows makes renames durable with the file system's journal and offers no call for it.
func syncDir(string) error { return nil }
