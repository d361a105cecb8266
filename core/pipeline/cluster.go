package pipeline

import (
	"context"
	"errors"
	"time"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
)

// bootLimit is how long a node may take to write its kubeconfig, which it does once its certificates are
// made: seconds, or a minute on a slow disk.
const bootLimit = 3 * time.Minute

// clusterStage brings up the node and waits until the cluster can take work.
func clusterStage(ctx context.Context, r *run) (step, error) {
	plan := r.plan
	st := step{changes: plan.Changes, text: "a node of its own"}
	if plan.Action == cluster.Nothing {
		st.text = "running"
		if !r.node.Node.Started.IsZero() {
			st.text = "running since " + units.Age(r.deps.Now().Sub(r.node.Node.Started))
		}
		if up, change := r.reach(ctx); up {
			if change != nil {
				st.changes = append(st.changes, *change)
			} else {
				st.outcome = clusterOutcome(st.text, plan)
				return st, nil
			}
		}
	} else {
		st.changes = append(st.changes, event.Change{Action: event.Update, Kind: "kubeconfig", Name: kubeconfig.Context(r.cfg.Cluster), Detail: "the cluster's context"})
	}
	st.apply = func(ctx context.Context) (outcome, error) {
		if err := r.bringUp(ctx, plan); err != nil {
			return outcome{}, err
		}
		return clusterOutcome("ready, API on "+api(r.node.Settings.Port), plan), nil
	}
	return st, nil
}

// clusterOutcome tells a drift, which does not keep the cluster from working.
func clusterOutcome(text string, plan cluster.Plan) outcome {
	if plan.Degraded != nil {
		return degraded(text, *plan.Degraded)
	}
	return done(text)
}

// reach connects to a node that runs. up is false when the cluster is not ready as it is; change is what the
// kubeconfig lacks. What goes wrong here is not told: the work of the stage meets it again and waits.
func (r *run) reach(ctx context.Context) (up bool, change *event.Change) {
	b, err := r.clusters.Kubeconfig(ctx, r.node)
	if err != nil {
		return false, nil
	}
	k, err := r.deps.Kube(b)
	if err != nil {
		return false, nil
	}
	snap, err := k.Snapshot(ctx, r.node.Node.Name, r.node.Node.Started)
	if err != nil || !snap.Ready() {
		return false, nil
	}
	r.kubeconfig, r.kube = b, k
	res, err := kubeconfig.Check(ctx, r.kubeconfigOptions(), b)
	if err != nil {
		return false, nil
	}
	r.context = res
	if res.Changed {
		return true, &event.Change{Action: event.Update, Kind: "kubeconfig", Name: res.Context, Detail: res.File}
	}
	return true, nil
}

// bringUp makes the plan true and waits: for the node's kubeconfig, its API, the node, and what pods need.
func (r *run) bringUp(ctx context.Context, plan cluster.Plan) error {
	if dir := plan.Settings.DataDir; dir != "" {
		// The engine would create it too, but as root, and nothing would say later that it is the cluster's.
		if _, err := cluster.ClaimData(dir, r.cfg.Cluster); err != nil {
			return err
		}
	}
	node, err := r.clusters.Apply(ctx, plan, r.step)
	if err != nil {
		return err
	}
	r.node = node
	r.step("waiting for the cluster's API")
	if err := r.awaitKubeconfig(ctx); err != nil {
		return err
	}
	err = r.kube.Ready(ctx, kube.ReadyOptions{
		Node: r.node.Node.Name, Container: r.node.Node.Name, Since: r.node.Node.Started,
		Alive: func(ctx context.Context) error { return r.clusters.Alive(ctx, r.node) },
	}, r.progress)
	if err != nil {
		return err
	}
	r.step("writing the kubeconfig")
	r.context, err = kubeconfig.Merge(ctx, r.kubeconfigOptions(), r.kubeconfig)
	for _, w := range r.context.Warnings {
		r.warn(w)
	}
	return err
}

// awaitKubeconfig waits until the node has made its certificates.
func (r *run) awaitKubeconfig(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bootLimit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := r.clusters.Kubeconfig(ctx, r.node)
		if err == nil {
			r.kubeconfig = b
			r.kube, err = r.deps.Kube(b)
			return err
		}
		if !errors.Is(err, cluster.ErrNotYet) {
			return err
		}
		if err := r.clusters.Alive(ctx, r.node); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return reason.Fail(reason.New(reason.ClusterNotReady, "what", "it made no certificates within "+bootLimit.String(), "node", r.node.Node.Name), err)
		}
	}
}
