package pipeline

import (
	"context"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/units"
)

// image sees to it that the node's image is on the engine. A node that stays needs it no more.
func image(ctx context.Context, r *run) (step, error) {
	ref := r.plan.Settings.Image
	version := "k3s " + tagOf(ref)
	if keepsNode(r.plan) {
		return found(done(version))
	}
	plan, err := nodeimage.Look(ctx, r.engine, r.want(ref))
	if err != nil {
		return step{}, err
	}
	if plan.Have {
		return found(done(version + " is on the engine"))
	}
	return step{
		text:    version,
		changes: plan.Changes,
		apply: func(ctx context.Context) (outcome, error) {
			img, err := r.pull(ctx, plan)
			if err != nil {
				return outcome{}, err
			}
			return done("pulled " + version + ", " + units.Size(img.Size)), nil
		},
	}, nil
}

// keepsNode reports whether a plan works with the container that is there.
func keepsNode(p cluster.Plan) bool {
	return p.Action == cluster.Nothing || p.Action == cluster.Start || p.Action == cluster.Restart
}

func (r *run) want(ref string) nodeimage.Want {
	return nodeimage.Want{Ref: ref, OS: "linux", Arch: r.machine.Arch, Given: r.cfg.imageGiven}
}

// pull fetches the image if the engine lacks it, and tells how many bytes of it are here.
func (r *run) pull(ctx context.Context, plan nodeimage.Plan) (engine.Image, error) {
	if plan.Have {
		return plan.Present, nil
	}
	r.step("pulling " + plan.Want.Ref)
	return nodeimage.Ensure(ctx, r.engine, plan, nodeimage.Source{
		Credentials: r.deps.Credentials,
		Mirrors:     r.info.Mirrors,
		Progress: func(p engine.Progress) {
			r.progress(event.Progress{Unit: event.Bytes, Done: p.Done, Total: p.Total, What: plan.Want.Ref})
		},
	})
}

// tagOf is the version of an image reference, for people.
func tagOf(ref string) string {
	if _, tag, ok := pins.CutTag(ref); ok {
		return tag
	}
	return ref
}
