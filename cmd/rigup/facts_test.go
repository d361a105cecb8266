package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/pipeline"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

func (s *scripted) Facts(context.Context) (sdk.Machine, error) { return s.machine, s.err }

func TestFacts(t *testing.T) {
	m := newMachine(t)
	m.fake.machine = sdk.Machine{API: sdk.MachineAPI, Title: "a <test> machine", Facts: sdk.Facts{Host: sdk.Host{OS: "linux", Arch: "amd64"}}}
	if got := m.do(t, 0, "facts"); !strings.HasPrefix(got, "a <test> machine\n") || !strings.Contains(got, "linux/amd64") {
		t.Error(got)
	}
	doc := m.do(t, 0, "facts", "--output", "json")
	got, err := sdk.DecodeMachine([]byte(doc))
	if err != nil || !reflect.DeepEqual(got, m.fake.machine) || !strings.Contains(doc, "a <test> machine") {
		t.Errorf("%+v %v\n%s", got, err, doc)
	}
	m.fake.err = errors.New("no")
	m.do(t, 1, "facts")
}

// engineOf is a fake engine behind an endpoint.
type engineOf struct {
	*enginefake.Engine
	at engine.Endpoint
}

func (e engineOf) Endpoint() engine.Endpoint { return e.at }
func (e engineOf) Close() error              { return nil }

// observed is a runner on a machine of files that belongs to Ada Lovelace.
func observed(t *testing.T, open func() (pipeline.Engine, error)) real {
	t.Helper()
	root := t.TempDir()
	for name, content := range map[string]string{
		"etc/os-release": "PRETTY_NAME=\"Test OS 1\"\nID=test\n", "proc/sys/kernel/osrelease": "6.8.0-lovelace\n", "proc/cpuinfo": "flags : fpu\n", "sys/module/x/y": "", "dev/acme0": "",
		"sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n", "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n", "sys/bus/pci/devices/0000:01:00.0/device": "0x28a1\n",
		"sys/class/dmi/id/product_serial": "SERIAL-1\n", "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t Test GPU\nGPU UUID: \t GPU-e3f822b9-8c5f-95a5-b379-8dfdeefd7758\n",
		"home/lovelace/bin/nvidia-ctk": "#!/bin/sh\necho 'lovelace may not read /home/lovelace/x on wolkenkuckuck: token=s3cr3t'\nexit 1\n",
	} {
		p := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	return real{cfg: config.Config{}, deps: pipeline.Deps{
		Version: "0.1.0",
		Facts: facts.Observer{Root: root, Limit: 10 * time.Second, PlainNodes: true,
			Env:     func(n string) string { return map[string]string{"PATH": "/home/lovelace/bin"}[n] },
			Private: facts.Private{Home: "/home/lovelace", Names: []string{"lovelace", "wolkenkuckuck"}}},
		Hooks: func() ([]decision.Hook, []reason.Reason, error) {
			return []decision.Hook{{Manifest: sdk.Manifest{ID: "acme", Match: sdk.Match{Devices: []string{"/dev/acme*"}}}}}, nil, nil
		},
		Engine: func(context.Context, string) (pipeline.Engine, error) { return open() },
	}}
}

// What goes into a ticket names nobody, with an engine and without one.
func TestE2_FactsForATicketNameNobody(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("skipped: the machine of the test is one of Linux")
	}
	fake := enginefake.New()
	fake.About = engine.Info{Name: "wolkenkuckuck", ServerVersion: "28.5.1", API: "1.51", OS: "linux", Arch: "amd64", Distro: "Test OS on wolkenkuckuck", CgroupVersion: "2",
		HTTPProxy: "http://lovelace:s3cr3t@proxy.corp.example:3128", NoProxy: "corp.example", Mirrors: []string{"https://mirror.corp.example"}, RootDir: "/home/lovelace/docker"}
	for name, c := range map[string]struct {
		open func() (pipeline.Engine, error)
		kept string
	}{
		"with an engine": {func() (pipeline.Engine, error) {
			return engineOf{fake, engine.Endpoint{Host: "unix:///home/lovelace/.docker/run/docker.sock", Source: "context lovelace"}}, nil
		}, `"endpoint": "unix://~/.docker/run/docker.sock"`},
		"of another machine": {func() (pipeline.Engine, error) {
			return nil, reason.Fail(reason.New(reason.EngineRemote, "endpoint", "ssh://lovelace@gpu.corp.example"), nil)
		}, `The Docker engine at ssh://[host] is on another machine`},
		"denied": {func() (pipeline.Engine, error) {
			return nil, reason.Fail(reason.New(reason.EngineDenied, "endpoint", "unix:///home/lovelace/docker.sock"), nil)
		}, `This user may not talk to the Docker engine at unix://~/docker.sock.`},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := observed(t, c.open).Facts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetIndent("", "  ")
			if err := enc.Encode(m); err != nil {
				t.Fatal(err)
			}
			doc := b.String()
			if !strings.Contains(doc, c.kept) || !strings.Contains(doc, `"/dev/acme0"`) || !strings.Contains(doc, `"model": "Test GPU"`) || !strings.Contains(m.Title, "Test OS 1, Test GPU") {
				t.Errorf("%s", doc)
			}
			for _, secret := range []string{"lovelace", "wolkenkuckuck", "corp.example", "s3cr3t", "SERIAL", "e3f822b9"} {
				if strings.Contains(strings.ToLower(doc), strings.ToLower(secret)) {
					t.Errorf("%s is in the document:\n%s", secret, doc)
				}
			}
			if _, err := sdk.DecodeMachine(b.Bytes()); err != nil {
				t.Error(err)
			}
		})
	}
}
