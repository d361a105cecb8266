package facts

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/hooks/sdk"
)

const h100 = `Model: 		 NVIDIA H100 80GB HBM3
IRQ:   		 255
GPU UUID: 	 GPU-e3f822b9-8c5f-95a5-b379-8dfdeefd7758
Video BIOS: 	 96.00.5e.00.01
Bus Location: 	 0000:81:00.0
Device Minor: 	 3
`

func TestPCI(t *testing.T) {
	o := tree(t, with(
		device("0000:81:00.0", "0x030200", "0x10de", "0x2330", "driver", "->../../../../bus/pci/drivers/nvidia", "boot_vga", "0", "drm/card1/x", "", "drm/card1-DP-1/x", "",
			"drm/renderD129/x", "", "mem_info_vram_total", ""),
		device("0000:41:00.0", "0x120000", "0x1002", "0x74a1", "driver", "->/sys/bus/pci/drivers/amdgpu", "mem_info_vram_total", "205822885888\n", "drm/card2/x", "", "drm/renderD130/x", "",
			"product_name", "AMD Instinct MI300X\n", "unique_id", "0123456789abcdef\n"),
		device("0000:03:00.0", "0x030000", "0x1a03", "0x2000", "driver", "->/sys/bus/pci/drivers/ast", "boot_vga", "1\n", "drm/card0/x", ""),
		device("0000:00:0b.0", "0x120000", "0x8086", "0x7d1d", "driver", "->/sys/bus/pci/drivers/intel_vpu", "accel/accel0/dev", "261:0"),
		device("0000:c1:00.0", "0x030200", "0x10de", "0x2331"),
		device("0000:01:00.0", "0x020000", "0x15b3", "0x1021", "driver", "->/sys/bus/pci/drivers/mlx5_core"),
		map[string]string{
			"sys/bus/pci/drivers/nvidia/x": "", "sys/bus/pci/drivers/amdgpu/x": "", "sys/bus/pci/drivers/ast/x": "", "sys/bus/pci/drivers/intel_vpu/x": "", "sys/bus/pci/drivers/mlx5_core/x": "",
			"proc/driver/nvidia/gpus/0000:81:00.0/information": h100,
			"proc/driver/nvidia/capabilities/gpu3/mig/gi1/x":   "", "proc/driver/nvidia/capabilities/gpu3/mig/gi2/x": "", "proc/driver/nvidia/capabilities/gpu3/mig/config": "",
			"proc/driver/nvidia/capabilities/gpu1/mig/gi1/x": "",
			"usr/share/misc/pci.ids": "# a comment\n10de  NVIDIA Corporation\n\t2331  GH100 [H100 PCIe]\n\t\t10de 1626  a card\n1a03  ASPEED Technology, Inc.\n\t2000  ASPEED Graphics Family\n" +
				"8086  Intel Corporation\n\t7d1d  Meteor Lake NPU\nC 00  Unclassified device\n\t2331  not this\n",
		},
	))
	want := []sdk.PCIDevice{
		{Address: "0000:00:0b.0", Vendor: "0x8086", Device: "0x7d1d", Class: "0x120000", Driver: "intel_vpu", Model: "Meteor Lake NPU", Nodes: []string{"/dev/accel/accel0"}},
		{Address: "0000:03:00.0", Vendor: "0x1a03", Device: "0x2000", Class: "0x030000", Driver: "ast", Model: "ASPEED Graphics Family", Nodes: []string{"/dev/dri/card0"}, BootVGA: true},
		{Address: "0000:41:00.0", Vendor: "0x1002", Device: "0x74a1", Class: "0x120000", Driver: "amdgpu", Model: "AMD Instinct MI300X", Memory: 205822885888,
			Nodes: []string{"/dev/dri/card2", "/dev/dri/renderD130"}},
		{Address: "0000:81:00.0", Vendor: "0x10de", Device: "0x2330", Class: "0x030200", Driver: "nvidia", Model: "NVIDIA H100 80GB HBM3", Partitions: 2,
			Nodes: []string{"/dev/dri/card1", "/dev/dri/renderD129", "/dev/nvidia3"}},
		{Address: "0000:c1:00.0", Vendor: "0x10de", Device: "0x2331", Class: "0x030200", Model: "GH100 [H100 PCIe]"},
	}
	if got := o.Machine(t.Context(), nil).PCI; !reflect.DeepEqual(got, Of(want)) {
		t.Errorf("%+v", got)
	}
	// A probe sees every class.
	got := o.PCIDevices(t.Context(), "0x15b3")
	if want := []sdk.PCIDevice{{Address: "0000:01:00.0", Vendor: "0x15b3", Device: "0x1021", Class: "0x020000", Driver: "mlx5_core"}}; !reflect.DeepEqual(got, Of(want)) {
		t.Errorf("%+v", got)
	}
	if got := o.PCIDevices(t.Context(), ""); len(got.Value) != 6 {
		t.Errorf("%+v", got)
	}
	if got := o.PCIDevices(t.Context(), "0x1ed5"); !got.Known() || len(got.Value) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNodes(t *testing.T) {
	files := map[string]string{}
	for _, p := range []string{"nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/nvidia-cap1", "kfd", "dri/card0", "dri/renderD128",
		"dri/by-path/pci-0000:01:00.0-card", "accel/accel0", "mtgpu.0", "mtgpu.dir/x", "sda", "nvidia-something"} {
		files["dev/"+p] = ""
	}
	files["dev/dri/by-path/link"] = "->../card0"
	o := tree(t, with(files))
	m := o.Machine(t.Context(), []string{"/dev/mtgpu*", "/dev/dri/card*"})
	var got []string
	for _, n := range m.Devices.Value {
		got = append(got, n.Path)
		if n.Mode != "0644" {
			t.Errorf("%+v", n)
		}
	}
	want := []string{"/dev/accel/accel0", "/dev/dri/card0", "/dev/dri/renderD128", "/dev/kfd", "/dev/mtgpu.0", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
		"/dev/nvidia0", "/dev/nvidia12", "/dev/nvidiactl"}
	if !m.Devices.Known() || !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if n := o.Node(t.Context(), "/dev/dri/by-path/link"); !n.Known() || n.Value.Path != "/dev/dri/by-path/link" {
		t.Errorf("%+v", n)
	}
	if n := o.Node(t.Context(), "/dev/dri"); n.Status != Unknown || n.Why != "not a character device" {
		t.Errorf("%+v", n)
	}
	if n := o.Node(t.Context(), "/dev/none"); n.Status != Absent {
		t.Errorf("%+v", n)
	}
	// Only a tree's files stand for device nodes.
	o.PlainNodes = false
	if m := o.Machine(t.Context(), nil); !m.Devices.Known() || len(m.Devices.Value) > 0 {
		t.Errorf("%+v", m.Devices)
	}
}

// The null device is one on every Unix.
func TestNodesOfThisMachine(t *testing.T) {
	n := Observer{Root: "/"}.Node(t.Context(), "/dev/null")
	if _, err := os.Stat("/dev/null"); err != nil {
		t.Skip("skipped: no /dev/null here")
	}
	if !n.Known() || n.Value.Mode == "" {
		t.Errorf("%+v", n)
	}
}

func TestModules(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []sdk.Module
	}{
		"none": {nil, nil},
		"nvidia": {map[string]string{"sys/module/nvidia/version": "550.54.15\n", "sys/module/nvidia_uvm/x": "", "sys/module/snd_hda_intel/x": "", "sys/module/i915/x": ""},
			[]sdk.Module{{Name: "i915"}, {Name: "nvidia", Version: "550.54.15"}, {Name: "nvidia_uvm"}}},
		"open": {map[string]string{"sys/module/nvidia/x": "", "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (root@)\nGCC version: 13.3.0\n"},
			[]sdk.Module{{Name: "nvidia", Version: "570.124.06"}}},
		"closed": {map[string]string{"sys/module/nvidia/x": "", "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57.02  Tue Jul 13\n"},
			[]sdk.Module{{Name: "nvidia", Version: "470.57.02"}}},
		"of a device": {with(device("0000:01:00.0", "0x030000", "0x1ed5", "0x0300", "driver", "->/sys/bus/pci/drivers/mt-gpu"),
			map[string]string{"sys/bus/pci/drivers/mt-gpu/x": "", "sys/module/mt_gpu/version": "2.7.0\n"}), []sdk.Module{{Name: "mt_gpu", Version: "2.7.0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tree(t, with(c.files)).Machine(t.Context(), nil).Modules; !reflect.DeepEqual(got, Of(c.want)) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// laptop is a machine with an Intel and an NVIDIA GPU and the usual packages.
func laptop(t *testing.T) Observer {
	return tree(t, with(
		device("0000:00:02.0", "0x030000", "0x8086", "0xa7a0", "driver", "->/sys/bus/pci/drivers/i915", "boot_vga", "1\n", "drm/card1/x", "", "drm/renderD128/x", ""),
		device("0000:01:00.0", "0x030000", "0x10de", "0x28a1", "driver", "->/sys/bus/pci/drivers/nvidia", "boot_vga", "0\n"),
		map[string]string{
			"sys/class/dmi/id/sys_vendor": "LENOVO\n", "sys/class/dmi/id/product_name": "21DE\n", "sys/class/dmi/id/product_serial": "SERIAL-1\n",
			"sys/bus/pci/drivers/i915/x": "", "sys/bus/pci/drivers/nvidia/x": "", "sys/module/i915/x": "", "sys/module/nvidia/version": "560.35.03\n",
			"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 4050 Laptop GPU\nGPU UUID: \t GPU-e3f822b9-8c5f-95a5-b379-8dfdeefd7758\nDevice Minor: \t 0\n",
			"dev/nvidia0": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "", "dev/dri/card1": "", "dev/dri/renderD128": "",
			"usr/lib/x86_64-linux-gnu/libcuda.so.1": "->libcuda.so.560.35.03", "usr/lib/x86_64-linux-gnu/libcuda.so.560.35.03": "",
			"usr/lib/aarch64-linux-gnu/libcuda.so.1": "->libcuda.so.560.35.03", "usr/lib/aarch64-linux-gnu/libcuda.so.560.35.03": "",
			"usr/bin/nvidia-smi!": "echo 560.35.03", "usr/bin/nvidia-ctk!": "echo 'NVIDIA Container Toolkit CLI version 1.17.8'; echo commit: f202b80",
			"home/ada/bin/clinfo!": "echo clinfo version 3.0.21.02.21",
		}))
}

var dockerInfo = engine.Info{
	Name: "ada-laptop", Product: "Docker Engine - Community", ServerVersion: "28.5.1", API: "1.51", OS: "linux", Arch: "amd64", Distro: "Ubuntu 24.04.1 LTS", Kernel: "6.8.0-40-generic",
	CgroupVersion: "2", CgroupDriver: "systemd", CPUs: 8, Memory: 33_000_000_000, StorageDriver: "overlay2", RootDir: "/var/lib/docker",
	Security: []string{"name=seccomp,profile=builtin", "name=apparmor", "name=cgroupns"}, Runtimes: []string{"runc", "nvidia", "io.containerd.runc.v2"}, DefaultRuntime: "runc",
	CDIDirs: []string{"/etc/cdi", "/var/run/cdi"}, CDIDevices: []string{"nvidia.com/gpu=all", "nvidia.com/gpu=0"}, CDIDevicesKnown: true,
	Mirrors: []string{"https://mirror.ada.example"}, HTTPProxy: "http://ada:s3cr3t@proxy.example:3128", NoProxy: "ada.example",
}

// The same machine gives the same document, byte for byte: a hook's answer is remembered by it.
func TestFactsOfAMachineAreTheSameAgain(t *testing.T) {
	o := laptop(t)
	o.Env = func(n string) string {
		return map[string]string{"PATH": "/usr/bin:/home/ada/bin", "HOME": "/home/ada"}[n]
	}
	o.Private = Private{Home: "/home/ada", Names: []string{"ada", "ada-laptop"}}
	var docs [2]string
	for i := range docs {
		f := o.Machine(t.Context(), nil).Facts(dockerInfo, engine.Endpoint{Host: "unix:///var/run/docker.sock", Source: "default"})
		f.Host.Arch = "amd64"
		for j := range f.Devices.Value {
			f.Devices.Value[j].Group = 0 // files of a tree belong to who runs the test
		}
		for j := range f.Libraries.Value {
			f.Libraries.Value[j].Path = "/usr/lib/x86_64-linux-gnu/" + filepath.Base(f.Libraries.Value[j].Path)
		}
		b, err := json.MarshalIndent(f, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = string(b) + "\n"
	}
	if docs[0] != docs[1] {
		t.Errorf("%s\n%s", docs[0], docs[1])
	}
	golden := filepath.Join("testdata", "laptop.json")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(docs[0]), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || docs[0] != string(want) {
		t.Errorf("%s differs (go test -update writes it): %v\n%s", golden, err, docs[0])
	}
}
