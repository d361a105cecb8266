package facts

import (
	"context"
	"io/fs"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
)

// hypervisors are what firmware of virtual machines calls its maker or product, as systemd-detect-virt reads it. The
// first that fits counts.
var hypervisors = []struct{ text, name string }{
	{"amazon ec2", "amazon"}, {"google compute engine", "google"}, {"kvm", "kvm"}, {"openstack", "kvm"}, {"kubevirt", "kvm"}, {"vserver", "kvm"}, {"rhev", "kvm"}, {"qemu", "qemu"},
	{"vmware", "vmware"}, {"vmw", "vmware"}, {"innotek", "oracle"}, {"virtualbox", "oracle"}, {"xen", "xen"}, {"bochs", "bochs"},
	{"parallels", "parallels"}, {"bhyve", "bhyve"}, {"apple virtualization", "apple"}, {"virtual machine", "microsoft"},
}

// hypervisor names the hypervisor by what the firmware says; "" on a real machine. Clouds sell real machines too,
// whose firmware names the cloud (their product ends in .metal): flag is whether the processor says that it is
// virtual, and believed there.
func hypervisor(vendor, product string, flag bool) string {
	text := strings.ToLower(vendor + " " + product)
	for _, h := range hypervisors {
		if strings.Contains(text, h.text) {
			switch {
			case h.name == "amazon" && (strings.HasSuffix(text, ".metal") || !flag):
				return ""
			case h.name == "microsoft" && !strings.Contains(text, "microsoft"):
				continue
			case h.name == "qemu" && flag:
				return "kvm" // emulation without KVM has the flag too, but nobody's machine runs on that
			}
			return h.name
		}
	}
	if flag {
		return "vm-other"
	}
	return ""
}

// linuxVirtual names the hypervisor under a Linux system.
func (o Observer) linuxVirtual(context.Context) (string, error) {
	if _, err := o.wslVersion(); !rooted.Missing(err) {
		if err == nil {
			err = fs.ErrNotExist // its machine is the Windows machine
		}
		return "", err
	}
	if kind, err := o.line("/sys/hypervisor/type"); kind != "" || err != nil {
		return kind, err
	}
	vendor, err := o.line("/sys/class/dmi/id/sys_vendor")
	if err != nil {
		return "", err
	}
	product, err := o.line("/sys/class/dmi/id/product_name")
	if err != nil {
		return "", err
	}
	tree, err := o.line("/proc/device-tree/hypervisor/compatible") // machines without such firmware, arm64
	if err != nil {
		return "", err
	}
	cpu, err := o.root().ReadFile("/proc/cpuinfo", small)
	if rooted.Missing(err) {
		err = o.has("/proc/cpuinfo") // every system has it
	}
	if err != nil {
		return "", err
	}
	if name := hypervisor(vendor+" "+tree, product, virtualCPU(cpu)); name != "" {
		return name, nil
	}
	return "", fs.ErrNotExist
}

// virtualCPU reports whether a processor has the flag of virtual ones.
func virtualCPU(cpuinfo []byte) bool {
	for l := range strings.Lines(string(cpuinfo)) {
		if name, flags, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "flags" {
			return strings.Contains(" "+strings.TrimSpace(flags)+" ", " hypervisor ")
		}
	}
	return false
}
