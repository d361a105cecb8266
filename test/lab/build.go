package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"
)

// newBuilder reads the pins and computes every piece's key.
func newBuilder() (*builder, *pieces, error) {
	src, err := sourceDir()
	if err != nil {
		return nil, nil, err
	}
	pins, err := loadPins(src)
	if err != nil {
		return nil, nil, err
	}
	b := &builder{src: src, cache: cacheDir(), pins: pins}
	p := definePieces(b)
	for _, x := range p.list(true) {
		if x.key, err = pieceKey(src, x); err != nil {
			return nil, nil, err
		}
	}
	return b, p, nil
}

// pieceKey hashes what decides the result; Go's own version is part of it,
// because it decides the code that comes out.
func pieceKey(src string, p *piece) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00", p.name, runtime.Version(), runtime.GOARCH)
	for _, s := range p.inputs {
		fmt.Fprintf(h, "input %s\x00", s)
	}
	for _, n := range p.needs {
		fmt.Fprintf(h, "need %s %s\x00", n.name, n.key)
	}
	for _, s := range p.sources {
		if err := hashTree(h, src, s); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// hashTree adds the files under root/rel, in a fixed order, by path and
// content. Tests do not decide what comes out.
func hashTree(h io.Writer, root, rel string) error {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, rel), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(p, "_test.go") {
			files = append(files, p)
		}
		return err
	})
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, f)
		fmt.Fprintf(h, "file %s %d\x00", filepath.ToSlash(name), len(b))
		h.Write(b)
	}
	return nil
}

// ensure builds what the cache does not have. A piece is made under a
// temporary name and renamed when it is whole.
func ensure(ctx context.Context, b *builder, list []*piece) error {
	if err := lock(b.cache); err != nil {
		return err
	}
	logs := filepath.Join(b.cache, "log")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	for _, p := range list {
		if _, err := os.Stat(b.dir(p)); err == nil {
			// The time says when it was last of use, for clean's sake.
			now := time.Now()
			os.Chtimes(b.dir(p), now, now)
			continue
		}
		b.log = filepath.Join(logs, p.name+".log")
		b.compiled.Store(0)
		note := func() string { return fmt.Sprintf("%d packages compiled, log %s", b.compiled.Load(), b.log) }
		err := step("build", p.name+": "+p.what, note, func() error {
			tmp := b.dir(p) + ".tmp"
			if err := os.RemoveAll(tmp); err != nil {
				return err
			}
			if err := os.MkdirAll(tmp, 0o755); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, p.limit)
			defer cancel()
			if err := p.build(ctx, b, tmp); err != nil {
				os.RemoveAll(tmp)
				return fmt.Errorf("%s: %w", p.name, err)
			}
			if err := os.Rename(tmp, b.dir(p)); err != nil {
				return err
			}
			return dropOld(b, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropOld removes earlier results of the same piece: the cache is meant to be
// kept between runs and must not grow with every edit.
func dropOld(b *builder, p *piece) error {
	old, err := filepath.Glob(filepath.Join(b.cache, p.name+"-????????????????"))
	if err != nil {
		return err
	}
	for _, d := range old {
		if d != b.dir(p) {
			if err := os.RemoveAll(d); err != nil {
				return err
			}
		}
	}
	return nil
}
