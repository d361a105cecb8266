package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"time"
)

// imageFormat is part of the images' key: raise it when the writer changes
// what it writes in a way the sources do not show.
const imageFormat = "docker-v2s2/1"

const (
	mediaManifest = "application/vnd.docker.distribution.manifest.v2+json"
	mediaConfig   = "application/vnd.docker.container.image.v1+json"
	mediaLayer    = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// entry is one path of a layer: a directory, a link, a file of this machine,
// or a file with the given content.
type entry struct {
	mode   int64
	link   string
	source string
	data   []byte
	dir    bool
}

// tree is a layer's content by path, without a leading slash.
type tree map[string]entry

func (t tree) file(name, source string, mode int64) { t[name] = entry{mode: mode, source: source} }
func (t tree) content(name string, mode int64, data string) {
	t[name] = entry{mode: mode, data: []byte(data)}
}
func (t tree) link(name, target string)      { t[name] = entry{mode: 0o777, link: target} }
func (t tree) mkdir(name string, mode int64) { t[name] = entry{mode: mode, dir: true} }

// parents adds the directories that paths need and nobody named.
func (t tree) parents() {
	for name := range t {
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			if _, ok := t[d]; !ok {
				t[d] = entry{mode: 0o755, dir: true}
			}
		}
	}
}

type descriptor struct {
	MediaType string `json:"mediaType"`
	Size      int64  `json:"size"`
	Digest    string `json:"digest"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// containerConfig is the part of an image's configuration that the lab sets.
type containerConfig struct {
	Entrypoint []string            `json:",omitempty"`
	Cmd        []string            `json:",omitempty"`
	Env        []string            `json:",omitempty"`
	User       string              `json:",omitempty"`
	Volumes    map[string]struct{} `json:",omitempty"`
	Labels     map[string]string   `json:",omitempty"`
}

// image is one entry of the index a folder of images has.
type image struct {
	Name     string `json:"name"`
	Tag      string `json:"tag"`
	Manifest string `json:"manifest"` // digest; the blob holds the manifest
	Private  bool   `json:"private,omitempty"`
}

// layerWriter writes blobs into dir, each under its digest.
type layerWriter struct{ dir string }

func (w *layerWriter) blob(b []byte) (string, error) {
	sum := sha256.Sum256(b)
	d := "sha256:" + hex.EncodeToString(sum[:])
	return d, os.WriteFile(blobPath(w.dir, d), b, 0o644)
}

func blobPath(dir, digest string) string { return filepath.Join(dir, digest[len("sha256:"):]) }

// layer writes one layer, the same bytes for the same content: paths in order,
// root as owner, no times.
func (w *layerWriter) layer(t tree) (d descriptor, diffID string, err error) {
	t.parents()
	f, err := os.CreateTemp(w.dir, "layer-")
	if err != nil {
		return d, "", err
	}
	defer f.Close()
	packed, plain := sha256.New(), sha256.New()
	// The layers only travel over a virtual link: speed before size.
	z, err := gzip.NewWriterLevel(io.MultiWriter(f, packed), gzip.BestSpeed)
	if err != nil {
		return d, "", err
	}
	if err := writeTar(io.MultiWriter(z, plain), t); err != nil {
		return d, "", err
	}
	if err := z.Close(); err != nil {
		return d, "", err
	}
	st, err := f.Stat()
	if err != nil {
		return d, "", err
	}
	d = descriptor{mediaLayer, st.Size(), "sha256:" + hex.EncodeToString(packed.Sum(nil))}
	return d, "sha256:" + hex.EncodeToString(plain.Sum(nil)), os.Rename(f.Name(), blobPath(w.dir, d.Digest))
}

func writeTar(w io.Writer, t tree) error {
	names := make([]string, 0, len(t))
	for n := range t {
		names = append(names, n)
	}
	sort.Strings(names)
	tw := tar.NewWriter(w)
	for _, n := range names {
		if err := writeEntry(tw, n, t[n]); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return tw.Close()
}

func writeEntry(tw *tar.Writer, name string, e entry) error {
	h := &tar.Header{Name: name, Mode: e.mode, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	switch {
	case e.dir:
		h.Typeflag, h.Name = tar.TypeDir, name+"/"
	case e.link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
	case e.source == "":
		h.Size = int64(len(e.data))
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err := tw.Write(e.data)
		return err
	default:
		f, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		h.Size = st.Size()
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(tw, f)
		return err
	}
	return tw.WriteHeader(h)
}

// image writes an image of the given layers; it returns the manifest's digest.
func (w *layerWriter) image(c containerConfig, layers ...tree) (string, error) {
	m := manifest{SchemaVersion: 2, MediaType: mediaManifest}
	var ids []string
	for _, t := range layers {
		d, id, err := w.layer(t)
		if err != nil {
			return "", err
		}
		m.Layers, ids = append(m.Layers, d), append(ids, id)
	}
	conf, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "created": "2026-01-01T00:00:00Z", "config": c,
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	})
	if err != nil {
		return "", err
	}
	digest, err := w.blob(conf)
	if err != nil {
		return "", err
	}
	m.Config = descriptor{mediaConfig, int64(len(conf)), digest}
	b, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	return w.blob(b)
}
