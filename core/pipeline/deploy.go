package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/contract"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
)

const (
	// helperDir has the embedded programs that run in the cluster.
	helperDir = "assets/helpers"
	// helperUser is nobody's account on the machine; distributions keep it free.
	helperUser = "65532:65532"
	// releaseLimit bounds what Helm does; waiting for pods is not part of it.
	releaseLimit = 5 * time.Minute
)

// deploy loads the images that only this machine has into the node, and installs or upgrades the release.
func deploy(ctx context.Context, r *run) (step, error) {
	loads, err := r.loads(ctx)
	if err != nil {
		return step{}, err
	}
	plan, client, err := r.planRelease(ctx)
	if err != nil {
		return step{}, err
	}
	r.release, r.workload = plan.Status, r.workloads(plan)
	what := fmt.Sprintf("%s %s", r.chart.Name(), r.chart.Version())
	st := step{text: what}
	for _, l := range loads {
		st.changes = append(st.changes, l.changes...)
	}
	if c, ok := releaseChange(plan, r.cfg.Release); ok {
		st.changes = append(st.changes, c)
	}
	if len(st.changes) == 0 {
		return st, nil
	}
	st.apply = func(ctx context.Context) (outcome, error) {
		for _, l := range loads {
			if err := l.run(ctx); err != nil {
				return outcome{}, err
			}
		}
		if plan.Recovers != nil {
			r.warn(*plan.Recovers)
		}
		if plan.Action != release.Nothing {
			r.step("installing " + what)
		}
		status, err := client.Apply(ctx, plan, releaseLimit)
		r.release = status
		return done(what), err
	}
	return st, nil
}

func releaseChange(p *release.Plan, name string) (event.Change, bool) {
	c := event.Change{Kind: "release", Name: name, Detail: strings.Join(p.Why, ", ")}
	switch p.Action {
	case release.Install:
		c.Action = event.Create
	case release.Upgrade:
		c.Action = event.Update
	default:
		return c, false
	}
	return c, true
}

// planRelease compares the release with what is wanted; without a cluster, as its first install.
func (r *run) planRelease(ctx context.Context) (*release.Plan, Release, error) {
	if r.kube == nil {
		p, err := r.previewRelease(r.capability)
		return p, nil, err
	}
	client, err := r.deps.Release(r.releaseOptions())
	if err != nil {
		return nil, nil, err
	}
	status, err := client.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	var before map[string]any
	if status.Chart == r.chart.Name() {
		before = status.Values
	}
	values, err := r.values(r.capability, before)
	if err != nil {
		return nil, nil, err
	}
	p, err := client.Plan(ctx, r.chart, values)
	if why := new(reason.Error); before != nil && errors.As(err, &why) && why.Reason.ID == reason.ChartValues {
		err = &reason.Error{Reason: why.Reason.Do("rigup install --reset-values forgets the values of earlier installs"), Err: why.Err}
	}
	return p, client, err
}

// previewRelease renders the chart as its first install would be, without a cluster.
func (r *run) previewRelease(capability gpu.Capability) (*release.Plan, error) {
	values, err := r.values(capability, nil)
	if err != nil {
		return nil, err
	}
	// The tag of a k3s release is the Kubernetes version and a suffix.
	kubernetes, _, _ := strings.Cut(r.deps.Pins.K3s.Version, "+")
	return release.Preview(r.chart, values, release.Target{Release: r.cfg.Release, Namespace: r.cfg.Namespace, KubeVersion: kubernetes})
}

func (r *run) releaseOptions() release.Options {
	return release.Options{
		Kubeconfig: r.kubeconfig, Release: r.cfg.Release, Namespace: r.cfg.Namespace,
		Log: func(format string, args ...any) { r.log.Debug("helm", "message", fmt.Sprintf(format, args...)) },
	}
}

