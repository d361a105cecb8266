package cluster

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// Apply makes a plan true and returns the state after it: the node was started, which does not mean that its
// API answers yet. step is told what is being done; it may be nil.
//
// It looks again first, so that applying a plan twice, or one that an interrupted run began with, does only
// what is left. Each step leaves something that the next run understands: volumes and network are found by
// label, and a node without its last file is one that was not finished.
func (m *Manager) Apply(ctx context.Context, p Plan, step func(string)) (State, error) {
	if step == nil {
		step = func(string) {}
	}
	if p.Action == Nothing {
		return p.State, nil
	}
	for try := 0; ; try++ {
		st, err := m.apply(ctx, p, step)
		if err == nil || try == settleTries || !unsettled(err) {
			return st, err
		}
		if serr := m.sleep(ctx); serr != nil {
			return State{}, err
		}
	}
}

// settleTries is how often a plan is taken up again while the engine finishes what an earlier run that was
// killed had asked for: names are taken before they are listed, and networks appear late.
const settleTries = 20

func unsettled(err error) bool {
	return engine.KindOf(err) == engine.Conflict || reason.Of(err).ID == reason.ClusterUnknown || says(err, "is ambiguous")
}

func (m *Manager) apply(ctx context.Context, p Plan, step func(string)) (State, error) {
	now, err := m.Observe(ctx, p.Spec.Cluster)
	if err != nil {
		return State{}, err
	}
	if now.Node.ID != p.State.Node.ID || now.Phase != p.State.Phase {
		spec := p.Spec
		// The rebuild that was agreed to has happened if there is another node by now.
		spec.Recreate = spec.Recreate && now.Node.ID == p.State.Node.ID
		if p, err = m.Plan(now, spec); err != nil || p.Action == Nothing {
			return now, err
		}
	}
	p.State = now
	if p.Action == Start || p.Action == Restart {
		err = m.start(ctx, p, step)
	} else {
		err = m.build(ctx, p, step)
	}
	if err != nil {
		return State{}, err
	}
	return m.Observe(ctx, p.Spec.Cluster)
}

// start brings the files of a node up to date and starts it.
func (m *Manager) start(ctx context.Context, p Plan, step func(string)) error {
	id := p.State.Node.ID
	if err := m.removeNetworks(ctx, p.State.Spares); err != nil {
		return err
	}
	if p.Action == Restart {
		step("stopping the node")
		if err := m.Engine.Stop(ctx, id); err != nil {
			return err
		}
	}
	if err := m.writeFiles(ctx, p, id); err != nil {
		return err
	}
	step("starting the node")
	err := m.Engine.Start(ctx, id)
	if portTaken(err) {
		port := strconv.Itoa(int(p.State.Settings.Port))
		return reason.Fail(reason.New(reason.MachinePorts, "range", port), err)
	}
	return err
}

// writeFiles copies the files in and, when all are there, the marker.
func (m *Manager) writeFiles(ctx context.Context, p Plan, id string) error {
	files, hash, err := p.Spec.Files.render(NamesOf(p.Spec.Cluster).Node, p.Settings.Subnet)
	if err != nil {
		return err
	}
	if err := m.Engine.CopyTo(ctx, id, files); err != nil {
		return err
	}
	return m.Engine.CopyTo(ctx, id, []engine.File{{Path: markerPath, Mode: 0o644, Data: []byte(hash + "\n")}})
}

