package grant

import (
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// H3: what a person approves is what stands there: nothing in it is hidden, and no two names look the same because of
// what cannot be seen.
func TestH3_NothingIsHiddenInWhatAPersonApproves(t *testing.T) {
	valid := sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: "acme", Version: "1.2.3", Title: "Acme GPUs", Publisher: "Acme", Kinds: []sdk.Kind{sdk.GPUHook}, Permissions: permitted()}
	for _, s := range []string{"Ac\u200bme", "Acme ", " Acme", "Acme\u00a0GmbH", "Acme  GmbH", "\u009b31mAcme", "\u202eemcA", "Acme\u2028rigup", "Ac\u00adme", "Acme\u3164", "\ufeffAcme", "Acme\u2800GmbH", "Acme\ue000"} {
		m := valid
		m.Publisher = s
		if err := Valid(m); err == nil {
			t.Errorf("the publisher %q is valid", s)
		}
		m = valid
		m.Permissions.Files = []string{"/opt/" + s}
		if err := Valid(m); err == nil && s != "Acme" && s != " Acme" {
			t.Errorf("the file of %q is valid", s)
		}
	}
	for _, s := range []string{"摩尔线程 (Moore Threads)", "Größe & Söhne GmbH", "Açai, Inc.", "نص"} {
		m := valid
		if m.Publisher = s; Valid(m) != nil {
			t.Errorf("%q: %v", s, Valid(m))
		}
	}
}

// H4: an image reference is one for every reader of it, and can lead nowhere else in an address.
func TestH4_ImageReferencesHaveOneMeaning(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for s, fine := range map[string]bool{
		"base": true, "cuda": true, "registry.example/acme/check:1.0": true, "registry.example:5000/acme/check:1.0" + digest: true, "acme/check:1": true,
		"registry.example/acme/*": true, "acme/tools/*": true, "registry.example/a_b/c-d.e/f__g--h:v1": true,
		"registry.example/acme/tools/../../other:1": false, "../../containers/json:1": false, "registry.example/acme/%2e%2e/x:1": false, "registry.example/acme/x#:1": false,
		"registry.example/acme/x?a:1": false, "user@registry.example/acme/x:1": false, "https://registry.example/x:1": false, "registry.example/acme/x:1\u202e": false,
		"registry.example/Acme/x:1": false, "registry.example//x:1": false, "registry.example/acme/..//*": false, "registry.example/acme/x:1/*": false, "registry.example/*": false, "*": false, "/*": false,
		"registry.example/acme/x:latest": false, "registry.example/acme/x": false, "registry.example/acme/x:": false, "-x:1": false,
	} {
		if err := image(s); (err == nil) != fine {
			t.Errorf("%s: %v", s, err)
		}
	}
	g := permitted()
	for _, s := range []string{"registry.example/acme/tools/../../evil:1", "registry.example/acme/tools/"} {
		d := decided()
		if d.Check.Image = s; GPU(d, g) == nil {
			t.Errorf("%s is allowed", s)
		}
	}
}

// H4: an image for a check runs confined, the node does not: the one permission is not the other.
func TestH4_ANodeImageOfItsOwnIsAPermissionOfItsOwn(t *testing.T) {
	d, g := decided(), permitted()
	d.Node = sdk.Node{Image: "registry.example/acme/check:1.0"}
	if err := GPU(d, g); err == nil || !strings.Contains(err.Error(), "node image of its own") {
		t.Errorf("%v", err)
	}
	g.Targets = append(g.Targets, ownImage)
	if err := GPU(d, g); err != nil {
		t.Error(err)
	}
	if said := strings.Join(Words(g), "\n"); !strings.Contains(said, "all rights on the engine's machine") {
		t.Errorf("nobody is told what that means:\n%s", said)
	}
	if d.Node.Image = "evil.example/x:1"; GPU(d, g) == nil {
		t.Error("every image may be the node")
	}
	if d.Node = (sdk.Node{Target: ownImage}); GPU(d, g) == nil {
		t.Error("a target that does not exist is allowed")
	}
}

func TestH4_WhatNoHookIsGranted(t *testing.T) {
	for what, c := range map[string]struct {
		rule  func(string) error
		never []string
		fine  []string
	}{
		"label": {k3sArg, []string{"--node-label=node-role.kubernetes.io/control-plane=", "--node-label=kubernetes.io/hostname=x", "--node-label=svccontroller.k3s.cattle.io/enablelb=true",
			"--node-label=rigup.dev/owner=x", "--node-label=a.rigup.dev/x=1"}, []string{"--node-label=acme.example/gpu=true", "--node-label=gpu=true"}},
		"node": {Attachable, []string{"/dev/pmem0", "/dev/mtd0", "/dev/root", "/dev/cdrom", "/dev/bsg/0:0:0:0", "/dev/rbd0", "/dev/zvol/pool/disk", "/dev/hwrng", "/dev/uio0"},
			[]string{"/dev/mtgpu.0", "/dev/davinci0", "/dev/hisi_hdc", "/dev/dri/renderD128", "/dev/nvidia-caps/nvidia-cap1", "/dev/kfd", "/dev/dxg", "/dev/accel/accel0", "/dev/neuron0", "/dev/cambricon_dev0"}},
		"variable": {variable, []string{"BASH_ENV", "ENV", "IFS", "PYTHONPATH", "GCONV_PATH", "GLIBC_TUNABLES", "HOSTALIASES", "CATTLE_X"}, []string{"NVIDIA_VISIBLE_DEVICES", "ENVOY", "ACME_X"}},
		"file": {Readable, []string{"/sys/devices/pci0000:00/0000:00:1f.2/host0/vpd_pg80", "/sys/class/drm/card0-DP-1/edid", "/sys/devices/pci0000:00/nvme/nvme0/nguid", "/usr/lib/?*", "/usr/lib/[a-z]*", "/opt/[!x]*/*"},
			[]string{"/usr/lib/acme*/version", "/opt/acme/[0-9]*"}},
		"mount":    {Bindable, []string{"/usr/lib/?*", "/usr/lib/[!x]*", "/opt/?"}, []string{"/usr/lib/wsl", "/opt/acme*"}},
		"resource": {resource, []string{"k8s.io/gpu", "gpu.rigup.dev/x", "requests.acme.example/gpu", "acme.example/" + strings.Repeat("g", 64)}, []string{"acme.example/gpu"}},
	} {
		for _, s := range c.never {
			if c.rule(s) == nil {
				t.Errorf("the %s %s is allowed", what, s)
			}
		}
		for _, s := range c.fine {
			if err := c.rule(s); err != nil {
				t.Errorf("the %s %s: %v", what, s, err)
			}
		}
	}
}
