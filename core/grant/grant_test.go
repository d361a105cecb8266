package grant

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// permitted is the grant of a vendor with device nodes.
func permitted() sdk.Permissions {
	return sdk.Permissions{
		Probes:     []sdk.ProbeKind{sdk.DeviceStat, sdk.FileRead, sdk.ToolVersion, sdk.EngineRun, sdk.RegistryReach, sdk.PCIList},
		Files:      []string{"/sys/module/acme/*", "/opt/acme/version"},
		Devices:    []string{"/dev/acme*", "/dev/dri/renderD*"},
		Binds:      []string{"/opt/acme/lib"},
		Tools:      []string{"acme-smi"},
		Images:     []string{"base", "registry.example/acme/check:1.0", "registry.example/acme/tools/*"},
		Registries: []string{"registry.example"},
		Attach:     []sdk.AttachKind{sdk.AttachDevices, sdk.AttachCDI},
		Resources:  []string{"acme.example/gpu"},
		Env:        []string{"ACME_VISIBLE_DEVICES"},
		Targets:    []string{"node"},
		K3sArgs:    []string{"--node-label=acme.example/gpu=true"},
		Runtime:    []string{"acme"},
	}
}

// decided is a decision within permitted.
func decided() sdk.GPU {
	return sdk.GPU{
		Vendor: "Acme", Resource: "acme.example/gpu",
		Devices: []sdk.Device{{ID: "0000:01:00.0"}},
		Attach: []sdk.Attach{
			{Kind: sdk.AttachCDI, IDs: []string{"acme.example/gpu=0"}},
			{Kind: sdk.AttachDevices, Nodes: []string{"/dev/acme0"}, Binds: []string{"/opt/acme/lib"}, Groups: []int{44}, Env: map[string]string{"ACME_VISIBLE_DEVICES": "0"}},
		},
		Check:    sdk.Check{Compute: sdk.ComputeDevices, Image: "base"},
		Node:     sdk.Node{Target: "node", K3sArgs: []string{"--node-label=acme.example/gpu=true"}},
		CDI:      sdk.CDI{Mode: sdk.CDIStatic, Kind: "acme.example/gpu", Spec: spec1(`{"deviceNodes":[{"path":"/dev/acme0"}]}`)},
		Workload: sdk.Workload{RuntimeClass: "acme", VisibleDevices: "all"},
	}
}

func spec1(edits string) json.RawMessage {
	return json.RawMessage(`{"cdiVersion":"0.6.0","kind":"acme.example/gpu","devices":[{"name":"0","containerEdits":` + edits + `}]}`)
}

func TestH4_ADecisionWithinTheGrantIsAccepted(t *testing.T) {
	if err := GPU(decided(), permitted()); err != nil {
		t.Error(err)
	}
}

