package hookhost

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Memory remembers what hooks answered. A key is the SHA-256 of the module and that of the request, in hexadecimal.
// It may forget anything at any time, and what it returns is checked like a new answer.
type Memory interface {
	Get(key string) ([]byte, bool)
	Put(key string, response []byte)
}

// Bounds of a memory on disk.
const (
	maxRemembered      = 512
	maxRememberedBytes = 16 << 20
)

// DirMemory remembers in a folder, one file for each response, readable by the user alone. The oldest go when there
// are more than 512 or they have more than 16 MiB. The folder is made when it is first written to; what cannot be
// written is not remembered, and what is damaged was never there.
func DirMemory(dir string) Memory {
	return dirMemory{dir: dir, files: maxRemembered, bytes: maxRememberedBytes}
}

type dirMemory struct {
	dir   string
	files int
	bytes int64
}

// head of a file, before the sum of what follows.
const rememberedHead = "rigup hook answer 1 "

// keyLength is that of two SHA-256 sums in hexadecimal.
const keyLength = 4 * sha256.Size

func isKey(name string) bool {
	return len(name) == keyLength && strings.Trim(name, "0123456789abcdef") == ""
}

// open opens the folder. It has to be one, and no link to one: with the root, nothing outside of it is reached.
func (d dirMemory) open() (*os.Root, error) {
	if i, err := os.Lstat(d.dir); err != nil {
		return nil, err
	} else if !i.IsDir() {
		return nil, fs.ErrInvalid
	}
	return os.OpenRoot(d.dir)
}

func (d dirMemory) Get(key string) ([]byte, bool) {
	if !isKey(key) {
		return nil, false
	}
	root, err := d.open()
	if err != nil {
		return nil, false
	}
	defer root.Close()
	i, err := root.Lstat(key)
	if err != nil || !i.Mode().IsRegular() || i.Size() > d.bytes {
		return nil, false
	}
	f, err := root.Open(key)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	// What was looked at and what was opened have to be the same file: a link could have come between.
	if j, err := f.Stat(); err != nil || !os.SameFile(i, j) {
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(f, d.bytes))
	if err != nil {
		return nil, false
	}
	head, response, ok := bytes.Cut(b, []byte("\n"))
	return response, ok && string(head) == rememberedHead+hexSum(response)
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (d dirMemory) Put(key string, response []byte) {
	if isKey(key) && int64(len(response)) < d.bytes/2 {
		_ = d.put(key, response) // what is not remembered is asked again
	}
}

func (d dirMemory) put(key string, response []byte) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	root, err := d.open()
	if err != nil {
		return err
	}
	defer root.Close()
	tmp := "new-" + hexSum([]byte(key + time.Now().String()))[:16]
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(rememberedHead + hexSum(response) + "\n" + string(response))
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(tmp, key)
	}
	if err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	return d.forget(root)
}

// forget removes the oldest responses while there are too many, and what an interrupted run left half written. Other
// files are not ours.
func (d dirMemory) forget(root *os.Root) error {
	list, err := os.ReadDir(filepath.Clean(root.Name()))
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var size int64
	for _, e := range list {
		i, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		if strings.HasPrefix(e.Name(), "new-") && time.Since(i.ModTime()) > time.Hour {
			err = root.Remove(e.Name())
		}
		if isKey(e.Name()) {
			files, size = append(files, i), size+i.Size()
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for n := len(files); n > d.files || size > d.bytes; n-- {
		if err := root.Remove(files[0].Name()); err != nil {
			return err
		}
		size -= files[0].Size()
		files = files[1:]
	}
	return nil
}
