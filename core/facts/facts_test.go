package facts

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

// tree writes files below a new root: "->target" is a link, a name with "!" behind it a program.
func tree(t *testing.T, files map[string]string) Observer {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the tree is one of Linux")
	}
	root := t.TempDir()
	for name, content := range files {
		name, program := strings.CutSuffix(name, "!")
		p := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		target, link := strings.CutPrefix(content, "->")
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, p)
		case program:
			err = os.WriteFile(p, []byte("#!/bin/sh\n"+content+"\n"), 0o755)
		default:
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err == nil && !link && !program {
			err = os.Chmod(p, 0o644) // whatever the umask
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Observer{Root: root, Limit: 10 * time.Second, PlainNodes: true}
}

// bare is what every Linux system has.
var bare = map[string]string{
	"etc/os-release":                       "->../usr/lib/os-release",
	"usr/lib/os-release":                   "NAME=\"Test OS\"\nVERSION_ID=\"1\"\nID=test\nID_LIKE=\"debian other\"\nPRETTY_NAME=\"Test OS 1\"\n",
	"proc/sys/kernel/osrelease":            "6.8.0-40-generic\n",
	"proc/sys/fs/inotify/max_user_watches": "65536\n",
	"proc/cpuinfo":                         "processor\t: 0\nflags\t\t: fpu vme\n",
	"sys/bus/.keep":                        "",
	"sys/module/.keep":                     "",
	"dev/null":                             "",
}

// with is a system with more files.
func with(more ...map[string]string) map[string]string {
	all := maps.Clone(bare)
	for _, m := range more {
		maps.Copy(all, m)
	}
	return all
}

// device is a PCI device; more are further files of its directory.
func device(addr, class, vendor, id string, more ...string) map[string]string {
	d := "sys/bus/pci/devices/" + addr + "/"
	m := map[string]string{d + "class": class + "\n", d + "vendor": vendor + "\n", d + "device": id + "\n"}
	for i := 0; i < len(more); i += 2 {
		m[d+more[i]] = more[i+1]
	}
	return m
}

func TestG6_FourAnswersStayApart(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Status
		why  string
	}{
		{nil, Known, ""},
		{fmt.Errorf("read: %w", fs.ErrNotExist), Absent, ""},
		{fmt.Errorf("read: %w", fs.ErrPermission), Unknown, "permission denied"},
		{context.DeadlineExceeded, Unknown, "timed out"},
		{errors.New("input/output error"), Unknown, "input/output error"},
		{&fs.PathError{Op: "open", Path: "/home/ada/x", Err: errors.New("input/output error")}, Unknown, "input/output error"},
	} {
		if f := From(7, c.err); f.Status != c.want || f.Why != c.why {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
	for want, f := range map[string]Fact[int]{"7": Of(7), "absent": None[int](), "unknown": Not[int](""), "unknown (timed out)": Not[int](Late)} {
		if got := String(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestE1_AFactThatHangsIsUnknown(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	f := Within(context.Background(), time.Millisecond, func(context.Context) (int, error) { <-block; return 1, nil })
	if f.Status != Unknown || f.Why != "timed out" {
		t.Errorf("%+v", f)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f = Within(ctx, time.Minute, func(context.Context) (int, error) { <-block; return 1, nil })
	if f.Status != Unknown || f.Why != "interrupted" {
		t.Errorf("%+v", f)
	}
}

// Where the kernel's file systems are not mounted nothing is absent.
func TestG6_WhatCannotBeSeenIsUnknown(t *testing.T) {
	m := tree(t, map[string]string{"x": ""}).Machine(t.Context(), nil)
	for name, got := range map[string]string{
		"pci": fmt.Sprint(m.PCI.Status, " ", m.PCI.Why), "devices": fmt.Sprint(m.Devices.Status, " ", m.Devices.Why),
		"modules": fmt.Sprint(m.Modules.Status, " ", m.Modules.Why), "libraries": fmt.Sprint(m.Libraries.Status, " ", m.Libraries.Why),
		"virtual": fmt.Sprint(m.Virtual.Status, " ", m.Virtual.Why),
	} {
		if !strings.HasPrefix(got, "unknown /") || !strings.HasSuffix(got, " cannot be seen here") {
			t.Errorf("%s: %s", name, got)
		}
	}
	m = tree(t, bare).Machine(t.Context(), nil)
	if m.PCI.Status != Absent || m.Virtual.Status != Absent || m.WSL.Status != Absent || !m.Devices.Known() || !m.Modules.Known() || !m.Libraries.Known() || !m.Tools.Known() {
		t.Errorf("%+v", m)
	}
}

// A device that vanishes while it is read is no reason to know nothing of the others.
func TestADeviceThatIsUnplugged(t *testing.T) {
	m := tree(t, with(device("0000:81:00.0", "0x030200", "0x10de", "0x2330"), map[string]string{"sys/bus/pci/devices/0000:00:09.0/uevent": ""})).Machine(t.Context(), nil)
	if !m.PCI.Known() || len(m.PCI.Value) != 1 || m.PCI.Value[0].Address != "0000:81:00.0" {
		t.Errorf("%+v", m.PCI)
	}
	if m.Distro.Value.Name != "Test OS 1" || m.Watches.Value != 65536 {
		t.Error(m.Distro, m.Watches)
	}
}

func TestMountType(t *testing.T) {
	info := []byte(`22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /home rw - nfs4 srv:/home rw
31 30 0:26 / /home/ada/local rw - xfs /dev/sdb rw
32 22 0:27 / /mnt/with\040blank rw - fuse.sshfs me@srv:/ rw
33 22 0:28 / /over rw - tmpfs tmpfs rw
34 33 0:29 / /over rw - cifs //srv/x rw
`)
	for path, want := range map[string]string{
		"/": "ext4", "/etc": "ext4", "/home": "nfs4", "/home/ada": "nfs4", "/home/ada/local/data": "xfs",
		"/homework": "ext4", "/mnt/with blank/d": "fuse.sshfs", "/over/x": "cifs",
	} {
		got, err := mountType(info, path)
		if err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	if !Network("nfs4") || !Network("fuse.sshfs") || Network("ext4") || Network("fuseblk") {
		t.Error("network file systems")
	}
}
