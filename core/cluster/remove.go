package cluster

import (
	"context"
	"errors"
	"slices"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// PlanRemove lists what Remove does. Without deleteData the volumes that hold what is in the cluster stay:
// its database, images and volumes of pods, and the identity without which they are of no use (C2).
func PlanRemove(st State, deleteData bool) []event.Change {
	var out []event.Change
	if st.Node.ID != "" {
		out = append(out, event.Change{Action: event.Delete, Kind: "node", Name: st.Node.Name})
	}
	for range st.Helpers {
		out = append(out, event.Change{Action: event.Delete, Kind: "container", Name: "left by an earlier run"})
	}
	if st.Network.ID != "" {
		out = append(out, event.Change{Action: event.Delete, Kind: "network", Name: st.Network.Name})
	}
	for _, v := range st.Volumes {
		c := event.Change{Action: event.Delete, Kind: "volume", Name: v}
		if keeps(st.Cluster, v, deleteData) {
			c.Action, c.Detail = event.Keep, "what is in the cluster"
		}
		out = append(out, c)
	}
	return out
}

// keeps reports whether a volume stays.
func keeps(cluster, volume string, deleteData bool) bool {
	n := NamesOf(cluster)
	return !deleteData && slices.Contains([]string{n.State, n.Identity}, volume)
}

// Remove removes what the engine has of a cluster and returns what it did. Only what carries our label is
// touched. Each part is tried even if another fails; the errors say which part was left. What is gone already
// is no error, so it can be repeated. The data directory is a separate matter: RemoveData.
func (m *Manager) Remove(ctx context.Context, cluster string, deleteData bool, step func(string)) ([]event.Change, error) {
	if step == nil {
		step = func(string) {}
	}
	st, err := m.Observe(ctx, cluster)
	if err != nil {
		return nil, err
	}
	changes := PlanRemove(st, deleteData)
	var left []error
	try := func(kind, name string, err error) {
		if err != nil {
			left = append(left, reason.Fail(reason.New(reason.ClusterPartLeft, "kind", kind, "name", name), err))
		}
	}
	if st.Node.ID != "" {
		step("stopping the node")
		// In peace where the data stays; by force it goes in any case.
		if !deleteData && st.Phase == Running {
			if err := m.Engine.Stop(ctx, st.Node.ID); err != nil && engine.KindOf(err) == engine.Canceled {
				return nil, err
			}
		}
		step("removing the node")
		try("The container", st.Node.Name, m.Engine.RemoveContainer(ctx, st.Node.ID))
	}
	for _, id := range st.Helpers {
		try("The container", engine.ShortID(id), m.Engine.RemoveContainer(ctx, id))
	}
	if st.Network.ID != "" {
		step("removing the network")
		try("The network", st.Network.Name, m.Engine.RemoveNetwork(ctx, st.Network.ID))
	}
	for _, id := range st.Spares {
		try("The network", engine.ShortID(id), m.Engine.RemoveNetwork(ctx, id))
	}
	for _, v := range st.Volumes {
		if keeps(cluster, v, deleteData) {
			continue
		}
		step("removing the volume " + v)
		try("The volume", v, m.Engine.RemoveVolume(ctx, v))
	}
	return changes, errors.Join(left...)
}
