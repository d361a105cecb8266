package engine

import (
	"context"
	"net/netip"

	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// Network is a network of the engine.
type Network struct {
	ID, Name, Driver string
	Labels           map[string]string
	Subnets          []netip.Prefix
}

// Networks lists all networks of the engine with their subnets.
func (e *Engine) Networks(ctx context.Context) ([]Network, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "list networks")
	list, err := e.cli.NetworkList(ctx, network.ListOptions{})
	if err = done(err); err != nil {
		return nil, err
	}
	out := make([]Network, 0, len(list))
	for _, n := range list {
		net := Network{ID: n.ID, Name: n.Name, Driver: n.Driver, Labels: n.Labels}
		for _, c := range n.IPAM.Config {
			if p, err := netip.ParsePrefix(c.Subnet); err == nil {
				net.Subnets = append(net.Subnets, p)
			}
		}
		out = append(out, net)
	}
	return out, nil
}

// CreateNetwork creates a bridge network and returns its id.
func (e *Engine) CreateNetwork(ctx context.Context, name string, subnet netip.Prefix, labels map[string]string) (string, error) {
	ctx, done := e.limited(ctx, e.timeouts.Change, "create the network "+name+" with "+subnet.String())
	resp, err := e.cli.NetworkCreate(ctx, name, network.CreateOptions{Driver: "bridge", Labels: labels,
		IPAM: &network.IPAM{Config: []network.IPAMConfig{{Subnet: subnet.String()}}}})
	return resp.ID, done(err)
}

// RemoveNetwork removes a network. One that is not there is removed already.
func (e *Engine) RemoveNetwork(ctx context.Context, id string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "remove the network "+ShortID(id))
	err := done(e.cli.NetworkRemove(ctx, id))
	if KindOf(err) == NotFound {
		return nil
	}
	return err
}

// Volume is a named volume of the engine.
type Volume struct {
	Name   string
	Labels map[string]string
}

// Volumes lists all volumes of the engine.
func (e *Engine) Volumes(ctx context.Context) ([]Volume, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "list volumes")
	list, err := e.cli.VolumeList(ctx, volume.ListOptions{})
	if err = done(err); err != nil {
		return nil, err
	}
	out := make([]Volume, 0, len(list.Volumes))
	for _, v := range list.Volumes {
		out = append(out, Volume{Name: v.Name, Labels: v.Labels})
	}
	return out, nil
}

// CreateVolume creates a volume. The engine answers the same for one that exists, whoever made it, so look first.
func (e *Engine) CreateVolume(ctx context.Context, name string, labels map[string]string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "create the volume "+name)
	_, err := e.cli.VolumeCreate(ctx, volume.CreateOptions{Name: name, Labels: labels})
	return done(err)
}

// RemoveVolume removes a volume that no container uses. One that is not there is removed already.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "remove the volume "+name)
	err := done(e.cli.VolumeRemove(ctx, name, false))
	if KindOf(err) == NotFound {
		return nil
	}
	return err
}
