package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// hardware is what a machine has instead of this one's GPUs.
type hardware struct {
	cards   []card
	nodes   []string          // device nodes below /dev
	modules map[string]string // loaded kernel modules and their versions
}

// card is a PCI device.
type card struct{ address, vendor, device, class, driver string }

// on is the program on a machine with other hardware. It runs in a mount namespace of its own, in which the PCI bus, the
// kernel modules and /dev are what hw says: the GPU is the one thing that the lab cannot have.
func (w *world) on(hw hardware, args ...string) *exec.Cmd {
	var sh strings.Builder
	sh.WriteString("set -e\nmount -t tmpfs tmpfs /sys/bus/pci/devices\nmount -t tmpfs tmpfs /sys/bus/pci/drivers\n")
	for _, c := range hw.cards {
		dir := "/sys/bus/pci/devices/" + c.address
		fmt.Fprintf(&sh, "mkdir %s\n", dir)
		for name, value := range map[string]string{"vendor": c.vendor, "device": c.device, "class": c.class} {
			fmt.Fprintf(&sh, "echo %s > %s/%s\n", value, dir, name)
		}
		if c.driver != "" {
			fmt.Fprintf(&sh, "mkdir -p /sys/bus/pci/drivers/%[1]s; ln -s /sys/bus/pci/drivers/%[1]s %[2]s/driver\n", c.driver, dir)
		}
	}
	sh.WriteString("mount -t tmpfs tmpfs /sys/module\n")
	for name, version := range hw.modules {
		fmt.Fprintf(&sh, "mkdir /sys/module/%[1]s; echo %[2]s > /sys/module/%[1]s/version\n", name, version)
	}
	sh.WriteString("real=$(mktemp -d); mount --rbind /dev $real; mount -t tmpfs -o mode=755 tmpfs /dev\n" +
		"for n in null zero full random urandom tty; do touch /dev/$n; mount --bind $real/$n /dev/$n; done; ln -s /proc/self/fd /dev/fd\n")
	for i, path := range hw.nodes {
		fmt.Fprintf(&sh, "mkdir -p $(dirname %[1]s); mknod %[1]s c 250 %[2]d; chmod 666 %[1]s\n", path, i)
	}
	sh.WriteString(`exec "$@"`)
	c := exec.CommandContext(w.ctx(), "unshare", append([]string{"-m", "sh", "-c", sh.String(), "sh", binary(w.t)}, args...)...)
	c.Env, c.Dir, c.Stderr = w.env, w.home, os.Stderr
	return c
}

// planOn plans on a machine with other hardware, and returns what was said.
func (w *world) planOn(hw hardware, args ...string) string {
	w.t.Helper()
	out, err := w.on(hw, append([]string{"plan"}, args...)...).Output()
	w.t.Logf("rigup plan %s -> %v\n%s", strings.Join(args, " "), err, indent(string(out)))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out)
}
