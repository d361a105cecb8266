package pipeline

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/core/runlog"
)

// statusLimit bounds each part of a status: somebody waits for it, and "does not answer" is an answer.
const statusLimit = 10 * time.Second

// quiet hears nothing.
type quiet struct{}

func (quiet) Emit(event.Event) {}

// Status says what runs, in which mode and why. What cannot be found out is a problem of the status, not an
// error.
func Status(ctx context.Context, d Deps, cfg config.Config) report.Status {
	r := newRun(d, cfg, quiet{}, runlog.Discard())
	s := report.Status{Cluster: r.cfg.Cluster, Version: d.Version, State: report.StateUnknown}
	if err := r.lookAround(ctx); err != nil {
		s.Problems = append(s.Problems, reason.Of(err))
		r.remembered(&s)
		return s
	}
	defer r.engine.Close()
	r.reconsider(ctx)
	s.Machine = r.describe()
	switch r.node.Phase {
	case cluster.Absent, cluster.Partial:
		s.State = report.StateMissing
		s.Problems = append(s.Problems, reason.New(reason.ClusterMissing, "cluster", r.cfg.Cluster))
		return s
	case cluster.Stopped, cluster.Unfinished:
		s.State = report.StateStopped
		s.Problems = append(s.Problems, reason.New(reason.ClusterStopped, "cluster", r.cfg.Cluster))
	case cluster.Crashed:
		s.State = report.StateCrashed
		s.Problems = append(s.Problems, reason.New(reason.ClusterCrashed, "cluster", r.cfg.Cluster, "node", r.node.Node.Name).With(r.node.Node.Log))
	case cluster.Running:
		s.State = report.StateStarting
	}
	s.Node, s.NodeImage, s.DataDir = r.node.Node.Name, r.node.Settings.Image, r.node.Settings.DataDir
	s.API, s.Restart = api(r.node.Settings.Port), r.restart()
	r.remembered(&s)
	if r.node.Phase == cluster.Running {
		s.Since = r.node.Node.Started.UTC().Format(time.RFC3339)
		r.inside(ctx, &s)
	}
	return s
}

// lookAround finds the engine, what is remembered, and the cluster.
func (r *run) lookAround(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*statusLimit)
	defer cancel()
	if err := r.recall(); err != nil {
		return err
	}
	if err := r.connect(ctx); err != nil {
		return err
	}
	return r.look(ctx)
}

// reconsider asks the hooks, who remember their answer, what there is to say about the engine's surroundings; and about
// the GPU where the state file does not.
func (r *run) reconsider(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	defer func() { _ = r.deps.Runner.Close() }()
	if r.surroundings(ctx) == nil {
		_ = r.askHooks(ctx, r.state.Mode == "" && r.cfg.GPU != "off")
	}
}

// remembered fills in what only the state file knows. Without one, the mode is worked out anew.
func (r *run) remembered(s *report.Status) {
	s.Mode, s.Reason = r.state.Mode, r.state.Reason
	if s.Mode == "" {
		why := r.cpuReason()
		s.Mode, s.Reason = "cpu", &why
	}
	if f := r.state.Failure; f != nil && !r.state.Complete {
		s.Problems = append(s.Problems, *f)
	}
	s.Kubeconfig = r.state.Kubeconfig
	if s.Kubeconfig != "" {
		s.Context = kubeconfig.Context(r.cfg.Cluster)
	}
}

// inside asks the cluster itself.
func (r *run) inside(ctx context.Context, s *report.Status) {
	ctx, cancel := context.WithTimeout(ctx, statusLimit)
	defer cancel()
	problem := func(err error) { s.Problems = append(s.Problems, reason.Of(err)) }
	b, err := r.clusters.Kubeconfig(ctx, r.node)
	if errors.Is(err, cluster.ErrNotYet) {
		return // it is starting, and says so
	}
	if err == nil {
		r.kubeconfig = b
		r.kube, err = r.deps.Kube(b)
	}
	if err != nil {
		problem(err)
		return
	}
	snap, err := r.kube.Snapshot(ctx, r.node.Node.Name, r.node.Node.Started)
	if err != nil {
		problem(err)
		return
	}
	if snap.Version.Known() {
		s.Kubernetes = snap.Version.Value
	}
	if snap.Ready() {
		s.State = report.StateRunning
	}
	if err := r.workloadStatus(ctx, s); err != nil {
		problem(err)
	}
}

func (r *run) workloadStatus(ctx context.Context, s *report.Status) error {
	client, err := r.deps.Release(r.releaseOptions())
	if err != nil {
		return err
	}
	rel, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if rel.Chart == "" {
		s.Problems = append(s.Problems, reason.New(reason.ReleaseNotFound, "cluster", r.cfg.Cluster))
		return nil
	}
	s.Workload = &report.Workload{
		Release: rel.Release, Namespace: rel.Namespace, Chart: rel.Chart + " " + rel.ChartVersion, Status: rel.Helm,
	}
	var ws []kube.Workload
	for _, o := range rel.Workloads() {
		ws = append(ws, kube.Workload{Kind: kube.Kind(o.Kind), Namespace: o.Namespace, Name: o.Name})
	}
	states, err := r.kube.PodsSummary(ctx, ws, r.waitOptions())
	if err != nil {
		return err
	}
	for _, w := range states {
		if w.Reason != nil {
			s.Problems = append(s.Problems, *w.Reason)
		}
		s.Workload.Parts = append(s.Workload.Parts, report.Part{Name: w.Name, Kind: string(w.Kind), Ready: w.Ready, Total: w.Total, OK: w.OK})
	}
	return nil
}

// Kubeconfig returns the cluster's kubeconfig and where it is. With merge, it is put into the user's; without,
// into a file of its own beside rigup's.
func Kubeconfig(ctx context.Context, d Deps, cfg config.Config, merge bool) (content []byte, path, name string, err error) {
	r := newRun(d, cfg, quiet{}, runlog.Discard())
	if err := r.lookAround(ctx); err != nil {
		return nil, "", "", err
	}
	defer r.engine.Close()
	switch r.node.Phase {
	case cluster.Absent, cluster.Partial:
		return nil, "", "", missing(r.cfg.Cluster)
	case cluster.Running:
	default:
		return nil, "", "", reason.Fail(reason.New(reason.ClusterStopped, "cluster", r.cfg.Cluster), nil)
	}
	b, err := r.clusters.Kubeconfig(ctx, r.node)
	if err != nil {
		return nil, "", "", err
	}
	o := r.kubeconfigOptions()
	if !merge {
		o.File = filepath.Join(r.cfg.Dir(), "kubeconfig")
		o.Current = kubeconfig.Always
	}
	res, err := kubeconfig.Merge(ctx, o, b)
	if err != nil {
		return nil, "", "", err
	}
	content, err = os.ReadFile(res.File)
	return content, res.File, res.Context, err
}
