//go:build unix

package hookstore

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// openFlags are for every file that is opened in the folder: a link is an error, and a pipe that nobody writes to does
// not block.
const openFlags = unix.O_NOFOLLOW | unix.O_NONBLOCK

// open opens a file for reading.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|openFlags, 0)
}

// writableByOthers reports whether other users may write to what info describes.
func writableByOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
