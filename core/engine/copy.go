package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// File is a small file that is copied into or out of a container.
type File struct {
	Path string // absolute
	Mode int64  // permission bits
	Data []byte
}

// maxCopy bounds what is copied out: these are small files.
const maxCopy = 4 << 20

// CopyTo writes files into a container, running or not, owned by root. Directories that it lists (their
// Path ends in a slash) are made; the parents of files must exist or be listed before them.
func (e *Engine) CopyTo(ctx context.Context, id string, files []File) error {
	archive, err := pack(files)
	if err != nil {
		return err
	}
	ctx, done := e.limited(ctx, e.timeouts.Copy, "copy files into the container "+ShortID(id))
	return done(e.cli.CopyToContainer(ctx, id, "/", archive, container.CopyToContainerOptions{}))
}

func pack(files []File) (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: strings.TrimPrefix(path.Clean(f.Path), "/"), Mode: f.Mode, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.Path, "/") {
			h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", f.Path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &b, nil
}

// CopyFrom reads one small file out of a container, running or not. Its absence is an error of kind NotFound.
func (e *Engine) CopyFrom(ctx context.Context, id, file string) ([]byte, error) {
	ctx, done := e.limited(ctx, e.timeouts.Copy, "read "+file+" in the container "+ShortID(id))
	b, err := e.copyFrom(ctx, id, file)
	return b, done(err)
}

func (e *Engine) copyFrom(ctx context.Context, id, file string) ([]byte, error) {
	r, _, err := e.cli.CopyFromContainer(ctx, id, file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t := tar.NewReader(r)
	h, err := t.Next()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if h.Typeflag != tar.TypeReg || h.Size > maxCopy {
		return nil, fmt.Errorf("%s is not a small regular file", file)
	}
	return io.ReadAll(t)
}
