package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"

	"rigup.dev/rigup/core/engine"
)

const apiPort = 6443 // k3s's, in the node

// modulesPath is where the kubelet, kube-proxy and the CNI plugins find kernel modules to load. It is bound
// only where the engine's machine has it.
const modulesPath = "/lib/modules"

// boot starts k3s. k3s must be process 1 of the node, so there is no other init in front of it
// (NoInit, and exec below): only as process 1 does it move itself out of the root cgroup, which on
// cgroup v2 has to be empty before controllers can be enabled for pods, and reap the containers' shims
// (in k3s's sources EvacuateCgroup2 and forkIfLoggingOrReaping in pkg/cli/cmds ask for process id 1).
//
// Drop-ins are named as under k3d, so that a node image works in both. One that fails never keeps the node
// from booting (invariant N5).
//
// On a network of its own the node asks the engine's name server at 127.0.0.11, which pods cannot reach: there
// it is the pod itself. k3s would give them a public server instead, which many networks block and which knows
// no names of the company's. So the name server is offered at the node's address, where pods reach it. The
// engine chooses its port anew at every start, and the node's address too. If any of this cannot be done, k3s
// gets the node's own file and decides by itself.
const boot = `[ -s ` + proxyPath + ` ] && . ` + proxyPath + `
offer_dns() {
  grep -q '^nameserver 127\.0\.0\.11$' /etc/resolv.conf || return 0
  ip=$(hostname -i | cut -d ' ' -f 1)
  for p in udp tcp; do
    port=$(iptables-save -t nat | sed -n "s/^-A DOCKER_OUTPUT .*-p $p .*--to-destination 127\.0\.0\.11:\([0-9]*\).*/\1/p" | head -n 1)
    [ -n "$ip" ] && [ -n "$port" ] || return 1
    iptables -t nat -A PREROUTING -d "$ip" -p $p --dport 53 -j DNAT --to-destination "127.0.0.11:$port" || return 1
  done
  echo 1 > /proc/sys/net/ipv4/conf/all/route_localnet || return 1
  sed "s/127\.0\.0\.11/$ip/" /etc/resolv.conf > ` + resolvPath + `
}
cp /etc/resolv.conf ` + resolvPath + `
offer_dns || echo "rigup: the engine's name server cannot be offered to pods" >&2
for f in /bin/k3d-entrypoint-*.sh; do
  [ -f "$f" ] || continue
  /bin/sh "$f" || echo "rigup: $f ended with $?; the node starts without what it does" >&2
done
exec /bin/k3s "$@"`

// resolvPath is what pods are told about name servers. It is written at every start.
const resolvPath = "/etc/rigup/resolv.conf"

// container is the node as the engine is to make it.
func (s Spec) container(set Settings, network string, withModules bool) engine.ContainerSpec {
	c := layout(NamesOf(s.Cluster), network)
	c.Image, c.Cmd = set.Image, set.Args
	c.Devices, c.Requests, c.Groups = s.Devices, s.Requests, s.Groups
	// Whoever reaches the API can become root on this machine, so it listens on loopback alone (C3).
	c.Ports = []engine.Port{{Host: netip.AddrFrom4([4]byte{127, 0, 0, 1}), Published: set.Port, Container: apiPort}}
	if set.DataDir != "" {
		c.Mounts = append(c.Mounts, engine.Mount{Bind: set.DataDir, Target: DataPath})
	}
	if withModules {
		c.Mounts = append(c.Mounts, engine.Mount{Bind: modulesPath, Target: modulesPath, ReadOnly: true})
	}
	c.Labels = labels(s.Cluster, RoleServer)
	c.Labels[LabelSpec] = layoutHash()
	c.Labels[LabelData] = set.DataDir
	return c
}

// layout is what all nodes have in common. The network is named by its id: names need not be unique.
func layout(n Names, network string) engine.ContainerSpec {
	return engine.ContainerSpec{
		Name: n.Node,
		// The kubelet takes its name from --node-name; the same host name keeps logs and prompts readable.
		Hostname:   n.Node,
		Entrypoint: []string{"/bin/sh", "-c", boot, "k3s"},
		// The kubelet mounts, containerd makes namespaces and cgroups, kube-proxy writes iptables rules.
		Privileged: true,
		// See boot.
		NoInit: true,
		// The node's pods must not share /sys/fs/cgroup/kubepods with another kubelet of the machine: each
		// would kill the other's pods.
		PrivateCgroup: true,
		// Process ids, sockets and locks of an earlier boot must not be found again.
		Tmpfs: map[string]string{"/run": "", "/var/run": ""},
		Mounts: []engine.Mount{
			// The cluster's database and its images. A volume, because overlayfs does not stack on overlayfs.
			{Volume: n.State, Target: "/var/lib/rancher/k3s"},
			// Volumes of pods, which have to be on the file system that the kubelet measures.
			{Volume: n.Kubelet, Target: "/var/lib/kubelet"},
			// The node's password. Without it a new node with an old database is refused (invariant C4).
			{Volume: n.Identity, Target: "/etc/rancher/node"},
		},
		// A network of its own, so that the subnet is known (NO_PROXY) and overlaps nothing. The address in it
		// is the engine's to give and is not stored: it changes when the machine restarts.
		Network: network,
		// Back after a restart of the machine, but not after the user stopped it.
		Restart: "unless-stopped",
	}
}

// layoutHash changes when another version of rigup sets nodes up in another way than by the settings that
// are compared one by one.
func layoutHash() string {
	l := layout(NamesOf(""), "")
	var mounts [][2]string
	for _, m := range l.Mounts {
		mounts = append(mounts, [2]string{m.Volume, m.Target})
	}
	b, err := json.Marshal([]any{l.Entrypoint, l.Privileged, l.NoInit, l.PrivateCgroup, l.Tmpfs, mounts, l.Restart})
	if err != nil {
		panic(err) // plain fields always marshal
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])[:16]
}

// settingsOf reads from a container what was fixed when it was created.
func settingsOf(c engine.Container, n engine.Network, attached bool) Settings {
	s := Settings{Image: c.Image, Args: c.Cmd, Devices: describeDevices(c.Devices, c.Requests), Layout: c.Labels[LabelSpec]}
	for _, p := range c.Ports {
		if p.Container == apiPort {
			s.Port = p.Published
		}
	}
	if dir, ok := c.Labels[LabelData]; ok {
		s.DataDir = dir
	} else if i := slices.IndexFunc(c.Mounts, func(m engine.Mount) bool { return m.Target == DataPath }); i >= 0 {
		s.DataDir = c.Mounts[i].Bind
	}
	if attached && len(n.Subnets) > 0 {
		s.Subnet = n.Subnets[0]
	}
	return s
}
