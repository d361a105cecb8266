package hookstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"rigup.dev/rigup/core/durable"
	"rigup.dev/rigup/core/reason"
)

// Limits of what is read, in bytes.
const (
	maxModule = 16 << 20 // of a module, as the host has it
	maxBeside = 8 << 10  // of a signature or a key: some 300 bytes in truth
	maxLock   = 4 << 20
)

// The names of what belongs to a module.
const (
	moduleSuffix    = ".wasm"
	signatureSuffix = ".minisig"
	keySuffix       = ".pub"
)

// fileName is what names in the folder look like. They are shown in commands that people copy, so they hold
// nothing that a shell or a terminal would read in its own way.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}\.wasm$`)

// notAFile is something in the place of a file that is not read: a link, a pipe, a folder, too much of it.
type notAFile struct{ what string }

func (e *notAFile) Error() string { return "it is " + e.what }

// readFile reads a regular file, once and whole. It follows no link, waits for no pipe and reads no more than limit
// bytes.
func readFile(path string, limit int64) ([]byte, fs.FileInfo, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if err := regular(before, limit); err != nil {
		return nil, before, err
	}
	f, err := open(path)
	if err != nil {
		return nil, before, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, before, err
	}
	// What was opened need not be what was looked at before.
	if err := regular(info, limit); err != nil {
		return nil, info, err
	}
	if !os.SameFile(before, info) {
		return nil, info, &notAFile{"replaced while it is read"}
	}
	b := make([]byte, info.Size()+1) // one more, to see the end
	n, err := io.ReadFull(f, b)
	switch {
	case err == nil:
		return nil, info, &notAFile{"growing while it is read"}
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, info, err
	}
	return b[:n], info, nil
}

func regular(info fs.FileInfo, limit int64) error {
	switch m := info.Mode(); {
	case m&fs.ModeSymlink != 0:
		return &notAFile{"a symbolic link"}
	case m.IsDir():
		return &notAFile{"a folder"}
	case !m.IsRegular():
		return &notAFile{"no regular file"}
	case info.Size() > limit:
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) error {
	if limit < 1<<20 {
		return &notAFile{fmt.Sprintf("larger than %d KiB", limit>>10)}
	}
	return &notAFile{fmt.Sprintf("larger than %d MiB", limit>>20)}
}

// writeFile replaces a file of the folder in one step. After a power cut there is the old content or the new one, where
// the file system can do that.
func writeFile(path string, content []byte) error {
	if err := durable.Replace(path, tempPrefix, content); err != nil {
		return cannotWrite(path, err)
	}
	_ = durable.SyncDir(filepath.Dir(path))
	return nil
}

// tempPrefix begins the names of files that are being written. Those that a killed run left are removed by the next
// one that changes something.
const tempPrefix = ".hook-"

func sweep(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
	for _, path := range left {
		_ = os.Remove(path)
	}
}

func cannotWrite(path string, err error) error {
	return reason.Fail(reason.New(reason.StateWrite, "path", path), err)
}

// absent reports whether the error means that there is no such file.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
