// Package nodeimage sees to it that the image of the node is on the engine, and makes the small images that
// go into the cluster.
package nodeimage

import (
	"context"
	"fmt"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
)

// Engine is what this package asks of the engine.
type Engine interface {
	Image(ctx context.Context, ref string) (engine.Image, error)
	Pull(ctx context.Context, o engine.PullOptions) error
}

// Want is the image that the node is to run.
type Want struct {
	Ref      string
	OS, Arch string // the engine's, as Go names them
	// Given says that the user named the image, which changes the words of a refusal.
	Given bool
}

// Plan is what has to be done so that the image is there.
type Plan struct {
	Want Want
	// Present is the image on the engine; ok only if Have.
	Present engine.Image
	Have    bool
	// Changes is empty when the image is there.
	Changes []event.Change
	wrong   string // the platform of an image that is there and does not fit
}

// Look finds out whether the image is there. A reference that moves is refused (invariant N4).
func Look(ctx context.Context, e Engine, w Want) (Plan, error) {
	if err := pins.Fixed(w.Ref); err != nil {
		return Plan{}, reason.Fail(reason.New(reason.ImageMovingTag, "image", w.Ref, "why", err.Error()), nil)
	}
	p := Plan{Want: w}
	img, err := e.Image(ctx, w.Ref)
	switch {
	case engine.KindOf(err) == engine.NotFound:
	case err != nil:
		return Plan{}, err // unknown is not absent (C1)
	case img.OS != w.OS || img.Arch != w.Arch:
		p.wrong = img.OS + "/" + img.Arch
	default:
		p.Present, p.Have = img, true
		return p, nil
	}
	p.Changes = []event.Change{{Action: event.Pull, Kind: "image", Name: w.Ref}}
	return p, nil
}

// Source is where a missing image comes from.
type Source struct {
	// Credentials finds those of a registry host; nil means none. An error does not stop the pull: a public
	// image needs none. It is part of the evidence when the pull is refused.
	Credentials func(ctx context.Context, host string) (engine.Credentials, error)
	Mirrors     []string // the engine's mirrors of docker.io, for reasons
	Progress    func(engine.Progress)
}

// Ensure makes the plan true and returns the image. It does nothing if the image is there.
func Ensure(ctx context.Context, e Engine, p Plan, src Source) (engine.Image, error) {
	if p.Have {
		return p.Present, nil
	}
	w := p.Want
	o := engine.PullOptions{Ref: w.Ref, OS: w.OS, Arch: w.Arch, Mirrors: src.Mirrors, Progress: src.Progress}
	var hidden error
	if src.Credentials != nil {
		host, err := engine.RegistryHost(w.Ref)
		if err == nil {
			o.Credentials, hidden = src.Credentials(ctx, host)
		}
	}
	if err := e.Pull(ctx, o); err != nil {
		r := reason.Of(err)
		switch {
		case p.wrong != "":
			return engine.Image{}, &reason.Error{Reason: platform(w, p.wrong).With(r.Evidence...), Err: err}
		case hidden != nil && r.ID == reason.ImageDenied:
			return engine.Image{}, &reason.Error{Reason: r.With(hidden.Error()), Err: err}
		}
		return engine.Image{}, err
	}
	img, err := e.Image(ctx, w.Ref)
	if err != nil {
		return engine.Image{}, fmt.Errorf("inspect the image that was pulled: %w", err)
	}
	if img.OS != w.OS || img.Arch != w.Arch {
		return engine.Image{}, reason.Fail(platform(w, img.OS+"/"+img.Arch), nil)
	}
	return img, nil
}

func platform(w Want, have string) reason.Reason {
	return reason.New(reason.ImagePlatform, "image", w.Ref, "have", have, "want", w.OS+"/"+w.Arch)
}
