// Package pins reads the one file that names every version and image reference.
package pins

import (
	"fmt"
	"io/fs"
	"strings"

	"sigs.k8s.io/yaml"
)

// File is the path of the pins in the embedded tree.
const File = "assets/pins.yaml"

// Pins is the content of the file.
type Pins struct {
	K3s    K3s    `json:"k3s"`
	Engine Engine `json:"engine"`
}

// K3s is the Kubernetes distribution of the node.
type K3s struct {
	Version string `json:"version"` // as k3s names its releases: v<Kubernetes version>+k3s<n>
	Image   string `json:"image"`   // full reference with registry and fixed tag
}

// Engine is what is asked of the Docker engine.
type Engine struct {
	MinAPI string `json:"minApi"`
}

// Read reads and checks the pins of the tree fsys.
func Read(fsys fs.FS) (Pins, error) {
	b, err := fs.ReadFile(fsys, File)
	if err != nil {
		return Pins{}, err
	}
	var p Pins
	if err := yaml.UnmarshalStrict(b, &p); err != nil {
		return Pins{}, fmt.Errorf("%s: %w", File, err)
	}
	if err := Fixed(p.K3s.Image); err != nil {
		return Pins{}, fmt.Errorf("%s: k3s.image: %w", File, err)
	}
	if tag := strings.ReplaceAll(p.K3s.Version, "+", "-"); !strings.HasSuffix(p.K3s.Image, ":"+tag) {
		return Pins{}, fmt.Errorf("%s: k3s.image %s is not of version %s", File, p.K3s.Image, p.K3s.Version)
	}
	return p, nil
}

// Fixed reports whether an image reference names one image for good: it has a digest, or a tag other than
// latest (invariant N4). The error says what is missing.
func Fixed(ref string) error {
	if ref == "" {
		return fmt.Errorf("no image is named")
	}
	if _, digest, ok := strings.Cut(ref, "@sha256:"); ok {
		if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
			return fmt.Errorf("the digest is not 64 hexadecimal digits")
		}
		return nil
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	_, tag, ok := strings.Cut(name, ":")
	switch {
	case !ok || tag == "":
		return fmt.Errorf("it has no tag")
	case tag == "latest":
		return fmt.Errorf("the tag latest moves")
	}
	return nil
}

// CutTag splits repository:tag; a colon before the last slash is a port.
func CutTag(ref string) (repository, tag string, ok bool) {
	i := strings.LastIndexByte(ref, ':')
	if i <= strings.LastIndexByte(ref, '/') || i+1 == len(ref) {
		return "", "", false
	}
	return ref[:i], ref[i+1:], true
}