// H4: each single thing outside of the grant refuses the whole decision, and is named.
func TestH4_ADecisionBeyondTheGrantIsRefusedAndTheItemIsNamed(t *testing.T) {
	for item, change := range map[string]func(*sdk.GPU){
		"nvidia.com/gpu":    func(d *sdk.GPU) { d.Resource = "nvidia.com/gpu" },
		"/dev/mem":          func(d *sdk.GPU) { d.Attach[1].Nodes = []string{"/dev/acme0", "/dev/mem"} },
		"/dev/acme/../sda":  func(d *sdk.GPU) { d.Attach[1].Nodes = []string{"/dev/acme/../sda"} },
		"/dev/acme*":        func(d *sdk.GPU) { d.Attach[1].Nodes = []string{"/dev/acme*"} },
		"/etc":              func(d *sdk.GPU) { d.Attach[1].Binds = []string{"/etc"} },
		"/opt/acme/lib:rw":  func(d *sdk.GPU) { d.Attach[1].Binds = []string{"/opt/acme/lib:rw"} },
		"group 0":           func(d *sdk.GPU) { d.Attach[1].Groups = []int{0} },
		"LD_PRELOAD":        func(d *sdk.GPU) { d.Attach[1].Env = map[string]string{"LD_PRELOAD": "/opt/x.so"} },
		"one short line":    func(d *sdk.GPU) { d.Attach[1].Env = map[string]string{"ACME_VISIBLE_DEVICES": "a\nb"} },
		"attachment nvidia": func(d *sdk.GPU) { d.Attach[0] = sdk.Attach{Kind: sdk.AttachNVIDIA} },
		"other.example/gpu": func(d *sdk.GPU) { d.Attach[0].IDs = []string{"other.example/gpu=0"} },
		"vendor/class":      func(d *sdk.GPU) { d.Attach[0].IDs = []string{"all"} },
		"mixes":             func(d *sdk.GPU) { d.Attach[0].Nodes = []string{"/dev/acme0"} },
		"evil.example/x:1":  func(d *sdk.GPU) { d.Check.Image = "evil.example/x:1" },
		"acme/tools2":       func(d *sdk.GPU) { d.Check.Image = "registry.example/acme/tools2/x:1" },
		"fixed version":     func(d *sdk.GPU) { d.Check.Image = "registry.example/acme/tools/x" },
		"without a check":   func(d *sdk.GPU) { d.Check = sdk.Check{} },
		"must do to pass":   func(d *sdk.GPU) { d.Check.Args = []string{"acme-smi"} },
		"proof":             func(d *sdk.GPU) { d.Check.Compute = "trust-me" },
		"regular expression": func(d *sdk.GPU) {
			d.Check.Args, d.Check.Expect = []string{"acme-smi"}, &sdk.Expect{Output: "(("}
		},
		"node-nvidia":     func(d *sdk.GPU) { d.Node.Target = "node-nvidia" },
		"either a target": func(d *sdk.GPU) { d.Node.Image = "registry.example/acme/tools/k3s:1" },
		"--kubelet-arg=x": func(d *sdk.GPU) { d.Node.K3sArgs = []string{"--kubelet-arg=x"} },
		"instead of acme": func(d *sdk.GPU) {
			d.CDI.Spec = json.RawMessage(`{"cdiVersion":"0.6.0","kind":"b.example/x","devices":[{"name":"0","containerEdits":{}}]}`)
		},
		"of 0 devices": func(d *sdk.GPU) {
			d.CDI.Spec = json.RawMessage(`{"cdiVersion":"0.6.0","kind":"acme.example/gpu","devices":[]}`)
		},
		"does not hand to the node": func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"deviceNodes":[{"path":"/dev/acme1"}]}`) },
		"mounts /opt/acme/lib, which its": func(d *sdk.GPU) {
			d.Attach[1].Binds = nil
			d.CDI.Spec = spec1(`{"mounts":[{"hostPath":"/opt/acme/lib","containerPath":"/opt/acme/lib","options":["ro"]}]}`)
		},
		"cannot be read": func(d *sdk.GPU) { d.CDI.Spec = json.RawMessage(`{"surprise":1}`) },
		"runs programs": func(d *sdk.GPU) {
			d.CDI.Spec = spec1(`{"hooks":[{"hookName":"createRuntime","path":"/opt/acme/run"}]}`)
		},
		"/dev/sda":     func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"deviceNodes":[{"path":"/dev/sda"}]}`) },
		"another name": func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"deviceNodes":[{"path":"/dev/acme0","hostPath":"/dev/sda"}]}`) },
		"/root/.ssh": func(d *sdk.GPU) {
			d.CDI.Spec = spec1(`{"mounts":[{"hostPath":"/root/.ssh","containerPath":"/x","options":["ro"]}]}`)
		},
		"without the option ro": func(d *sdk.GPU) {
			d.CDI.Spec = spec1(`{"mounts":[{"hostPath":"/opt/acme/lib","containerPath":"/x"}]}`)
		},
		"option \"suid\"": func(d *sdk.GPU) {
			d.CDI.Spec = spec1(`{"mounts":[{"hostPath":"/opt/acme/lib","containerPath":"/x","options":["ro","suid"]}]}`)
		},
		"PATH":                 func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"env":["PATH=/opt/acme"]}`) },
		"the group 0":          func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"additionalGids":[0]}`) },
		"more than device":     func(d *sdk.GPU) { d.CDI.Spec = spec1(`{"intelRdt":{}}`) },
		"toolkit":              func(d *sdk.GPU) { d.CDI.Mode, d.CDI.Spec = sdk.CDINVIDIA, nil },
		"runtime class runsc":  func(d *sdk.GPU) { d.Workload.RuntimeClass = "runsc" },
		"shows":                func(d *sdk.GPU) { d.Workload.VisibleDevices = "a b" },
		"0 attachments":        func(d *sdk.GPU) { d.Attach = nil },
		"0 devices":            func(d *sdk.GPU) { d.Devices = nil },
		"twice, or not at all": func(d *sdk.GPU) { d.Devices = append(d.Devices, d.Devices[0]) },
	} {
		d := decided()
		change(&d)
		err := GPU(d, permitted())
		if item == "shows" {
			item = "show the devices"
		}
		if err == nil || !strings.Contains(err.Error(), item) {
			t.Errorf("%s: %v", item, err)
		}
	}
}

func TestH4_ProbesBeyondTheGrantAreRefused(t *testing.T) {
	fine := []sdk.Probe{
		{Kind: sdk.PCIList}, {Kind: sdk.DeviceStat, Path: "/dev/acme0"}, {Kind: sdk.FileRead, Path: "/sys/module/acme/version"},
		{Kind: sdk.ToolVersion, Tool: "acme-smi", Args: []string{"--version"}}, {Kind: sdk.RegistryReach, Host: "registry.example"},
		{Kind: sdk.EngineRun, Image: "registry.example/acme/tools/smi:2", Attach: &sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{"/dev/acme0"}}},
	}
	for _, p := range fine {
		if err := Probe(p, permitted()); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, p := range []sdk.Probe{
		{Kind: sdk.EngineInfo},
		{Kind: "shell.run"},
		{Kind: sdk.DeviceStat, Path: "/dev/sda"},
		{Kind: sdk.FileRead, Path: "/etc/shadow"},
		{Kind: sdk.FileRead, Path: "/sys/module/acme/../../class/dmi/id/product_uuid"},
		{Kind: sdk.FileRead, Path: "/sys/module/acme/parameters/x"},
		{Kind: sdk.ToolVersion, Tool: "bash", Args: []string{"--version"}},
		{Kind: sdk.ToolVersion, Tool: "acme-smi", Args: []string{"-c", "reboot"}},
		{Kind: sdk.ToolVersion, Tool: "acme-smi"},
		{Kind: sdk.RegistryReach, Host: "collector.example"},
		{Kind: sdk.EngineRun, Image: "evil.example/x:1"},
		{Kind: sdk.EngineRun, Image: "base", Attach: &sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{"/dev/sda"}}},
	} {
		if err := Probe(p, permitted()); err == nil {
			t.Errorf("%+v was allowed", p)
		}
	}
}

// The maxima hold whatever is wished for: the whole manifest is refused, and the field is named.
func TestH4_NoManifestLiftsTheMaxima(t *testing.T) {
	valid := sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: "acme", Version: "1.2.3", Title: "Acme GPUs", Publisher: "Acme",
		Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{"0x1234"}, Devices: []string{"/dev/acme*"}}, Permissions: permitted()}
	if err := Valid(valid); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*sdk.Manifest){
		"api":                        func(m *sdk.Manifest) { m.API = "rigup.hook/v9" },
		"abi":                        func(m *sdk.Manifest) { m.ABI = "wasip2" },
		"id":                         func(m *sdk.Manifest) { m.ID = "../acme" },
		"version":                    func(m *sdk.Manifest) { m.Version = "v1" },
		"title":                      func(m *sdk.Manifest) { m.Title = "Acme\x1b[2J" },
		"publisher":                  func(m *sdk.Manifest) { m.Publisher = "" },
		"homepage":                   func(m *sdk.Manifest) { m.Homepage = "javascript:x" },
		"kinds":                      func(m *sdk.Manifest) { m.Kinds = []sdk.Kind{"root"} },
		"match.pci":                  func(m *sdk.Manifest) { m.Match.PCI = []string{"10DE"} },
		"match.devices":              func(m *sdk.Manifest) { m.Match.Devices = []string{"/dev/*"} },
		"match.engines":              func(m *sdk.Manifest) { m.Match.Engines = []string{"["} },
		"permissions.files":          func(m *sdk.Manifest) { m.Permissions.Files = []string{"/home/*"} },
		"permissions.devices":        func(m *sdk.Manifest) { m.Permissions.Devices = []string{"/dev/sd*"} },
		"permissions.binds":          func(m *sdk.Manifest) { m.Permissions.Binds = []string{"/usr/lib/*"} },
		"permissions.tools":          func(m *sdk.Manifest) { m.Permissions.Tools = []string{"/bin/sh"} },
		"permissions.images":         func(m *sdk.Manifest) { m.Permissions.Images = []string{"acme:latest"} },
		"permissions.registries":     func(m *sdk.Manifest) { m.Permissions.Registries = []string{"https://x"} },
		"permissions.resources":      func(m *sdk.Manifest) { m.Permissions.Resources = []string{"kubernetes.io/gpu"} },
		"permissions.env":            func(m *sdk.Manifest) { m.Permissions.Env = []string{"LD_PRELOAD"} },
		"permissions.targets":        func(m *sdk.Manifest) { m.Permissions.Targets = []string{"any"} },
		"permissions.k3sArgs":        func(m *sdk.Manifest) { m.Permissions.K3sArgs = []string{"--kube-apiserver-arg=x"} },
		"permissions.attach":         func(m *sdk.Manifest) { m.Permissions.Attach = []sdk.AttachKind{"privileged"} },
		"permissions.probes":         func(m *sdk.Manifest) { m.Permissions.Probes = []sdk.ProbeKind{"shell"} },
		"permissions.runtimeClasses": func(m *sdk.Manifest) { m.Permissions.Runtime = []string{"A_B"} },
	} {
		m := valid
		m.Permissions = permitted()
		change(&m)
		if err := Valid(m); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestFilesThatHooksNeverRead(t *testing.T) {
	for _, p := range []string{
		"/etc/shadow", "/etc/passwd", "/home/ada/.ssh/id_rsa", "/root/x", "/proc/1/environ", "/proc/self/environ", "/var/lib/docker/x", "/sys/class/dmi/id/product_uuid",
		"/sys/class/dmi/id/board_serial", "/sys/bus/pci/devices/0000:01:00.0/net/eth0/address", "/opt/acme/token", "/usr/local/etc/tls.key", "relative", "/opt/../etc/shadow", "/opt/*", "/", "",
	} {
		if Readable(p) == nil {
			t.Errorf("%s can be read", p)
		}
	}
	for _, p := range []string{"/sys/module/nvidia/version", "/proc/driver/nvidia/version", "/opt/rocm/.info/version", "/usr/local/Ascend/driver/version.info", "/etc/ascend_install.info", "/sys/class/drm/card0/device/uevent"} {
		if err := Readable(p); err != nil {
			t.Error(err)
		}
	}
}

func TestH3_MorePermissionsAreFound(t *testing.T) {
	have := permitted()
	if more := Beyond(permitted(), have); !Empty(more) {
		t.Errorf("%+v", more)
	}
	want := permitted()
	want.Devices = append(want.Devices, "/dev/acmectl")
	want.Probes = append(want.Probes, sdk.EngineInfo)
	more := Beyond(want, have)
	if !slices.Equal(more.Devices, []string{"/dev/acmectl"}) || !slices.Equal(more.Probes, []sdk.ProbeKind{sdk.EngineInfo}) || len(more.Files) != 0 {
		t.Errorf("%+v", more)
	}
	if more := Beyond(have, want); !Empty(more) {
		t.Errorf("fewer permissions count as more: %+v", more)
	}
}

// Every permission is told to the person who grants it.
func TestEveryPermissionHasWords(t *testing.T) {
	p := permitted()
	v := reflect.ValueOf(p)
	said := strings.Join(Words(p), "\n")
	if lines := strings.Count(said, "\n") + 1; lines != v.NumField() {
		t.Errorf("%d lines for %d permissions:\n%s", lines, v.NumField(), said)
	}
	for _, l := range Words(p) {
		if strings.HasPrefix(l, ": ") {
			t.Errorf("no words for %s", l)
		}
	}
	for i := range v.NumField() {
		if v.Field(i).Len() == 0 {
			t.Errorf("the test grants no %s", v.Type().Field(i).Name)
		}
	}
}
