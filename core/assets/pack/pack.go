// Package pack writes the files that are made when rigup is built and that it carries compressed.
package pack

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Write compresses content into the file at path, unless the file holds that content already: strong compression
// takes seconds, and the time of a file that did not change lets the build cache hold. The same content gives the
// same file.
func Write(path string, content []byte) error {
	if holds(path, content) {
		return nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	if err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	return WriteChanged(path, enc.EncodeAll(content, nil))
}

// holds reports whether the file at path unpacks to content.
func holds(path string, content []byte) bool {
	packed, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	d, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return false
	}
	defer d.Close()
	have, err := io.ReadAll(io.LimitReader(d, int64(len(content))+1))
	return err == nil && bytes.Equal(have, content)
}

// WriteChanged writes a file, unless it has that content already.
func WriteChanged(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	return os.WriteFile(path, content, 0o644)
}
