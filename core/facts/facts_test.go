package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// tree writes files below a new root.
func tree(t *testing.T, files map[string]string) Observer {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Observer{Root: root, Limit: 5 * time.Second}
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
	} {
		if f := From(7, c.err); f.Status != c.want || f.Why != c.why {
			t.Errorf("%v: %+v", c.err, f)
		}
	}
}

func TestE1_AFactThatHangsIsUnknown(t *testing.T) {
	block := make(chan struct{})
	defer close(block)
	f := within(context.Background(), time.Millisecond, func() (int, error) { <-block; return 1, nil })
	if f.Status != Unknown || f.Why != "timed out" {
		t.Errorf("%+v", f)
	}
}

func TestGPUs(t *testing.T) {
	pci := func(addr, class, vendor string) map[string]string {
		d := "sys/bus/pci/devices/" + addr + "/"
		return map[string]string{d + "class": class + "\n", d + "vendor": vendor + "\n"}
	}
	merge := func(ms ...map[string]string) map[string]string {
		all := map[string]string{"etc/os-release": "PRETTY_NAME=\"Test OS 1\"\n"}
		for _, m := range ms {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":               {merge(pci("0000:00:1f.2", "0x010601", "0x8086")), ""},
		"no bus at all":      {merge(), ""},
		"virtual adapter":    {merge(pci("0000:00:02.0", "0x030000", "0x1234")), ""},
		"nvidia server":      {merge(pci("0000:81:00.0", "0x030200", "0x10de")), "NVIDIA"},
		"hybrid laptop":      {merge(pci("0000:00:02.0", "0x030000", "0x8086"), pci("0000:01:00.0", "0x030000", "0x10de")), "Intel NVIDIA"},
		"wsl":                {merge(map[string]string{"dev/dxg": ""}), "WSL"},
		"audio is no gpu":    {merge(pci("0000:01:00.1", "0x040300", "0x10de")), ""},
		"amd behind virtual": {merge(pci("0000:00:01.0", "0x030000", "0x1a03"), pci("0000:41:00.0", "0x038000", "0x1002")), "AMD"},
	} {
		t.Run(name, func(t *testing.T) {
			m := tree(t, c.files).Machine(context.Background())
			if !m.GPUs.Known() {
				t.Fatal(m.GPUs)
			}
			got := ""
			for i, g := range m.GPUs.Value {
				if i > 0 {
					got += " "
				}
				got += g.Vendor
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if m.Distro.Value != "Test OS 1" {
				t.Error(m.Distro)
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
