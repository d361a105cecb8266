// Package release puts a Helm chart into the cluster: it loads the chart, merges and checks values, renders,
// compares with what is installed, and installs, upgrades, repairs or removes the release. Helm's own types
// stay inside.
package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"

	"rigup.dev/rigup/core/reason"
)

// EmbeddedPath is where the program's own chart stands in its embedded files.
const EmbeddedPath = "charts/rigup"

// pullLimit bounds fetching a chart from a registry: charts are small.
const pullLimit = 2 * time.Minute

// Chart is a chart that was read and found whole.
type Chart struct {
	source string
	files  []*loader.BufferedFile
	meta   helmchart.Metadata
	digest string
}

// LoadOptions says where charts come from.
type LoadOptions struct {
	// Embedded is the tree that has the program's own chart at EmbeddedPath.
	Embedded fs.FS
	// Registry is used for oci:// references.
	Registry RegistryOptions
}

// Load reads a chart. The source is empty for the embedded one, or a directory, a .tgz file, or a reference
// oci://HOST/PATH:VERSION. Errors carry chart.not-found, chart.invalid, or for registries an image reason.
func Load(ctx context.Context, source string, o LoadOptions) (*Chart, error) {
	files, err := read(ctx, source, o)
	if err != nil {
		return nil, err
	}
	c := &Chart{source: source, files: files, digest: digestOf(files)}
	loaded, err := c.fresh()
	if err == nil {
		err = usable(loaded)
	}
	if err != nil {
		return nil, reason.Fail(reason.New(reason.ChartInvalid, "chart", c.Source()), err)
	}
	c.meta = *loaded.Metadata
	return c, nil
}

func read(ctx context.Context, source string, o LoadOptions) ([]*loader.BufferedFile, error) {
	notFound := func(err error) error {
		return reason.Fail(reason.New(reason.ChartNotFound, "chart", shown(source)), err)
	}
	invalid := func(err error) error {
		return reason.Fail(reason.New(reason.ChartInvalid, "chart", shown(source)), err)
	}
	switch {
	case source == "":
		files, err := tree(o.Embedded, EmbeddedPath)
		if err != nil {
			return nil, invalid(err)
		}
		return files, nil
	case strings.HasPrefix(source, "oci://"):
		ctx, cancel := context.WithTimeout(ctx, pullLimit)
		defer cancel()
		archive, err := pull(ctx, source, o.Registry)
		if err != nil {
			return nil, err
		}
		files, err := loader.LoadArchiveFiles(bytes.NewReader(archive))
		if err != nil {
			return nil, invalid(err)
		}
		return files, nil
	case strings.Contains(source, "://"):
		return nil, notFound(errors.New("only oci:// addresses can be read"))
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, notFound(err)
	}
	if info.IsDir() {
		files, err := tree(os.DirFS(source), ".")
		if errors.Is(err, errNoChart) {
			return nil, notFound(err)
		}
		if err != nil {
			return nil, invalid(err)
		}
		return files, nil
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, notFound(err)
	}
	defer f.Close()
	files, err := loader.LoadArchiveFiles(f)
	if err != nil {
		return nil, invalid(fmt.Errorf("read %s as a chart archive: %w", source, err))
	}
	return files, nil
}

var errNoChart = errors.New("it has no Chart.yaml")

// tree reads a chart's files out of a directory, leaving out what its .helmignore names. Links are followed
// one level deep for files; special files are refused.
func tree(fsys fs.FS, root string) ([]*loader.BufferedFile, error) {
	if fsys == nil {
		return nil, errors.New("no embedded files")
	}
	if _, err := fs.Stat(fsys, path.Join(root, chartutil.ChartfileName)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errNoChart
		}
		return nil, err
	}
	rules := ignore.Empty()
	if b, err := fs.ReadFile(fsys, path.Join(root, ignore.HelmIgnore)); err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(b)); err != nil {
			return nil, fmt.Errorf("%s: %w", ignore.HelmIgnore, err)
		}
	}
	rules.AddDefaults()
	var files []*loader.BufferedFile
	err := fs.WalkDir(fsys, root, func(p string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
		if err != nil || p == root || name == "" {
			return err
		}
		info, err := fs.Stat(fsys, p)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && rules.Ignore(name, info):
			return fs.SkipDir
		case info.IsDir() || rules.Ignore(name, info):
			return nil
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		case info.Size() > loader.MaxDecompressedFileSize:
			return fmt.Errorf("%s is larger than %d bytes", name, loader.MaxDecompressedFileSize)
		}
		b, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		files = append(files, &loader.BufferedFile{Name: name, Data: bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))})
		return nil
	})
	return files, err
}

// fresh builds Helm's chart anew. Helm changes a chart while it works with it (it drops disabled
// dependencies and merges imported values), so none is used twice.
func (c *Chart) fresh() (*helmchart.Chart, error) {
	return loader.LoadFiles(slices.Clone(c.files))
}

func usable(c *helmchart.Chart) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Metadata.Type == "library" {
		return errors.New("it is a library chart, which installs nothing")
	}
	if len(c.Metadata.Dependencies) > 0 {
		if err := action.CheckDependencies(c, c.Metadata.Dependencies); err != nil {
			return fmt.Errorf("%w (helm dependency build fetches them)", err)
		}
	}
	return nil
}

// digestOf is a hash of all files, names and content, in an order of its own.
func digestOf(files []*loader.BufferedFile) string {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b *loader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, f := range sorted {
		fmt.Fprintf(h, "%d %s %d\n", len(f.Name), f.Name, len(f.Data))
		_, _ = io.Copy(h, bytes.NewReader(f.Data))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Name is the chart's name.
func (c *Chart) Name() string { return c.meta.Name }

// Version is the chart's version.
func (c *Chart) Version() string { return c.meta.Version }

// AppVersion is the version of what the chart installs; it may be empty.
func (c *Chart) AppVersion() string { return c.meta.AppVersion }

// Digest is the SHA-256 of the chart's files in hexadecimal.
func (c *Chart) Digest() string { return c.digest }

// Source is where the chart came from, for people.
func (c *Chart) Source() string { return shown(c.source) }

// Embedded reports whether it is the program's own chart.
func (c *Chart) Embedded() bool { return c.source == "" }

// File is one of the chart's files, such as contract.yaml.
func (c *Chart) File(name string) (content []byte, ok bool) {
	for _, f := range c.files {
		if f.Name == name {
			return bytes.Clone(f.Data), true
		}
	}
	return nil, false
}

func shown(source string) string {
	if source == "" {
		return "rigup (built in)"
	}
	return source
}
