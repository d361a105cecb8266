//go:build unix

package probe

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/hooks/sdk"
)

// tree is a machine of files: "->target" is a link, "|" a pipe, a name with "!" behind it a program.
func tree(t *testing.T, files map[string]string) Prober {
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
		case content == "|":
			err = unix.Mkfifo(p, 0o644)
		case program:
			err = os.WriteFile(p, []byte("#!/bin/sh\n"+content+"\n"), 0o755)
		default:
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Prober{Machine: facts.Observer{Root: root, Limit: 10 * time.Second, PlainNodes: true,
		Private: facts.Private{Home: "/home/ada", Names: []string{"lovelace"}}}}
}

func TestEveryResultCarriesItsProbe(t *testing.T) {
	for _, k := range []sdk.ProbeKind{sdk.PCIList, sdk.DeviceStat, sdk.FileRead, sdk.EngineInfo, sdk.EngineRun, sdk.ToolVersion, sdk.RegistryReach, "own"} {
		r := Prober{}.Probe(t.Context(), sdk.Probe{ID: "mine", Kind: k, Vendor: "x"})
		if r.ID != "mine" || r.Kind != k || r.Status != sdk.Unknown || r.Why == "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestPCIList(t *testing.T) {
	d := "sys/bus/pci/devices/0000:01:00.0/"
	p := tree(t, map[string]string{d + "class": "0x040300\n", d + "vendor": "0x10de\n", d + "device": "0x22ba\n"})
	for vendor, want := range map[string]int{"": 1, "0x10de": 1, "0x1002": 0} {
		r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.PCIList, Vendor: vendor})
		if r.Status != sdk.Known || len(r.PCI) != want {
			t.Errorf("%q: %+v", vendor, r)
		}
	}
	if r := tree(t, map[string]string{"x": ""}).Probe(t.Context(), sdk.Probe{Kind: sdk.PCIList}); r.Status != sdk.Unknown {
		t.Errorf("%+v", r)
	}
	if r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.PCIList, Vendor: "nvidia"}); r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: ") {
		t.Errorf("%+v", r)
	}
}

func TestDeviceStat(t *testing.T) {
	p := tree(t, map[string]string{"dev/mtgpu.0": "", "dev/dri/by-path/gpu": "->../card0", "dev/dri/card0": "", "dev/disguised": "->/etc/shadow", "etc/shadow": "x", "dev/mtdir/x": ""})
	for path, want := range map[string]sdk.Status{
		"/dev/mtgpu.0": sdk.Known, "/dev/dri/by-path/gpu": sdk.Known, "/dev/none": sdk.Absent, "/dev/disguised": sdk.Unknown, "/dev/mtdir": sdk.Unknown,
		"/etc/shadow": sdk.Unknown, "/dev/../etc/shadow": sdk.Unknown, "/dev/sda": sdk.Unknown, "": sdk.Unknown,
	} {
		r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.DeviceStat, Path: path})
		if r.Status != want || (r.Node != nil) != (want == sdk.Known) || (r.Why == "") != (want != sdk.Unknown) {
			t.Errorf("%s: %+v", path, r)
		}
	}
	p.Machine.PlainNodes = false
	if r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.DeviceStat, Path: "/dev/mtgpu.0"}); r.Status != sdk.Unknown || r.Why != "not a character device" {
		t.Errorf("%+v", r)
	}
}

