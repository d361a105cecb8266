package cluster

import (
	"fmt"
	"net/netip"
	"strconv"

	"rigup.dev/rigup/core/reason"
)

// port is the first port of the range that can really be bound on loopback and is not in skip.
func (m *Manager) port(r PortRange, skip map[uint16]bool) (uint16, error) {
	var last error
	for p := int(r.First); p <= int(r.Last); p++ {
		if skip[uint16(p)] {
			continue
		}
		if last = m.Host.Listen("127.0.0.1:" + strconv.Itoa(p)); last == nil {
			return uint16(p), nil
		}
	}
	return 0, reason.Fail(reason.New(reason.MachinePorts, "range", r.String()), last)
}

// candidates are the subnets that are tried, first those that office networks, VPNs, clouds and engines use least.
func candidates() []netip.Prefix {
	var all []netip.Prefix
	for _, b := range [][2]byte{{172, 30}, {192, 168}, {10, 213}, {172, 29}} {
		for third := 250; third > 234; third-- {
			all = append(all, netip.PrefixFrom(netip.AddrFrom4([4]byte{b[0], b[1], byte(third), 0}), 24))
		}
	}
	return all
}

// taken lists the networks that the cluster's own must not overlap.
func (m *Manager) taken(st State) ([]netip.Prefix, error) {
	all := []netip.Prefix{netip.MustParsePrefix(podNet), netip.MustParsePrefix(serviceNet)}
	for _, n := range st.networks {
		if n.ID != st.Network.ID || st.Network.ID == "" {
			all = append(all, n.Subnets...)
		}
	}
	host, err := m.Host.Networks()
	for _, p := range host {
		// A default route covers everything and says nothing.
		if p.Bits() > 0 {
			all = append(all, p)
		}
	}
	return all, err
}

// subnet chooses a subnet that overlaps nothing and is not in skip. An explicit one is used or refused.
func (m *Manager) subnet(st State, asked netip.Prefix, skip map[netip.Prefix]bool) (netip.Prefix, error) {
	// What could not be read about this machine's routes does not stop the choice: the engine refuses what
	// overlaps on its side.
	used, _ := m.taken(st)
	if asked.IsValid() {
		if o := overlap(asked, used); o.IsValid() {
			return netip.Prefix{}, badSubnet(asked, "choose one that does not overlap "+o.String()+", which is in use")
		}
		return asked.Masked(), nil
	}
	for _, c := range candidates() {
		if !skip[c] && !overlap(c, used).IsValid() {
			return c, nil
		}
	}
	return netip.Prefix{}, reason.Fail(reason.New(reason.ClusterNoSubnet), nil)
}

func overlap(p netip.Prefix, all []netip.Prefix) netip.Prefix {
	for _, o := range all {
		if p.Overlaps(o) {
			return o
		}
	}
	return netip.Prefix{}
}

func badSubnet(p any, allowed string) error {
	return reason.Fail(reason.New(reason.UsageValue, "flag", "--subnet", "value", fmt.Sprint(p), "allowed", allowed), nil)
}
