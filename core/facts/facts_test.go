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

	"rigup.dev/rigup/hooks/sdk"
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
	m := tree(t, map[string]string{"x": ""}).Machine(t.Context())
	for name, got := range map[string]string{
		"pci": fmt.Sprint(m.PCI.Status, " ", m.PCI.Why), "devices": fmt.Sprint(m.Devices.Status, " ", m.Devices.Why),
		"modules": fmt.Sprint(m.Modules.Status, " ", m.Modules.Why), "libraries": fmt.Sprint(m.Libraries.Status, " ", m.Libraries.Why),
		"virtual": fmt.Sprint(m.Virtual.Status, " ", m.Virtual.Why), "gpus": fmt.Sprint(m.GPUs.Status, " ", m.GPUs.Why),
	} {
		if !strings.HasPrefix(got, "unknown /") || !strings.HasSuffix(got, " cannot be seen here") {
			t.Errorf("%s: %s", name, got)
		}
	}
	m = tree(t, bare).Machine(t.Context())
	if m.PCI.Status != Absent || m.Virtual.Status != Absent || m.WSL.Status != Absent || !m.Devices.Known() || !m.Modules.Known() || !m.Libraries.Known() || !m.Tools.Known() {
		t.Errorf("%+v", m)
	}
}

func TestGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":                {with(device("0000:00:1f.2", "0x010601", "0x8086", "0x1")), ""},
		"no bus at all":       {with(), ""},
		"virtual adapter":     {with(device("0000:00:02.0", "0x030000", "0x1234", "0x1111")), ""},
		"nvidia server":       {with(device("0000:81:00.0", "0x030200", "0x10de", "0x2330")), "NVIDIA"},
		"hybrid laptop":       {with(device("0000:00:02.0", "0x030000", "0x8086", "0x1"), device("0000:01:00.0", "0x030000", "0x10de", "0x2")), "Intel NVIDIA"},
		"wsl":                 {with(map[string]string{"dev/dxg": ""}), "WSL"},
		"audio is no gpu":     {with(device("0000:01:00.1", "0x040300", "0x10de", "0x22ba")), ""},
		"amd behind virtual":  {with(device("0000:00:01.0", "0x030000", "0x1a03", "0x2000"), device("0000:41:00.0", "0x038000", "0x1002", "0x740f")), "AMD"},
		"amd without screen":  {with(device("0000:41:00.0", "0x120000", "0x1002", "0x74a1")), "AMD"},
		"an npu is no gpu":    {with(device("0000:00:0b.0", "0x120000", "0x8086", "0x7d1d")), ""},
		"an empty descriptor": {with(map[string]string{"sys/bus/pci/devices/0000:00:09.0/uevent": ""}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := tree(t, c.files).Machine(t.Context())
			if !m.GPUs.Known() {
				t.Fatal(m.GPUs)
			}
			var got []string
			for _, g := range m.GPUs.Value {
				got = append(got, g.Vendor)
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
			if want := (sdk.Distro{ID: "test", Version: "1", Name: "Test OS 1", Like: "debian other"}); m.Distro.Value != want || m.Watches.Value != 65536 {
				t.Error(m.Distro, m.Watches)
			}
		})
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
