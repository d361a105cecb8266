package nodeimage

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

const ref = "registry.test/node:1"

func want() Want { return Want{Ref: ref, OS: "linux", Arch: "amd64"} }

func TestN4_MovingTagIsRefused(t *testing.T) {
	for _, bad := range []string{"", "registry.test/node", "registry.test:5000/node"} {
		if _, err := Look(t.Context(), enginefake.New(), Want{Ref: bad}); reason.Of(err).ID != reason.ImageMovingTag {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestPresentImageIsLeftAlone(t *testing.T) {
	e := enginefake.New()
	e.Images[ref] = engine.Image{ID: "sha256:1", OS: "linux", Arch: "amd64"}
	p, err := Look(t.Context(), e, want())
	if err != nil || !p.Have || len(p.Changes) != 0 {
		t.Fatalf("%+v %v", p, err)
	}
	img, err := Ensure(t.Context(), e, p, Source{})
	if err != nil || img.ID != "sha256:1" || len(e.Changes) != 0 {
		t.Errorf("%+v %v %v", img, err, e.Changes)
	}
}

func TestAbsentImageIsPulled(t *testing.T) {
	e := enginefake.New()
	e.Registry[ref] = engine.Image{ID: "sha256:1", OS: "linux", Arch: "amd64", Size: 7}
	p, err := Look(t.Context(), e, want())
	if err != nil || len(p.Changes) != 1 || p.Changes[0].Action != event.Pull {
		t.Fatalf("%+v %v", p, err)
	}
	var got engine.Progress
	host := ""
	img, err := Ensure(t.Context(), e, p, Source{Progress: func(p engine.Progress) { got = p },
		Credentials: func(_ context.Context, h string) (engine.Credentials, error) {
			host = h
			return engine.Credentials{}, errors.New("no keychain here")
		}})
	if err != nil || img.ID != "sha256:1" || got.Done != 7 || host != "registry.test" {
		t.Errorf("%+v %v %+v %s", img, err, got, host)
	}
}

func TestC1_UnreadableImageIsNotPulled(t *testing.T) {
	e := enginefake.New()
	e.Fail = func(op, _ string) error { return engine.Failure(engine.Timeout, op, "late") }
	if _, err := Look(t.Context(), e, want()); engine.KindOf(err) != engine.Timeout {
		t.Error(err)
	}
}

func TestWrongPlatform(t *testing.T) {
	e := enginefake.New()
	e.Images[ref] = engine.Image{OS: "linux", Arch: "arm64"}
	p, err := Look(t.Context(), e, want())
	if err != nil || p.Have {
		t.Fatalf("%+v %v", p, err)
	}
	_, err = Ensure(t.Context(), e, p, Source{})
	if r := reason.Of(err); r.ID != reason.ImagePlatform || !strings.Contains(r.Text, "linux/arm64") {
		t.Errorf("%v", err)
	}
	e.Registry[ref] = engine.Image{OS: "linux", Arch: "amd64"}
	if _, err = Ensure(t.Context(), e, p, Source{}); err != nil {
		t.Error(err)
	}
}

func program() Program {
	return Program{Repository: "registry.test/app", Binary: []byte("\x7fELF"), Path: "/usr/bin/app", Arch: "amd64", User: "65532:65532"}
}

func TestScratchIsTheSameEveryTime(t *testing.T) {
	write := func() (Archive, []byte) {
		a, err := Scratch(program())
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(a.Reader())
		if err != nil {
			t.Fatal(err)
		}
		return a, b
	}
	a, one := write()
	_, two := write()
	if !bytes.Equal(one, two) {
		t.Error("two archives of the same program differ")
	}
	sum := sha256.Sum256(one)
	t.Logf("%s %x", a.Ref, sum)
	// The tag follows from the content.
	p := program()
	p.Binary = []byte("\x7fELF2")
	if b, err := Scratch(p); err != nil || b.Ref == a.Ref || !strings.HasPrefix(b.Ref, "registry.test/app:") || len(b.Ref) != len("registry.test/app:")+12 {
		t.Errorf("%s %v", b.Ref, err)
	}
}

func TestScratchHoldsTheProgram(t *testing.T) {
	a, err := Scratch(program())
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := a.Write(&buf); err != nil {
		t.Fatal(err)
	}
	img, err := tarball.Image(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buf.Bytes())), nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := img.ConfigFile()
	if err != nil || cfg.Architecture != "amd64" || cfg.OS != "linux" || cfg.Config.User != "65532:65532" || cfg.Config.Entrypoint[0] != "/usr/bin/app" {
		t.Errorf("%+v %v", cfg, err)
	}
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Name == "usr/bin/app" && (h.Mode != 0o755 || !h.ModTime.IsZero() && h.ModTime.Unix() != 0) {
			t.Errorf("%+v", h)
		}
	}
	if strings.Join(names, " ") != "usr/ usr/bin/ usr/bin/app" {
		t.Error(names)
	}
}

func TestReaderClosedEarly(t *testing.T) {
	a, err := Scratch(program())
	if err != nil {
		t.Fatal(err)
	}
	r := a.Reader()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
