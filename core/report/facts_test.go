package report

import (
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

func known[T any](v T) sdk.Fact[T] { return sdk.Fact[T]{Status: sdk.Known, Value: v} }

func machines() map[string]sdk.Machine {
	server := sdk.Facts{
		Host: sdk.Host{OS: "linux", Arch: "amd64", Kernel: known("6.8.0-40-generic"), Distro: known(sdk.Distro{ID: "ubuntu", Name: "Ubuntu 24.04.1 LTS"}), WSL: sdk.Fact[sdk.WSL]{Status: sdk.Absent}, Virtual: known("kvm")},
		Engine: sdk.Engine{
			Endpoint: "unix:///var/run/docker.sock", Product: "Docker Engine - Community", Version: "28.5.1", API: "1.51", OS: "linux", Arch: "amd64", System: "Ubuntu 24.04.1 LTS", Kernel: "6.8.0-40-generic",
			CgroupVersion: "2", CgroupDriver: "systemd", StorageDriver: "overlay2", Runtimes: []string{"io.containerd.runc.v2", "nvidia", "runc"}, DefaultRuntime: "runc",
			CDIDirs: []string{"/etc/cdi", "/var/run/cdi"}, CDIDevices: known([]string{"nvidia.com/gpu=0", "nvidia.com/gpu=all"}), CPUs: 64, Memory: 270e9,
		},
		PCI: known([]sdk.PCIDevice{
			{Address: "0000:03:00.0", Vendor: "0x1a03", Device: "0x2000", Class: "0x030000", Driver: "ast", Nodes: []string{"/dev/dri/card0"}, BootVGA: true},
			{Address: "0000:81:00.0", Vendor: "0x10de", Device: "0x2330", Class: "0x030200", Driver: "nvidia", Model: "NVIDIA H100 80GB HBM3", Nodes: []string{"/dev/nvidia0"}, Partitions: 7},
			{Address: "0000:c1:00.0", Vendor: "0x10de", Device: "0x2330", Class: "0x030200", Memory: 85e9},
		}),
		Devices:   known([]sdk.DeviceNode{{Path: "/dev/dri/card0", Mode: "0660"}, {Path: "/dev/nvidia0", Mode: "0666"}, {Path: "/dev/nvidiactl", Mode: "0666"}}),
		Modules:   known([]sdk.Module{{Name: "ast"}, {Name: "nvidia", Version: "560.35.03"}}),
		Libraries: known([]sdk.Library{{Name: "libcuda.so.1", Path: "/usr/lib/x86_64-linux-gnu/libcuda.so.1", Version: "560.35.03"}, {Name: "libdxcore.so", Path: "/usr/lib/wsl/lib/libdxcore.so"}}),
		Tools: known([]sdk.Tool{{Name: "nvidia-ctk", Path: "/usr/bin/nvidia-ctk", Version: "1.17.8"},
			{Name: "nvidia-smi", Path: "/usr/bin/nvidia-smi", Output: "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 560.35\x1b[31m"}}),
	}
	denied := "permission denied"
	hidden := sdk.Facts{
		Host: sdk.Host{OS: "linux", Arch: "arm64", Kernel: known("5.15.153.1-microsoft-standard-WSL2"), Distro: sdk.Fact[sdk.Distro]{Status: sdk.Unknown, Why: denied},
			WSL: known(sdk.WSL{Version: 2, Distro: "Ubuntu-24.04", Drivers: []string{"nv_dispi.inf_amd64"}}), Virtual: sdk.Fact[string]{Status: sdk.Absent}},
		Engine: sdk.Engine{CDIDevices: sdk.Fact[[]string]{Status: sdk.Unknown, Why: "This user may not talk to the Docker engine at unix:///var/run/docker.sock."}},
		PCI:    sdk.Fact[[]sdk.PCIDevice]{Status: sdk.Unknown, Why: "timed out"}, Devices: sdk.Fact[[]sdk.DeviceNode]{Status: sdk.Absent},
		Modules: sdk.Fact[[]sdk.Module]{Status: sdk.Unknown, Why: denied}, Libraries: known([]sdk.Library(nil)), Tools: known([]sdk.Tool(nil)),
	}
	podman := sdk.Facts{
		Host: sdk.Host{OS: "darwin", Arch: "arm64", Kernel: known("24.5.0"), Distro: known(sdk.Distro{ID: "macos", Name: "macOS 15.5"}), WSL: sdk.Fact[sdk.WSL]{Status: sdk.Absent}, Virtual: sdk.Fact[string]{Status: sdk.Absent}},
		Engine: sdk.Engine{Endpoint: "ssh://[host]", Remote: true, Context: "custom", Product: "Docker Desktop 4.43.2 (199162)", Version: "28.3.2", API: "1.47", OS: "linux", Arch: "arm64", System: "Docker Desktop", Kernel: "6.10.14-linuxkit",
			Host: "docker-desktop", CgroupVersion: "1", Rootless: true, Snap: true, CDIDevices: sdk.Fact[[]string]{Status: sdk.Unknown, Why: "the engine does not say"}, CPUs: 12, Memory: 8e9},
		PCI:     known([]sdk.PCIDevice{{Address: "Apple M3 Pro", Vendor: "0x106b", Class: "0x038000", Model: "Apple M3 Pro"}}),
		Devices: sdk.Fact[[]sdk.DeviceNode]{Status: sdk.Absent}, Modules: sdk.Fact[[]sdk.Module]{Status: sdk.Absent}, Libraries: sdk.Fact[[]sdk.Library]{Status: sdk.Absent}, Tools: known([]sdk.Tool(nil)),
	}
	return map[string]sdk.Machine{
		"facts-server": {Title: "Ubuntu 24.04.1 LTS, NVIDIA H100 80GB HBM3, Docker Engine - Community 28.5.1", Facts: server},
		"facts-hidden": {Title: "linux, no engine", Facts: hidden},
		"facts-mac":    {Title: "macOS 15.5, Apple M3 Pro, Docker Desktop 4.43.2 (199162)", Facts: podman},
	}
}

func TestGoldenFacts(t *testing.T) {
	for name, m := range machines() {
		for _, width := range []int{100, 60} {
			text := Facts(m, Options{Width: func() int { return width }})
			if width == 100 {
				golden(t, name+".txt", text)
			}
			if strings.ContainsAny(text, "\x1b") {
				t.Errorf("%s: foreign control characters:\n%s", name, text)
			}
		}
	}
}