// build makes everything that a node needs, then the node, and starts it.
func (m *Manager) build(ctx context.Context, p Plan, step func(string)) error {
	if p.tryStart {
		// The engine knows better whether the port is free: it may hold it for this very node.
		if err := m.start(ctx, p, step); reason.Of(err).ID != reason.MachinePorts || err == nil {
			return err
		}
	}
	names := NamesOf(p.Spec.Cluster)
	for _, v := range names.volumes() {
		if slices.Contains(p.State.Volumes, v) {
			continue
		}
		if err := m.Engine.CreateVolume(ctx, v, labels(p.Spec.Cluster, RoleVolume)); err != nil {
			return err
		}
	}
	if old := p.State.Node.ID; old != "" {
		step("stopping the old node")
		// In peace, so that the database in the volume is closed.
		if err := m.Engine.Stop(ctx, old); err != nil && engine.KindOf(err) != engine.NotFound {
			return err
		}
		step("removing the old node; its data stays")
		if err := m.Engine.RemoveContainer(ctx, old); err != nil {
			return err
		}
	}
	network, err := m.buildNetwork(ctx, &p, step)
	if err != nil {
		return err
	}
	for skip := map[uint16]bool{}; ; {
		step("creating the node")
		id, err := m.createNode(ctx, p, network)
		if err != nil {
			return err
		}
		if err := m.writeFiles(ctx, p, id); err != nil {
			return err
		}
		step("starting the node")
		err = m.Engine.Start(ctx, id)
		switch {
		case err == nil:
			return nil
		case portTaken(err):
			// Another program was faster between the choice and now. The port is fixed, so the node is made anew.
			skip[p.Settings.Port] = true
			next, perr := m.port(p.Spec.Ports, skip)
			if rerr := m.Engine.RemoveContainer(ctx, id); rerr != nil {
				return errors.Join(err, rerr)
			}
			if perr != nil {
				return perr
			}
			p.Settings.Port = next
		default:
			return err
		}
	}
}

// buildNetwork makes the cluster's network if it is not there or has another subnet than planned, removes
// others of the cluster, and returns its id.
func (m *Manager) buildNetwork(ctx context.Context, p *Plan, step func(string)) (string, error) {
	keep, extra := p.State.Network.ID, p.State.Spares
	if n := p.State.Network; n.ID != "" && (len(n.Subnets) == 0 || n.Subnets[0] != p.Settings.Subnet) {
		keep, extra = "", append([]string{n.ID}, extra...)
	}
	if err := m.removeNetworks(ctx, extra); err != nil {
		return "", err
	}
	if keep != "" {
		return keep, nil
	}
	name := NamesOf(p.Spec.Cluster).Network
	for skip := map[netip.Prefix]bool{}; ; {
		step("creating the network " + p.Settings.Subnet.String())
		id, err := m.Engine.CreateNetwork(ctx, name, p.Settings.Subnet, labels(p.Spec.Cluster, RoleNetwork))
		switch {
		case err == nil:
			return id, m.onlyNetwork(ctx, p.Spec.Cluster, id)
		case !subnetTaken(err):
			return "", err
		case p.Spec.Subnet.IsValid():
			return "", reason.Fail(reason.New(reason.UsageValue, "flag", "--subnet", "value", p.Spec.Subnet.String(), "allowed", "choose one that the engine does not use"), err)
		}
		// The engine's machine has routes that are not seen from here.
		skip[p.Settings.Subnet] = true
		if p.Settings.Subnet, err = m.subnet(p.State, netip.Prefix{}, skip); err != nil {
			return "", err
		}
	}
}

// onlyNetwork removes networks of the cluster that appeared while this one was made: some engines cannot
// start a container whose network's name fits two.
func (m *Manager) onlyNetwork(ctx context.Context, cluster, keep string) error {
	all, err := m.Engine.Networks(ctx)
	if err != nil {
		return err
	}
	var extra []string
	for _, n := range all {
		if n.Labels[LabelCluster] == cluster && n.ID != keep {
			extra = append(extra, n.ID)
		}
	}
	return m.removeNetworks(ctx, extra)
}

func (m *Manager) removeNetworks(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if err := m.Engine.RemoveNetwork(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// createNode creates the container, without the kernel modules where the engine's machine has none.
func (m *Manager) createNode(ctx context.Context, p Plan, network string) (string, error) {
	id, err := m.Engine.CreateContainer(ctx, p.Spec.container(p.Settings, network, true))
	if err != nil && strings.Contains(err.Error(), modulesPath) {
		// A virtual machine with everything built in, or one that shares only the user's directories.
		id, err = m.Engine.CreateContainer(ctx, p.Spec.container(p.Settings, network, false))
	}
	return id, err
}

// portTaken reads the engine's words about a published port that something else has.
func portTaken(err error) bool {
	return says(err, "port is already allocated", "address already in use", "ports are not available", "failed to bind host port")
}

// subnetTaken reads the engine's words about a subnet that overlaps another.
func subnetTaken(err error) bool {
	return says(err, "overlaps with other", "pool overlaps", "conflicts with network", "overlap")
}

func says(err error, texts ...string) bool {
	if err == nil {
		return false
	}
	low := strings.ToLower(err.Error())
	return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(low, t) })
}
