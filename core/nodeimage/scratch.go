package nodeimage

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// tagLength is how much of the content's hash a tag carries.
const tagLength = 12

// Program is a static executable that is to become an image.
type Program struct {
	Repository string // image name without tag
	Binary     []byte
	Path       string // absolute path in the image
	Arch       string // as Go names it
	Args       []string
	User       string // uid:gid; there is no passwd file to look names up in
	Labels     map[string]string
}

// Archive is an image that exists only in memory.
type Archive struct {
	// Ref has the start of ID as its tag: the same content has the same name, other content has another.
	Ref string
	// ID is the hash of the image's configuration, which covers the content.
	ID  string
	img v1.Image
}

// Scratch makes an image FROM scratch of one program. The same input gives the same bytes. The layer is not
// compressed: it goes from here to the node on one machine.
func Scratch(p Program) (Archive, error) {
	layer, err := layerOf(p)
	if err != nil {
		return Archive{}, fmt.Errorf("pack %s: %w", p.Path, err)
	}
	img, err := mutate.AppendLayers(empty.Image, static.NewLayer(layer, types.DockerUncompressedLayer))
	if err != nil {
		return Archive{}, err
	}
	cfg, err := img.ConfigFile()
	if err != nil {
		return Archive{}, err
	}
	cfg = cfg.DeepCopy()
	cfg.OS, cfg.Architecture = "linux", p.Arch
	cfg.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	cfg.History = nil
	cfg.Config = v1.Config{Entrypoint: append([]string{p.Path}, p.Args...), User: p.User, Labels: p.Labels, WorkingDir: "/"}
	if img, err = mutate.ConfigFile(img, cfg); err != nil {
		return Archive{}, err
	}
	id, err := img.ConfigName()
	if err != nil {
		return Archive{}, err
	}
	return Archive{Ref: p.Repository + ":" + id.Hex[:tagLength], ID: id.String(), img: img}, nil
}

// layerOf is a tar archive with the program alone.
func layerOf(p Program) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(p.Binary) + 4096)
	w := tar.NewWriter(&b)
	rel := p.Path
	for len(rel) > 0 && rel[0] == '/' {
		rel = rel[1:]
	}
	for i := range rel {
		if rel[i] != '/' {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: rel[:i+1], Typeflag: tar.TypeDir, Mode: 0o755, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: rel, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(p.Binary)), ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}); err != nil {
		return nil, err
	}
	if _, err := w.Write(p.Binary); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Write writes the image as an archive that engines and containerd import.
func (a Archive) Write(w io.Writer) error {
	tag, err := name.NewTag(a.Ref)
	if err != nil {
		return err
	}
	return tarball.Write(tag, a.img, w)
}

// Reader streams what Write writes. Closing it early ends the writing.
func (a Archive) Reader() io.ReadCloser {
	r, w := io.Pipe()
	go func() { w.CloseWithError(a.Write(w)) }()
	return r
}
