package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// short is the limit of commands that only talk to the kernel.
const short = 20 * time.Second

// network is an engine's network: a namespace joined to the machine by one
// pair of virtual interfaces.
type network struct {
	ns        string // namespace
	veth      string // the machine's end; the other is eth0 in the namespace
	host, eng string // addresses
	subnet    string
}

// engineNetwork derives everything from the state's folder and the engine's
// number, so that nothing has to be remembered between runs. Names and
// addresses belong to the machine: labs with other state folders get others.
func engineNetwork(state, engine string) network {
	id, third, base := "", engine, 0
	if state != defaultState {
		h := fnv.New32a()
		h.Write([]byte(state))
		id = fmt.Sprintf("%04x", h.Sum32()&0xffff)
		// Away from the default's, which are the engines' own numbers.
		third = strconv.Itoa(100 + int(h.Sum32()>>16)%150)
		for i, n := range engineNames {
			if n == engine {
				base = 4 * i
			}
		}
	}
	addr := func(n int) string { return fmt.Sprintf("10.199.%s.%d", third, base+n) }
	n := network{ns: "rigup-lab-" + engine, veth: "rlab" + id + engine, host: addr(1), eng: addr(2), subnet: addr(0) + "/30"}
	if id != "" {
		n.ns = "rigup-lab-" + id + "-" + engine
	}
	return n
}

func (n network) path() string { return "/run/netns/" + n.ns }

// up makes what is missing. Namespaces do not outlive a boot, rules may have
// been flushed by others: each part is looked at by itself.
func (n network) up(ctx context.Context) error {
	if run(ctx, short, "nsenter", "--net="+n.path(), "true") != nil {
		// A file without a namespace behind it is left by an unclean end.
		run(ctx, short, "ip", "netns", "del", n.ns)
		if err := run(ctx, short, "ip", "netns", "add", n.ns); err != nil {
			return err
		}
	}
	if run(ctx, short, "ip", "-n", n.ns, "link", "show", "eth0") != nil {
		run(ctx, short, "ip", "link", "del", n.veth)
		if err := run(ctx, short, "ip", "link", "add", n.veth, "type", "veth", "peer", "name", "eth0", "netns", n.ns); err != nil {
			return err
		}
	}
	for _, c := range []string{
		"link set " + n.veth + " up", "addr replace " + n.host + "/30 dev " + n.veth,
		"-n " + n.ns + " link set lo up", "-n " + n.ns + " link set eth0 up",
		"-n " + n.ns + " addr replace " + n.eng + "/30 dev eth0", "-n " + n.ns + " route replace default via " + n.host,
	} {
		if err := run(ctx, short, "ip", strings.Fields(c)...); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil {
		return err
	}
	for _, r := range n.rules() {
		if iptables(ctx, "-C", r) == nil {
			continue
		}
		// First in its chain: another engine on the machine may drop forwarded packets.
		if err := iptables(ctx, "-I", r); err != nil {
			return err
		}
	}
	return nil
}

// rules let the namespace reach what the machine reaches.
func (n network) rules() []string {
	return []string{
		"-t nat %s POSTROUTING -s " + n.subnet + " ! -o " + n.veth + " -j MASQUERADE",
		"%s FORWARD -i " + n.veth + " -j ACCEPT",
		"%s FORWARD -o " + n.veth + " -j ACCEPT",
	}
}

func iptables(ctx context.Context, verb, rule string) error {
	return run(ctx, short, "iptables", append([]string{"-w", "10"}, strings.Fields(fmt.Sprintf(rule, verb))...)...)
}

// down removes all of it, however often up was interrupted or repeated.
func (n network) down(ctx context.Context) {
	for _, r := range n.rules() {
		for range 8 {
			if iptables(ctx, "-D", r) != nil {
				break
			}
		}
	}
	run(ctx, short, "ip", "link", "del", n.veth)
	run(ctx, short, "ip", "netns", "del", n.ns)
}

// iptablesPath makes a folder whose iptables works inside the namespace, or
// returns "" if the machine's does. Some kernels have only one of the two
// kinds, and dockerd takes what PATH gives it.
func (n network) iptablesPath(ctx context.Context, dir string) (string, error) {
	works := func(bin string) error {
		return run(ctx, short, "nsenter", "--net="+n.path(), bin, "-w", "10", "-t", "nat", "-S")
	}
	first := works("iptables")
	if first == nil {
		return "", nil
	}
	for _, kind := range []string{"nft", "legacy"} {
		multi, err := exec.LookPath("xtables-" + kind + "-multi")
		if err != nil || works("iptables-"+kind) != nil {
			continue
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		for _, name := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
			link := filepath.Join(dir, name)
			os.Remove(link)
			if err := os.Symlink(multi, link); err != nil {
				return "", err
			}
		}
		return dir, nil
	}
	return "", fmt.Errorf("neither kind of iptables works in a network namespace: %w", first)
}
