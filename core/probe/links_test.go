//go:build unix

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"rigup.dev/rigup/hooks/sdk"
)

// H4: an attachment leads nowhere but to what it names.
func TestH4_AnAttachmentIsHeldAgainstWhereItsLinksLead(t *testing.T) {
	m, p := newMachine()
	dir := t.TempDir()
	p.Machine.Root = dir
	for name, to := range map[string]string{
		"dev/acme0": "", "dev/dm-0": "", "dev/ubuntu-vg/ubuntu-lv": "../dm-0", "dev/dri/by-path/render": "../renderD128", "dev/dri/renderD128": "",
		"etc/ssl/private/key": "", "usr/lib/ssl/private": "/etc/ssl/private", "usr/lib/acme/lib": "", "usr/lib/libacme.so": "/usr/lib/acme/lib",
		"var/opt/acme/lib": "", "opt": "var/opt", "root/secret": "", "usr/lib/up": "../../root", "dev/disguised": "/etc/ssl/private/key",
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && to != "" {
			err = os.Symlink(to, path)
		} else if err == nil {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	run := func(nodes, binds []string) sdk.ProbeResult {
		return p.Probe(t.Context(), ask(sdk.Probe{Image: imageRef, Args: []string{"true"}, Attach: &sdk.Attach{Kind: sdk.AttachDevices, Nodes: nodes, Binds: binds}}))
	}
	for _, n := range []string{"/dev/ubuntu-vg/ubuntu-lv", "/dev/disguised", "/dev/ubuntu-vg", "/dev/dri"} {
		if r := run([]string{n}, nil); r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: "+n) {
			t.Errorf("%s: %+v", n, r)
		}
	}
	for _, b := range []string{"/usr/lib/ssl/private", "/usr/lib/up", "/usr/lib/ssl/private/key"} {
		if r := run([]string{"/dev/acme0"}, []string{b}); r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: "+b) {
			t.Errorf("%s: %+v", b, r)
		}
	}
	if len(m.Nodes) != 0 {
		t.Error("a container was made")
	}
	if r := run([]string{"/dev/acme0", "/dev/dri/by-path/render", "/dev/only-in-the-vm0"}, []string{"/usr/lib/libacme.so", "/opt/acme/lib", "/usr/lib/elsewhere"}); r.Status != sdk.Known {
		t.Errorf("%+v", r)
	}
	if os.Getuid() == 0 {
		if err := unix.Mknod(filepath.Join(dir, "dev/acme1"), unix.S_IFBLK|0o600, int(unix.Mkdev(7, 200))); err != nil {
			t.Skip("skipped: no device node can be made here:", err)
		}
		if r := run([]string{"/dev/acme1"}, nil); r.Status != sdk.Unknown {
			t.Errorf("a disk: %+v", r)
		}
	}
}
