package facts

import (
	"encoding/json"
	"strings"
	"testing"

	"rigup.dev/rigup/core/engine"
)

// Facts go into hooks and tickets: what identifies the user, the machine or the network must not be in them.
func TestE2_FactsNameNobody(t *testing.T) {
	files := with(
		device("0000:01:00.0", "0x030000", "0x10de", "0x28a1", "serial_number", "SERIAL-1\n"),
		map[string]string{
			"proc/driver/nvidia/gpus/0000:01:00.0/information": h100, "sys/class/dmi/id/product_serial": "SERIAL-2\n", "sys/class/dmi/id/product_uuid": "11111111-2222-3333-4444-555555555555\n",
			"proc/sys/kernel/osrelease": "6.8.0-wolkenkuckuck\n",
			"usr/bin/nvidia-ctk!":       "echo 'open /home/lovelace/.config: denied for lovelace on wolkenkuckuck.corp.example, uuid GPU-e3f822b9-8c5f-95a5-b379-8dfdeefd7758, password=s3cr3t'; exit 1",
			"home/lovelace/bin/clinfo!": "echo 3.0", "srv/people/lovelace/.local/bin/xpu-smi!": "echo 1.2",
			"etc/ld.so.conf.d/x.conf": "/home/lovelace/lib\n", "home/lovelace/lib/libcuda.so.1": "",
			"home/babbage/bin/rocminfo!": "echo 'Runtime Version: 1.14'",
		})
	about := dockerInfo
	about.Name, about.Distro, about.Security = "wolkenkuckuck", "Ubuntu on WOLKENKUCKUCK", []string{"name=seccomp,profile=/home/lovelace/seccomp.json"}
	about.CDIDirs, about.Runtimes, about.HTTPProxy, about.Mirrors = []string{"/home/lovelace/.config/cdi"}, []string{"lovelace-runc"}, "http://lovelace:s3cr3t@proxy.corp.example", []string{"https://mirror.corp.example"}
	o := tree(t, files)
	o.Private = Private{Home: "/srv/people/lovelace", Names: []string{"lovelace", "wolkenkuckuck.corp.example", "wolkenkuckuck"}}
	o.Env = func(n string) string {
		return map[string]string{"PATH": "/home/lovelace/bin:/home/babbage/bin:/srv/people/lovelace/.local/bin", "WSL_DISTRO_NAME": "lovelace", "HOME": "/srv/people/lovelace"}[n]
	}
	for _, at := range []engine.Endpoint{
		{Host: "unix:///home/lovelace/.docker/run/docker.sock", Source: "context lovelace-at-work"},
		{Host: "unix:///srv/people/lovelace/.colima/docker.sock", Source: "context colima"},
		{Host: "ssh://lovelace@gpu.corp.example", Source: "DOCKER_CONTEXT gpu.corp.example"},
		{Host: "tcp://lovelace:s3cr3t@gpu.corp.example:2376", Source: "DOCKER_HOST"},
		{Host: "tcp://lovelace:s3cr3t@127.0.0.1:2376", Source: "DOCKER_HOST"},
		{Host: `npipe:////./pipe/lovelace`, Source: "--engine"},
	} {
		b, err := json.Marshal(o.Machine(t.Context(), nil).Facts(about, at))
		if err != nil {
			t.Fatal(err)
		}
		doc := string(b)
		for _, secret := range []string{"lovelace", "babbage", "wolkenkuckuck", "corp.example", "s3cr3t", "SERIAL", "e3f822b9", "11111111", "mirror", "proxy", "people"} {
			if strings.Contains(strings.ToLower(doc), strings.ToLower(secret)) {
				t.Errorf("%s is in the facts: %s", secret, doc)
			}
		}
		for _, kept := range []string{`"~/bin/clinfo"`, `"~/.local/bin/xpu-smi"`, `"~/lib/libcuda.so.1"`, `"~/.config/cdi"`} {
			if !strings.Contains(doc, kept) {
				t.Errorf("%s is not in the facts: %s", kept, doc)
			}
		}
	}
	if f := o.Machine(t.Context(), nil).WithoutEngine("dial unix /home/lovelace/docker.sock: no such file"); f.Engine.CDIDevices.Why != "dial unix ~/docker.sock: no such file" {
		t.Errorf("%+v", f.Engine)
	}
	f := o.Machine(t.Context(), nil).WithoutEngine("The Docker engine at ssh://lovelace@gpu.corp.example is on another machine; see tcp://127.0.0.1:2375 and tcp://x.corp.example:2376.")
	if f.Engine.CDIDevices.Why != "The Docker engine at ssh://[host] is on another machine; see tcp://127.0.0.1:2375 and tcp://[host]:2376." {
		t.Errorf("%+v", f.Engine)
	}
}

func TestClean(t *testing.T) {
	p := Private{Home: "/data/ada", Names: []string{"ada", "box", "box.example", "nvidia", "x"}}
	for in, want := range map[string]string{
		"/data/ada/.docker":                                "~/.docker",
		"/data/adam/.docker":                               "/data/adam/.docker",
		"unix:///data/ada/s":                               "unix://~/s",
		"unix:///root/.docker/run/docker.sock":             "unix://~/.docker/run/docker.sock",
		"/rootfs /opt/root/x /root":                        "/rootfs /opt/root/x ~",
		`C:\Users\Ada\AppData, c:/users/eve/x`:             `~\AppData, ~/x`,
		"/mnt/c/Users/Eve/x /var/home/eve/y":               "~/x ~/y",
		"ada ada on box.example":                           "[name] [name] on [name]",
		"Ada Generation":                                   "[name] Generation",
		"nvidia and the box_1 of adam":                     "nvidia and the [name]_1 of adam",
		"tcp://u:pass1@h: token=abcdef":                    "tcp://u:[redacted]@h: token=[redacted]",
		"11111111-2222-3333-4444-555555555555 MIG-0123456": "[id] MIG-0123456",
	} {
		if got := p.Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEngineHosts(t *testing.T) {
	for name, want := range map[string]string{
		"docker-desktop": "docker-desktop", "colima": "colima", "colima-work": "colima-work", "lima-rancher-desktop": "lima-rancher-desktop", "orbstack": "orbstack",
		"podman-machine-default": "podman-machine-default", "ada-laptop": "", "": "",
	} {
		if got := (Private{}).Engine(engine.Info{Name: name}, engine.Endpoint{}).Host; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	e := Private{}.Engine(engine.Info{CDIDevices: []string{"x"}}, engine.Endpoint{Source: "context desktop-linux"})
	if e.CDIDevices.Status != Unknown || e.CDIDevices.Value != nil || e.Context != "desktop-linux" {
		t.Errorf("%+v", e)
	}
}
