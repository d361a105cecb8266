package hookstore

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// openFlags are for the file of the lock, in whose place there can be no pipe.
const openFlags = 0

// open opens a file for reading. A link is opened as itself, and told by what it is.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
}

// writableByOthers is not asked on Windows: who may write below a user's folder is set there for the whole of it.
func writableByOthers(fs.FileInfo) bool { return false }