// values are what the chart is given: what the owner asks for, and every key of the contract (G7). When this
// run asks for nothing, what an earlier one asked for stays.
func (r *run) values(capability contract.Capability, before map[string]any) (map[string]any, error) {
	env := contract.Env{Release: r.cfg.Release, SingleNode: true, DataDir: cluster.DataPath, Images: map[string]string{}}
	for _, i := range r.images {
		env.Images[i.helper] = i.archive.Ref
	}
	managed, err := r.contract.Values(capability, env)
	if err != nil {
		return nil, err
	}
	in := release.Input{Files: r.cfg.Values.Value, Set: r.cfg.SetValues.Value, Managed: managed}
	if len(in.Files) == 0 && len(in.Set) == 0 && !r.cfg.ResetValues.Value {
		in.Before = before
	}
	return release.Merge(in)
}

// makeImages makes the images of the embedded programs that the contract asks for.
func (r *run) makeImages() error {
	r.images = nil
	for _, i := range r.contract.Images() {
		if i.Helper == "" {
			continue
		}
		program, err := r.helper(i.Helper)
		if err != nil {
			return reason.Fail(reason.New(reason.ChartContract, "chart", r.chart.Name(), "what", "this rigup has no program "+i.Helper), err)
		}
		a, err := nodeimage.Scratch(nodeimage.Program{
			Repository: "rigup.local/" + i.Helper, Binary: program, Path: "/" + i.Helper, Arch: r.machine.Arch, User: helperUser,
		})
		if err != nil {
			return err
		}
		r.images = append(r.images, helperImage{i.Helper, a})
	}
	return nil
}

// helper unpacks an embedded program.
func (r *run) helper(name string) ([]byte, error) {
	f, err := r.deps.Files.Open(path.Join(helperDir, name+".zst"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := zstd.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, d)
	return b.Bytes(), err
}

// load is an image on its way into the node.
type load struct {
	changes []event.Change
	run     func(context.Context) error
}

// loads lists the images that the node lacks.
func (r *run) loads(ctx context.Context) ([]load, error) {
	var all []load
	missing := func(ref, id string) (bool, error) {
		if r.kube == nil {
			return true, nil
		}
		has, err := r.clusters.HasImage(ctx, r.node, ref, id)
		return !has, err
	}
	for _, i := range r.images {
		lacks, err := missing(i.archive.Ref, i.archive.ID)
		if err != nil {
			return nil, err
		}
		if !lacks {
			continue
		}
		all = append(all, load{changes: []event.Change{{Action: event.Load, Kind: "image", Name: i.archive.Ref}}, run: func(ctx context.Context) error {
			r.step("loading " + i.helper)
			return r.clusters.LoadImage(ctx, r.node, i.archive.Ref, i.archive.ID, func() (io.ReadCloser, error) { return i.archive.Reader(), nil })
		}})
	}
	for _, ref := range r.engineImages() {
		plan, err := nodeimage.Look(ctx, r.engine, r.want(ref))
		if err != nil {
			return nil, err
		}
		if plan.Have {
			if lacks, err := missing(ref, plan.Present.ID); err != nil || !lacks {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		all = append(all, r.loadFromEngine(ref, plan))
	}
	return all, nil
}

// engineImages are the images of the engine that the contract and the owner want in the node.
func (r *run) engineImages() []string {
	var refs []string
	for _, i := range r.contract.Images() {
		if i.Engine != "" {
			refs = append(refs, i.Engine)
		}
	}
	return append(refs, r.cfg.LoadImages.Value...)
}

// loadFromEngine streams an image from the engine into the node, after pulling it if the engine lacks it.
func (r *run) loadFromEngine(ref string, plan nodeimage.Plan) load {
	return load{
		changes: append(plan.Changes, event.Change{Action: event.Load, Kind: "image", Name: ref}),
		run: func(ctx context.Context) error {
			if _, err := r.pull(ctx, plan); err != nil {
				return err
			}
			r.step("loading " + ref)
			_, err := r.clusters.LoadFromEngine(ctx, r.node, ref)
			return err
		},
	}
}
