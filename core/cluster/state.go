package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// Phase is where a cluster is.
type Phase string

// The phases.
const (
	Absent     Phase = "absent"     // nothing of it is on the engine
	Partial    Phase = "partial"    // network or volumes, but no node
	Unfinished Phase = "unfinished" // a node that the run which made it did not finish
	Stopped    Phase = "stopped"
	Crashed    Phase = "crashed" // it ends by itself and the engine keeps restarting it
	Running    Phase = "running"
)

// State is what the engine has of a cluster.
type State struct {
	Cluster string
	Phase   Phase
	Node    Node
	// Settings are the node's; empty without a node.
	Settings Settings
	// Network is the cluster's network; its ID is "" if there is none.
	Network engine.Network
	Volumes []string
	// Helpers are ids of containers that a run left behind, Spares of networks: engines let two networks have
	// one name, so a run that was killed while the engine made one may end up with a second.
	Helpers, Spares []string
	// Foreign are things with names of ours that we did not make.
	Foreign []Foreign

	files    string // hash of the files that the node has
	networks []engine.Network
	node     engine.Container
	attached bool // the network that the node was created with is there
}

// Node is the node's container.
type Node struct {
	ID, Name string
	Started  time.Time
	ExitCode int
	Restarts int
	// Problem is what the engine says about a node that does not start; Log its last lines if it crashed.
	Problem, Log string
}

// Foreign is something that has a name of ours but not our label.
type Foreign struct{ Kind, Name string }

// logLines is how much of a crashed node's log is kept as evidence.
const logLines = 20

// Observe finds out what the engine has of a cluster. It changes nothing. When something cannot be read the
// error's reason is cluster.unknown, or what the engine said (C1).
func (m *Manager) Observe(ctx context.Context, cluster string) (State, error) {
	if err := CheckName(cluster); err != nil {
		return State{}, err
	}
	st, err := m.observe(ctx, cluster)
	for try := 0; errors.Is(err, errVanished) && try < settleTries && m.sleep(ctx) == nil; try++ {
		st, err = m.observe(ctx, cluster)
	}
	if err != nil {
		switch engine.KindOf(err) {
		case engine.Canceled, engine.Unreachable, engine.Timeout:
			return State{}, err
		}
		return State{}, reason.Fail(reason.New(reason.ClusterUnknown, "cluster", cluster), err)
	}
	return st, nil
}

// errVanished is a node that was listed and is gone when it is looked at: something removes it right now.
var errVanished = errors.New("the node vanished while it was looked at")

func (m *Manager) observe(ctx context.Context, cluster string) (State, error) {
	st := State{Cluster: cluster, Phase: Absent}
	names := NamesOf(cluster)
	containers, err := m.Engine.Containers(ctx, nil)
	if err != nil {
		return st, err
	}
	if st.networks, err = m.Engine.Networks(ctx); err != nil {
		return st, err
	}
	volumes, err := m.Engine.Volumes(ctx)
	if err != nil {
		return st, err
	}
	ours := func(l map[string]string) bool { return l[LabelCluster] == cluster }
	for _, n := range st.networks {
		switch {
		case ours(n.Labels) && st.Network.ID == "":
			st.Network = n
		case ours(n.Labels):
			st.Spares = append(st.Spares, n.ID)
		case n.Name == names.Network:
			st.Foreign = append(st.Foreign, Foreign{"The network", n.Name})
		}
	}
	for _, v := range volumes {
		switch {
		case ours(v.Labels):
			st.Volumes = append(st.Volumes, v.Name)
		case slices.Contains(names.volumes(), v.Name):
			st.Foreign = append(st.Foreign, Foreign{"The volume", v.Name})
		}
	}
	slices.Sort(st.Volumes)
	var node engine.Container
	for _, c := range containers {
		switch {
		case ours(c.Labels) && c.Labels[LabelRole] == RoleServer:
			node = c
		case ours(c.Labels):
			st.Helpers = append(st.Helpers, c.ID)
		case c.Name == names.Node:
			st.Foreign = append(st.Foreign, Foreign{"The container", c.Name})
		}
	}
	if node.ID == "" {
		if st.Network.ID != "" || len(st.Volumes) > 0 {
			st.Phase = Partial
		}
		return st, nil
	}
	return st, m.observeNode(ctx, &st, node.ID)
}

func (m *Manager) observeNode(ctx context.Context, st *State, id string) error {
	c, err := m.Engine.Container(ctx, id)
	if engine.KindOf(err) == engine.NotFound {
		return errVanished
	}
	if err != nil {
		return err
	}
	st.Node = Node{ID: c.ID, Name: c.Name, Started: c.Started, ExitCode: c.ExitCode, Restarts: c.Restarts, Problem: c.Error}
	st.node = c
	st.attach(c.Networks)
	st.Settings = settingsOf(c, st.Network, st.attached)
	marker, err := m.Engine.CopyFrom(ctx, id, markerPath)
	switch {
	case engine.KindOf(err) == engine.NotFound:
		// The file or the container: the engine answers the same.
		if _, err := m.Engine.Container(ctx, id); engine.KindOf(err) == engine.NotFound {
			return errVanished
		} else if err != nil {
			return err
		}
		st.Phase = Unfinished
		return nil
	case err != nil:
		return err
	}
	st.files = strings.TrimSpace(string(marker))
	switch c.State {
	case "running", "paused":
		st.Phase = Running
	case "restarting", "dead":
		st.Phase = Crashed
		if st.Node.Log, err = m.Engine.Logs(ctx, id, logLines); err != nil {
			st.Node.Log = "the log cannot be read: " + err.Error()
		}
	default:
		st.Phase = Stopped
	}
	return nil
}

// attach makes the network that the node was created with the cluster's, where there are several.
func (st *State) attach(refs []string) {
	for _, n := range st.networks {
		if n.Labels[LabelCluster] != st.Cluster || !slices.Contains(refs, n.ID) && !slices.Contains(refs, n.Name) {
			continue
		}
		st.attached = true
		if i := slices.Index(st.Spares, n.ID); i >= 0 {
			st.Spares[i] = st.Network.ID
			st.Network = n
		}
		// An id is certain, a name may fit several.
		if slices.Contains(refs, n.ID) {
			return
		}
	}
}

// restartLimit is how often a node may end by itself while it is awaited. One that loses a race at boot heals
// by itself; one that cannot start ends again and again.
const restartLimit = 3

// Alive reports whether a node that was started still runs. The error of one that does not has the reason
// cluster.crashed with its last lines. Ask it while waiting for the API.
func (m *Manager) Alive(ctx context.Context, st State) error {
	c, err := m.Engine.Container(ctx, st.Node.ID)
	if err != nil && engine.KindOf(err) != engine.NotFound {
		return err
	}
	up := err == nil && (c.State == "running" || c.State == "restarting" || c.State == "paused")
	if up && c.Restarts-st.Node.Restarts < restartLimit {
		return nil
	}
	r := reason.New(reason.ClusterCrashed, "cluster", st.Cluster, "node", st.Node.Name)
	if err != nil {
		return reason.Fail(r, err)
	}
	if c.OOMKilled {
		r = r.With("the engine ran out of memory for it")
	}
	log, err := m.Engine.Logs(ctx, c.ID, logLines)
	if err != nil {
		return reason.Fail(r, err)
	}
	return reason.Fail(r.With(lastLines(log, 3)), nil)
}

// lastLines keeps the end of a log, where the cause of a crash stands.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
