// Package cluster makes, finds, compares and removes the node and what belongs to it on the engine: one
// container that runs k3s, its network and its volumes.
//
// Everything is found by label. A thing that has one of our names without our label belongs to somebody else
// and is never touched (invariant C2); an engine that cannot be read changes nothing (C1).
package cluster

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// Engine is what this package asks of the engine; *engine.Engine is one. Failures have the kinds of engine.KindOf.
type Engine interface {
	Containers
	Parts
	Commands
	Save(ctx context.Context, ref, os, arch string) (io.ReadCloser, error)
	Image(ctx context.Context, ref string) (engine.Image, error)
}

// Containers is the part of the engine that has containers.
type Containers interface {
	Containers(ctx context.Context, labels map[string]string) ([]engine.Container, error)
	Container(ctx context.Context, id string) (engine.Container, error)
	CreateContainer(ctx context.Context, s engine.ContainerSpec) (string, error)
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	RemoveContainer(ctx context.Context, id string) error
	Wait(ctx context.Context, id string) (int, error)
	Logs(ctx context.Context, id string, lines int) (string, error)
}

// Parts is the part of the engine that has networks and volumes.
type Parts interface {
	Networks(ctx context.Context) ([]engine.Network, error)
	CreateNetwork(ctx context.Context, name string, subnet netip.Prefix, labels map[string]string) (string, error)
	RemoveNetwork(ctx context.Context, id string) error
	Volumes(ctx context.Context) ([]engine.Volume, error)
	CreateVolume(ctx context.Context, name string, labels map[string]string) error
	RemoveVolume(ctx context.Context, name string) error
}

// Commands is the part of the engine that reaches into containers.
type Commands interface {
	Exec(ctx context.Context, id string, o engine.ExecOptions) (int, error)
	CopyTo(ctx context.Context, id string, files []engine.File) error
	CopyFrom(ctx context.Context, id, file string) ([]byte, error)
}

// Host is what choosing a port and a subnet asks of this machine.
type Host struct {
	// Listen binds a TCP address and lets go of it again.
	Listen func(addr string) error
	// Networks lists the networks that this machine has addresses in or routes to.
	Networks func() ([]netip.Prefix, error)
}

// Manager works on clusters of one engine.
type Manager struct {
	Engine Engine
	Host   Host
	// Retry is how long to wait before asking again for something that is not there yet. Zero means 300 ms.
	Retry time.Duration
}

// The labels by which everything is found.
const (
	LabelCluster = "dev.rigup.cluster" // the cluster's name
	LabelRole    = "dev.rigup.role"    // what it is in the cluster
	LabelSpec    = "dev.rigup.spec"    // the hash of how the container is set up beside its settings
	LabelData    = "dev.rigup.data"    // the data directory as it was asked for: engines rewrite paths
)

// The roles.
const (
	RoleServer  = "server"
	RoleNetwork = "network"
	RoleVolume  = "volume"
	RoleHelper  = "helper" // a container that lives for one command
)

// nameForm keeps every derived name a valid DNS label, container name and node name: the longest derived
// name is rigup-NAME-identity.
var nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$`)

// CheckName refuses a cluster name from which no valid names can be made.
func CheckName(cluster string) error {
	if nameForm.MatchString(cluster) {
		return nil
	}
	return reason.Fail(reason.New(reason.UsageValue, "flag", "--cluster", "value", fmt.Sprintf("%q", cluster),
		"allowed", "use up to 32 lower-case letters, digits and dashes, beginning with a letter and not ending with a dash"), nil)
}

// Names are the names of a cluster's parts.
type Names struct {
	Node     string // the container and the Kubernetes node
	Network  string
	State    string // volume of /var/lib/rancher/k3s
	Kubelet  string // volume of /var/lib/kubelet
	Identity string // volume of /etc/rancher/node
}

// NamesOf are the names of a cluster's parts.
func NamesOf(cluster string) Names {
	base := "rigup-" + cluster
	return Names{Node: base + "-server-0", Network: base, State: base + "-k3s", Kubelet: base + "-kubelet", Identity: base + "-identity"}
}

func (n Names) volumes() []string { return []string{n.State, n.Kubelet, n.Identity} }

func labels(cluster, role string) map[string]string {
	return map[string]string{LabelCluster: cluster, LabelRole: role}
}

func (m *Manager) retry() time.Duration {
	if m.Retry > 0 {
		return m.Retry
	}
	return 300 * time.Millisecond
}
