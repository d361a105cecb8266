package pipeline

import (
	"context"
	"fmt"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/state"
)

// ready waits until the workload runs, and says why when it does not. Pods that failed before this run are
// started again: their cause may be mended.
func ready(ctx context.Context, r *run) (step, error) {
	var st step
	var failed []kube.Workload
	if r.kube != nil {
		ws, err := r.kube.PodsSummary(ctx, r.workload, r.waitOptions())
		if err != nil {
			return step{}, err
		}
		if n, all := settled(ws); all {
			return found(done(pods(n)))
		}
		for _, w := range ws {
			if !w.Failed {
				continue
			}
			failed = append(failed, w.Workload)
			st.changes = append(st.changes, event.Change{Action: event.Start, Kind: "pods", Name: w.Name, Detail: "they failed before"})
		}
	}
	st.apply = func(ctx context.Context) (outcome, error) {
		if len(failed) > 0 {
			r.step("starting failed pods again")
			if err := r.kube.Retry(ctx, failed); err != nil {
				return outcome{}, err
			}
		}
		r.step("waiting for the workload")
		if err := r.kube.WaitWorkloads(ctx, r.workload, r.waitOptions(), r.progress); err != nil {
			return outcome{}, err
		}
		ws, err := r.kube.PodsSummary(ctx, r.workload, r.waitOptions())
		if err != nil {
			return outcome{}, err
		}
		n, _ := settled(ws)
		return done(pods(n)), nil
	}
	return st, nil
}

func (r *run) waitOptions() kube.WaitOptions {
	return kube.WaitOptions{
		Since: r.node.Node.Started, Context: kubeconfig.Context(r.cfg.Cluster), DataDir: r.node.Settings.DataDir,
		Alive: func(ctx context.Context) error { return r.clusters.Alive(ctx, r.node) },
	}
}

// settled counts the pods that are ready, and reports whether all are.
func settled(ws []kube.WorkloadStatus) (n int, all bool) {
	all = true
	for _, w := range ws {
		n += w.Ready
		all = all && w.OK
	}
	return n, all
}

func pods(n int) string {
	if n == 1 {
		return "1 pod ready"
	}
	return fmt.Sprintf("%d pods ready", n)
}

// workloads is what must be ready: what the contract names, or everything of the release.
func (r *run) workloads(p *release.Plan) []kube.Workload {
	var all []kube.Workload
	for _, w := range r.contract.Workloads(r.cfg.Release) {
		all = append(all, kube.Workload{Kind: kube.Kind(w.Kind), Namespace: r.cfg.Namespace, Name: w.Name})
	}
	if len(all) > 0 {
		return all
	}
	for _, o := range p.Workloads() {
		all = append(all, kube.Workload{Kind: kube.Kind(o.Kind), Namespace: o.Namespace, Name: o.Name})
	}
	return all
}

// remember writes down what the run found and made.
func remember(_ context.Context, r *run) (step, error) {
	st := state.State{
		Stage: "report", Complete: true, Mode: "gpu",
		Engine: r.engine.Endpoint().Host, Image: r.node.Settings.Image, DataDir: r.node.Settings.DataDir,
		Kubeconfig: r.context.File, Release: r.cfg.Release, Namespace: r.cfg.Namespace,
		Chart: r.chart.Name() + " " + r.chart.Version(), Source: r.cfg.Chart,
		AskedGPU: r.cfg.GPU,
	}
	if r.cfg.imageGiven || r.state.AskedImage != "" {
		st.AskedImage = r.cfg.NodeImage
	}
	if why, ok := r.capability.Reason(); ok {
		st.Mode, st.Reason = "cpu", &why
	}
	return step{apply: func(context.Context) (outcome, error) { return done(""), r.save(st) }}, nil
}
