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
	if err := m.buildNetwork(ctx, &p, step); err != nil {
		return err
	}
	for skip := map[uint16]bool{}; ; {
		step("creating the node")
		id, err := m.createNode(ctx, p)
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

// buildNetwork makes the cluster's network if it is not there or has another subnet than planned.
func (m *Manager) buildNetwork(ctx context.Context, p *Plan, step func(string)) error {
	if n := p.State.Network; n.ID != "" {
		if len(n.Subnets) > 0 && n.Subnets[0] == p.Settings.Subnet {
			return nil
		}
		if err := m.Engine.RemoveNetwork(ctx, n.ID); err != nil {
			return err
		}
	}
	name := NamesOf(p.Spec.Cluster).Network
	for skip := map[netip.Prefix]bool{}; ; {
		step("creating the network " + p.Settings.Subnet.String())
		_, err := m.Engine.CreateNetwork(ctx, name, p.Settings.Subnet, labels(p.Spec.Cluster, RoleNetwork))
		switch {
		case err == nil:
			return nil
		case !subnetTaken(err):
			return err
		case p.Spec.Subnet.IsValid():
			return reason.Fail(reason.New(reason.UsageValue, "flag", "--subnet", "value", p.Spec.Subnet.String(), "allowed", "choose one that the engine does not use"), err)
		}
		// The engine's machine has routes that are not seen from here.
		skip[p.Settings.Subnet] = true
		if p.Settings.Subnet, err = m.subnet(p.State, netip.Prefix{}, skip); err != nil {
			return err
		}
	}
}

// createNode creates the container, without the kernel modules where the engine's machine has none.
func (m *Manager) createNode(ctx context.Context, p Plan) (string, error) {
	id, err := m.Engine.CreateContainer(ctx, p.Spec.container(p.Settings, true))
	if err != nil && strings.Contains(err.Error(), modulesPath) {
		// A virtual machine with everything built in, or one that shares only the user's directories.
		id, err = m.Engine.CreateContainer(ctx, p.Spec.container(p.Settings, false))
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
