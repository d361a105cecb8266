package pipeline

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/runlog"
)

// Uninstall removes a cluster. Its data stays unless cfg says otherwise.
func Uninstall(ctx context.Context, d Deps, cfg config.Config, sink event.Sink) Ended {
	return begin(ctx, d, cfg, sink, "uninstall", func(ctx context.Context, r *run) error {
		return r.play(ctx, []stage{{"observe", observeCluster}, {"remove", remove}}, false)
	})
}

// remove takes away the node with all that is around it, the context, and rigup's own files. Each part is
// tried even if another fails, and can be tried again.
func remove(ctx context.Context, r *run) (step, error) {
	if r.node.Phase == cluster.Absent && r.state.Cluster == "" {
		r.after = append(r.after, r.forget)
		return step{}, missing(r.cfg.Cluster)
	}
	deleteData := r.cfg.DeleteData.Value
	dir := r.dataDir()
	st := step{changes: cluster.PlanRemove(r.node, deleteData)}
	if dir != "" {
		c := event.Change{Action: event.Keep, Kind: "data directory", Name: dir}
		if deleteData {
			c.Action = event.Delete
		}
		st.changes = append(st.changes, c)
	}
	// The context is in the file that the install wrote, whatever KUBECONFIG says today.
	where := r.kubeconfigOptions()
	if where.File == "" {
		where.File = r.state.Kubeconfig
	}
	res, err := kubeconfig.CheckRemove(ctx, where)
	if err != nil {
		return step{}, err
	}
	if res.Changed {
		st.changes = append(st.changes, event.Change{Action: event.Delete, Kind: "kubeconfig", Name: res.Context, Detail: res.File})
	}
	st.apply = func(ctx context.Context) (outcome, error) {
		_, err := r.clusters.Remove(ctx, r.cfg.Cluster, deleteData, r.step)
		if deleteData && dir != "" && err == nil {
			r.step("deleting the data")
			err = r.clusters.RemoveData(ctx, dir, r.cfg.Cluster, r.anyImage(ctx))
		}
		gone, kerr := kubeconfig.Remove(ctx, where)
		for _, w := range gone.Warnings {
			r.warn(w)
		}
		if err = errors.Join(err, kerr); err != nil {
			return outcome{}, err
		}
		r.node = cluster.State{}
		r.after = append(r.after, r.forget)
		return done("removed"), nil
	}
	return st, nil
}

// dataDir is where the cluster's data is, if it can be told.
func (r *run) dataDir() string {
	dir := r.node.Settings.DataDir
	if dir == "" {
		dir = r.state.DataDir
	}
	if dir == "" {
		dir = r.cfg.DataDir
	}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return dir
}

// anyImage is an image on the engine in which files of root can be deleted; "" if there is none.
func (r *run) anyImage(ctx context.Context) string {
	for _, ref := range []string{r.node.Settings.Image, r.state.Image, r.cfg.NodeImage} {
		if ref == "" {
			continue
		}
		if _, err := r.engine.Image(ctx, ref); err == nil {
			return ref
		}
	}
	return ""
}

// forget removes rigup's own files of the cluster. Where data was kept, the state stays with it: it says
// where that is, and what was installed. It runs last, when log and lock are closed.
func (r *run) forget() error {
	r.log = runlog.Discard()
	dir := r.cfg.Dir()
	// A damaged state that was kept aside and a kubeconfig's backup have longer names.
	own := []string{"log", "lock", "lock.json", "kubeconfig*"}
	if r.cfg.DeleteData.Value || r.state.Cluster == "" {
		own = append(own, "state.json*")
	}
	var left []error
	for _, pattern := range own {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		left = append(left, err)
		for _, f := range found {
			left = append(left, os.RemoveAll(f))
		}
	}
	// Folders go when they are empty; a refusal means that they are not.
	for _, d := range []string{dir, filepath.Dir(dir), r.cfg.Home} {
		if os.Remove(d) != nil {
			break
		}
	}
	return errors.Join(left...)
}

// missing is the error for a cluster that is not there.
func missing(name string) error {
	return reason.Fail(reason.New(reason.ClusterMissing, "cluster", name), nil)
}
