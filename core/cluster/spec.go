package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/engine"
)

// Field names something that is fixed when a cluster is created.
type Field string

// The fields.
const (
	FieldImage   Field = "image"
	FieldData    Field = "data"
	FieldPort    Field = "port"
	FieldSubnet  Field = "subnet"
	FieldArgs    Field = "arguments"
	FieldDevices Field = "devices"
	FieldLayout  Field = "layout" // how this version of rigup sets up the container otherwise
)

// Spec is the cluster that is wanted.
type Spec struct {
	Cluster string
	Image   string // the node's image reference
	// DataDir is bound to DataPath in the node; "" binds nothing. It must exist on the engine's machine.
	DataDir string
	Ports   PortRange
	// Subnet of the cluster's network; zero means any that is free.
	Subnet netip.Prefix
	// CgroupV1 says that the engine's machine has cgroup v1.
	CgroupV1 bool
	// Args are further arguments of k3s server.
	Args     []string
	Devices  []engine.Device
	Requests []engine.DeviceRequest
	Groups   []string
	Files    Files
	// Asked says which fields the user set explicitly. An existing cluster that differs there is refused;
	// where only a default moved it is kept, with a word about it.
	Asked map[Field]bool
	// Recreate is the user's consent to rebuild the node. Its volumes stay.
	Recreate bool
}

// DataPath is where the data directory is in the node.
const DataPath = "/var/lib/rigup/data"

// PortRange is one or more ports of 127.0.0.1 for the cluster's API.
type PortRange struct{ First, Last uint16 }

func (r PortRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(int(r.First))
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// Has reports whether a port is in the range.
func (r PortRange) Has(p uint16) bool { return r.First <= p && p <= r.Last }

// Settings are what was fixed when a node was created.
type Settings struct {
	Image   string       `json:"image"`
	DataDir string       `json:"dataDir,omitempty"`
	Port    uint16       `json:"port"`
	Subnet  netip.Prefix `json:"subnet"`
	Args    []string     `json:"args"` // of k3s, all of them
	Devices string       `json:"devices,omitempty"`
	// Layout is the hash of the whole container, this version's or the creator's.
	Layout string `json:"layout"`
}

// Difference is a field in which an existing cluster is not as wanted.
type Difference struct {
	Field Field  `json:"field"`
	Have  string `json:"have"`
	Want  string `json:"want"`
	// Asked is true when the user set the field, false when a default moved.
	Asked bool `json:"asked"`
	// Flag is how the user would ask for it again.
	Flag string `json:"flag,omitempty"`
}

// server is the command line of k3s.
func (s Spec) server() []string {
	args := []string{"server",
		// Both want host ports and a load balancer address, which a node in a container has no use for.
		"--disable=traefik,servicelb",
		// The node's name must not follow the container's random host name: the node password, leases and
		// volumes with node affinity belong to it.
		"--node-name=" + NamesOf(s.Cluster).Node,
		// The address at which this machine sees the API must be in its certificate.
		"--tls-san=127.0.0.1",
		// What the boot script found out about name servers that pods can reach.
		"--resolv-conf=" + resolvPath,
		// The kubeconfig in the node carries the administrator's key.
		"--write-kubeconfig-mode=600",
	}
	if s.CgroupV1 {
		// The kubelet refuses cgroup v1 since Kubernetes 1.35 unless it is told not to.
		args = append(args, "--kubelet-arg=fail-cgroupv1=false")
	}
	return append(args, s.Args...)
}

// devices writes down which devices a node gets, for comparing.
func (s Spec) devices() string { return describeDevices(s.Devices, s.Requests) }

func describeDevices(devices []engine.Device, requests []engine.DeviceRequest) string {
	var parts []string
	for _, r := range requests {
		d := r.Driver
		if d == "" {
			d = "engine"
		}
		switch {
		case len(r.IDs) > 0:
			d += " " + strings.Join(r.IDs, "+")
		case r.Count < 0:
			d += " all"
		default:
			d += " " + strconv.Itoa(r.Count)
		}
		parts = append(parts, d)
	}
	for _, d := range devices {
		parts = append(parts, d.Path)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