func TestFileRead(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 8192)
	p := tree(t, map[string]string{
		"sys/bus/pci/devices/0000:01:00.0": "->../../../devices/pci0000:00/0000:01:00.0", "sys/devices/pci0000:00/0000:01:00.0/numa_node": "0\n",
		"proc/driver/acme/version": "Acme 1.2\n", "opt/acme/version": "1.2 of /home/ada/acme, password=s3cr3t, for lovelace\n", "opt/acme/long": long, "opt/acme/bytes": "a\xff\x00b",
		"opt/acme/pipe": "|", "opt/acme/dir/x": "", "opt/acme/passwd": "->/etc/passwd", "opt/acme/up": "->../../../../etc/passwd", "opt/acme/self": "->/proc/self/environ", "opt/acme/gone": "->/opt/nothing",
		"opt/acme/loop": "->loop", "etc/passwd": "root:x", "etc/acme-release-version": "3\n", "proc/self/environ": "SECRET=1", "home/ada/key": "x", "opt/acme/home": "->/home/ada",
	})
	for name, c := range map[string]struct {
		path string
		max  int
		want sdk.Status
		text string // of an unknown one: why
	}{
		"a link of sysfs":            {"/sys/bus/pci/devices/0000:01:00.0/numa_node", 0, sdk.Known, "0\n"},
		"a driver's":                 {"/proc/driver/acme/version", 0, sdk.Known, "Acme 1.2\n"},
		"private details":            {"/opt/acme/version", 0, sdk.Known, "1.2 of ~/acme, password=[redacted], for [name]\n"},
		"a version in etc":           {"/etc/acme-release-version", 0, sdk.Known, "3\n"},
		"the beginning":              {"/opt/acme/long", 5, sdk.Known, "01234"},
		"4 KiB if nothing is said":   {"/opt/acme/long", 0, sdk.Known, long[:4096]},
		"64 KiB at most":             {"/opt/acme/long", 1 << 30, sdk.Known, long[:65536]},
		"bytes that are no text":     {"/opt/acme/bytes", 0, sdk.Known, "a\uFFFD\x00b"},
		"nothing":                    {"/opt/acme/none", 0, sdk.Absent, ""},
		"a link to nothing":          {"/opt/acme/gone", 0, sdk.Absent, ""},
		"below a file":               {"/opt/acme/version/x", 0, sdk.Absent, ""},
		"a pipe":                     {"/opt/acme/pipe", 0, sdk.Unknown, "not a regular file"},
		"a directory":                {"/opt/acme/dir", 0, sdk.Unknown, "not a regular file"},
		"a link out":                 {"/opt/acme/passwd", 0, sdk.Unknown, "it leads to where hooks may not read"},
		"a link up and out":          {"/opt/acme/up", 0, sdk.Unknown, "it leads to where hooks may not read"},
		"a link to a process":        {"/opt/acme/self", 0, sdk.Unknown, "it leads to where hooks may not read"},
		"a link to a home":           {"/opt/acme/home/key", 0, sdk.Unknown, "it leads to where hooks may not read"},
		"a loop":                     {"/opt/acme/loop", 0, sdk.Unknown, "follow /opt/acme/loop: too many links"},
		"another file":               {"/etc/passwd", 0, sdk.Unknown, "not allowed"},
		"a process":                  {"/proc/self/environ", 0, sdk.Unknown, "not allowed"},
		"a home":                     {"/home/ada/key", 0, sdk.Unknown, "not allowed"},
		"a detour":                   {"/opt/../etc/passwd", 0, sdk.Unknown, "not allowed"},
		"a relative path":            {"opt/acme/version", 0, sdk.Unknown, "not allowed"},
		"a negative number of bytes": {"/proc/driver/acme/version", -1, sdk.Known, "Acme 1.2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.FileRead, Path: c.path, Max: c.max})
			if got := r.Text + r.Why; r.Status != c.want || got != c.text && !(c.want == sdk.Unknown && strings.HasPrefix(got, c.text)) {
				t.Errorf("%s: %.200s", r.Status, got)
			}
		})
	}
}

func TestToolVersion(t *testing.T) {
	p := tree(t, map[string]string{
		"usr/bin/acme-smi!": `echo "acme-smi 2.1 ($1) in /home/ada"; echo more >&2; exit 3`, "opt/own/acme-own!": "echo 1", "usr/bin/hangs!": "echo begun; sleep 1000",
		"usr/bin/acme-plain": "no program", "usr/bin/reboot!": "echo rebooting",
	})
	p.Machine.Env = func(n string) string { return map[string]string{"PATH": "/opt/own"}[n] }
	ask := func(tool string, args ...string) sdk.ProbeResult {
		return p.Probe(t.Context(), sdk.Probe{Kind: sdk.ToolVersion, Tool: tool, Args: args})
	}
	if r := ask("acme-smi", "-v"); r.Status != sdk.Known || r.Exit != 3 || r.Text != "acme-smi 2.1 (-v) in ~\nmore\n" {
		t.Errorf("%+v", r)
	}
	if r := ask("acme-own", "version"); r.Status != sdk.Known || r.Text != "1\n" {
		t.Errorf("%+v", r)
	}
	for _, tool := range []string{"acme-none", "acme-plain"} {
		if r := ask(tool, "--version"); r.Status != sdk.Absent {
			t.Errorf("%+v", r)
		}
	}
	for _, x := range [][]string{{"acme-smi"}, {"acme-smi", "--help"}, {"acme-smi", "-v", "-v"}, {"../bin/acme-smi", "-v"}, {"/usr/bin/acme-smi", "-v"}, {"", "-v"}, {"-v", "-v"}, {"reboot", "version"}, {"sudo", "-v"}, {"a*", "-v"}} {
		if r := ask(x[0], x[1:]...); r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: ") {
			t.Errorf("%q: %+v", x, r)
		}
	}
}

func TestE1_AToolThatHangsIsUnknown(t *testing.T) {
	p := tree(t, map[string]string{"usr/bin/hangs!": "echo begun; sleep 1000"})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	r := p.Probe(ctx, sdk.Probe{Kind: sdk.ToolVersion, Tool: "hangs", Args: []string{"-V"}})
	if r.Status != sdk.Unknown || r.Why != "timed out" || r.Text != "begun\n" {
		t.Errorf("%+v", r)
	}
}

func TestEngineInfo(t *testing.T) {
	e := enginefake.New()
	e.About = engine.Info{Name: "ada-laptop", ServerVersion: "28.5.1", HTTPProxy: "http://ada:s3cr3t@proxy", CDIDevicesKnown: true}
	p := Prober{Engine: e, Endpoint: engine.Endpoint{Host: "unix:///var/run/docker.sock", Source: "default"}}
	r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.EngineInfo})
	if r.Status != sdk.Known || r.Engine == nil || r.Engine.Version != "28.5.1" || r.Engine.Host != "" || !r.Engine.CDIDevices.Known() || r.Engine.Endpoint != "unix:///var/run/docker.sock" {
		t.Errorf("%+v", r)
	}
	e.Fail = func(string, string) error { return engine.Failure(engine.Timeout, "ask", "too late") }
	if r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.EngineInfo}); r.Status != sdk.Unknown || r.Why != "timed out" || r.Engine != nil {
		t.Errorf("%+v", r)
	}
}
