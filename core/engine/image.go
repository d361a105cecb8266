package engine

import (
	"context"
	"io"
	"strings"

	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Image is an image on the engine.
type Image struct {
	// ID changes whenever the content does. Which digest it is depends on the engine's image store.
	ID      string
	Labels  map[string]string
	OS      string
	Arch    string // as Go names it
	Size    int64  // bytes
	Tags    []string
	Digests []string // name@sha256:... under which registries know it
}

// Image inspects an image of the engine. Its absence is an error of kind NotFound.
func (e *Engine) Image(ctx context.Context, ref string) (Image, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "look for the image "+ref)
	in, err := e.cli.ImageInspect(ctx, ref)
	if err = done(err); err != nil {
		return Image{}, err
	}
	out := Image{ID: in.ID, OS: in.Os, Arch: GoArch(in.Architecture), Size: in.Size, Tags: in.RepoTags, Digests: in.RepoDigests}
	if in.Config != nil {
		out.Labels = in.Config.Labels
	}
	return out, nil
}

// RemoveImage removes an image that no container uses.
func (e *Engine) RemoveImage(ctx context.Context, ref string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "remove the image "+ref)
	_, err := e.cli.ImageRemove(ctx, ref, removeImage)
	return done(err)
}

// Save streams an image as a tar archive. Only the platform's part is saved where the engine can tell
// (API 1.48); older ones hold one platform for each name anyway. The stream fails when nothing moves for the
// stall time-out. Close it in any case.
func (e *Engine) Save(ctx context.Context, ref, os, arch string) (io.ReadCloser, error) {
	what := "read the image " + ref
	ctx, done := e.limited(ctx, e.timeouts.Transfer, what)
	ctx, stalled := watch(ctx, e.timeouts.Stall)
	var opts []client.ImageSaveOption
	if versions.GreaterThanOrEqualTo(e.API(), "1.48") {
		opts = append(opts, client.ImageSaveWithPlatforms(ocispec.Platform{OS: os, Architecture: arch}))
	}
	body, err := e.cli.ImageSave(ctx, []string{ref}, opts...)
	if err != nil {
		stalled.stop()
		return nil, done(err)
	}
	return &saveStream{body: body, stalled: stalled, done: done, limit: e.timeouts.Stall, what: what}, nil
}

// Load puts the image of a tar archive into the engine.
func (e *Engine) Load(ctx context.Context, archive io.Reader) error {
	ctx, done := e.limited(ctx, e.timeouts.Transfer, "take in an image")
	resp, err := e.cli.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	if err != nil {
		return done(err)
	}
	defer resp.Body.Close()
	return done(decode(resp.Body, func(message) {}))
}

// ShortID is the start of an id, for people. Names are left as they are.
func ShortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	if len(id) == 64 {
		return id[:12]
	}
	return id
}
