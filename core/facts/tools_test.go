package facts

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

func TestLibraries(t *testing.T) {
	const hash = "_94ad5a6c4d1a04e2"
	o := tree(t, with(map[string]string{
		// NVIDIA on Debian: an alternative that leads into a directory of its own.
		"usr/lib/nvidia-current/libcuda.so.1": "->libcuda.so.535.183.01", "usr/lib/nvidia-current/libcuda.so.535.183.01": "",
		"usr/lib/x86_64-linux-gnu/libcuda.so.1": "->/etc/alternatives/glx--libcuda.so.1", "etc/alternatives/glx--libcuda.so.1": "->/usr/lib/nvidia-current/libcuda.so.1",
		"usr/lib/aarch64-linux-gnu/libcuda.so.1": "->/etc/alternatives/glx--libcuda.so.1",
		// Fedora.
		"usr/lib64/libnvidia-ml.so.1": "->libnvidia-ml.so.560.35.03", "usr/lib64/libnvidia-ml.so.560.35.03": "", "usr/lib64/libze_loader.so.1": "->libze_loader.so.1.17.6", "usr/lib64/libze_loader.so.1.17.6": "",
		// WSL: files, whose number is no version; packages of other devices are not opened.
		"usr/lib/wsl/lib/libcuda.so.1": "->libcuda.so.1.1", "usr/lib/wsl/lib/libcuda.so.1.1": "", "usr/lib/wsl/lib/libdxcore.so": "",
		"usr/lib/wsl/drivers/nv_dispi.inf_amd64" + hash + "/libcuda.so.1": "", "usr/lib/wsl/drivers/other.inf_amd64" + hash + "/libcuda.so.1": "",
		// ROCm, with the usual link; and one that the loader's configuration names.
		"opt/rocm": "->rocm-6.2.4", "opt/rocm-6.2.4/lib/libamdhip64.so.6": "->libamdhip64.so.6.2.60204", "opt/rocm-6.2.4/lib/libamdhip64.so.6.2.60204": "", "opt/rocm-6.2.4/lib/libamdhip64.so.5": "",
		"etc/ld.so.conf.d/own.conf": "# ours\n/srv/drivers # here\nrelative\n/srv/none\n", "srv/drivers/libhsa-runtime64.so": "->libhsa-runtime64.so.1.14.60204", "srv/drivers/libhsa-runtime64.so.1.14.60204": "",
		// A driver that was removed left its link.
		"usr/lib64/libcuda.so.1": "->libcuda.so.550.90.07",
	}))
	m := o.Machine(t.Context(), nil)
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[m.Arch]
	want := []sdk.Library{
		{Name: "libamdhip64.so.6", Path: "/opt/rocm/lib/libamdhip64.so.6", Version: "6.2.60204"},
		{Name: "libhsa-runtime64.so", Path: "/srv/drivers/libhsa-runtime64.so", Version: "1.14.60204"},
		{Name: "libcuda.so.1", Path: "/usr/lib/nvidia-current/libcuda.so.1", Version: "535.183.01"},
		{Name: "libcuda.so.1", Path: "/usr/lib/wsl/drivers/nv_dispi.inf_amd64" + hash + "/libcuda.so.1"},
		{Name: "libcuda.so.1", Path: "/usr/lib/wsl/lib/libcuda.so.1"},
		{Name: "libdxcore.so", Path: "/usr/lib/wsl/lib/libdxcore.so"},
		{Name: "libcuda.so.1", Path: "/usr/lib/" + triplet + "/libcuda.so.1", Version: "535.183.01"},
		{Name: "libnvidia-ml.so.1", Path: "/usr/lib64/libnvidia-ml.so.1", Version: "560.35.03"},
		{Name: "libze_loader.so.1", Path: "/usr/lib64/libze_loader.so.1", Version: "1.17.6"},
	}
	slices.SortFunc(want, func(a, b sdk.Library) int { return strings.Compare(a.Path, b.Path) })
	if !reflect.DeepEqual(m.Libraries, Of(want)) {
		t.Errorf("%+v", m.Libraries)
	}
}

func TestTools(t *testing.T) {
	mismatch := "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 560.35"
	noDriver := "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."
	help := `case "$1" in -h) echo "NVIDIA System Management Interface -- v340.108"; echo; echo "nvidia-smi [OPTION1 [ARG1]]";; *) echo "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help."; exit 1;; esac`
	for name, c := range map[string]struct {
		path, script string
		want         sdk.Tool
	}{
		"nvidia-smi":               {"usr/bin/nvidia-smi", `[ "$1 $2" = "--query-gpu=driver_version --format=csv,noheader" ] && echo 550.54.15 && echo 550.54.15`, sdk.Tool{Version: "550.54.15"}},
		"nvidia-smi on WSL":        {"usr/lib/wsl/lib/nvidia-smi", "echo 560.94", sdk.Tool{Version: "560.94"}},
		"an old nvidia-smi":        {"usr/bin/nvidia-smi", help, sdk.Tool{Version: "340.108"}},
		"updated and not rebooted": {"usr/bin/nvidia-smi", "case $1 in -h) echo NVIDIA System Management Interface -- v560.35.03;; *) echo '" + mismatch + "'; exit 18;; esac", sdk.Tool{Output: mismatch}},
		"without its driver":       {"usr/bin/nvidia-smi", `echo "` + noDriver + `"; exit 9`, sdk.Tool{Output: noDriver}},
		"no device":                {"usr/bin/nvidia-smi", "echo No devices were found; exit 6", sdk.Tool{Output: "No devices were found"}},
		"silent":                   {"usr/bin/nvidia-ctk", "exit 3", sdk.Tool{Output: "exit code 3"}},
		"nvidia-ctk":               {"usr/bin/nvidia-ctk", "echo NVIDIA Container Toolkit CLI version 1.17.8; echo commit: f202b80a", sdk.Tool{Version: "1.17.8"}},
		"nvidia-container-cli":     {"usr/local/bin/nvidia-container-cli", "echo cli-version: 1.17.8; echo lib-version: 1.17.7", sdk.Tool{Version: "1.17.8"}},
		"rocm-smi":                 {"opt/rocm-6.2.4/bin/rocm-smi", "echo ROCM-SMI version: 3.0.0+unknown; echo ROCM-SMI-LIB version: 7.3.0", sdk.Tool{Version: "3.0.0"}},
		"an old rocm-smi":          {"usr/bin/rocm-smi", `case $1 in -V) echo ROCM-SMI version: 2.0.0;; *) echo "rocm-smi: error: unrecognized arguments: --version" >&2; exit 2;; esac`, sdk.Tool{Version: "2.0.0"}},
		"amd-smi":                  {"opt/rocm-6.2.4/bin/amd-smi", `[ $1 = version ] && echo "AMDSMI Tool: 24.7.1+0012a68 | AMDSMI Library version: 24.7.1.0 | ROCm version: 6.3.1"`, sdk.Tool{Version: "24.7.1"}},
		"rocminfo":                 {"usr/bin/rocminfo", `echo "ROCk module is loaded"; echo "Runtime Version:         1.14"; echo "  Uuid:                    GPU-9fdb4c2a1e3d5b76"`, sdk.Tool{Version: "1.14"}},
		"rocminfo, no driver":      {"usr/bin/rocminfo", `echo "ROCk module is NOT loaded, possibly no GPU devices"; exit 1`, sdk.Tool{Output: "ROCk module is NOT loaded, possibly no GPU devices"}},
		"rocminfo, other output":   {"usr/bin/rocminfo", `echo "Uuid: GPU-9fdb4c2a1e3d5b76"`, sdk.Tool{Output: "Uuid: [id]"}},
		"xpu-smi":                  {"usr/bin/xpu-smi", `echo "CLI:"; echo "    Version: 1.2.38.20240718"; echo "    Build ID: 0f2aee9d"`, sdk.Tool{Version: "1.2.38.20240718"}},
		"clinfo":                   {"usr/bin/clinfo", "echo clinfo version 3.0.21.02.21", sdk.Tool{Version: "3.0.21.02.21"}},
		"control characters":       {"usr/bin/clinfo", `printf 'a\033[31mb\000c\r\n'; exit 1`, sdk.Tool{Output: "a[31mbc"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := tree(t, with(map[string]string{c.path + "!": c.script}))
			c.want.Path = "/" + c.path
			c.want.Name = c.path[strings.LastIndex(c.path, "/")+1:]
			got := o.Machine(t.Context(), nil).Tools
			if !reflect.DeepEqual(got, Of([]sdk.Tool{c.want})) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestE1_AToolThatHangsSaysSo(t *testing.T) {
	o := tree(t, with(map[string]string{"usr/bin/clinfo!": "sleep 1000"}))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	got := o.tools(ctx)
	if want := Of([]sdk.Tool{{Name: "clinfo", Path: "/usr/bin/clinfo", Output: "no answer within 5 s"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestALongComplaintIsShortened(t *testing.T) {
	o := tree(t, with(map[string]string{"usr/bin/clinfo!": "i=0; while [ $i -lt 200 ]; do echo no platform $i; i=$((i+1)); done; exit 1"}))
	got := o.tools(t.Context())
	if len(got.Value) != 1 || len(got.Value[0].Output) != shortOutput+len(" ...") || !strings.HasPrefix(got.Value[0].Output, "no platform 0\nno platform 1\n") {
		t.Errorf("%+v", got)
	}
}

// Windows' directories are not looked into from WSL, nor do those count that cannot be read.
func TestWhereToolsAreLookedFor(t *testing.T) {
	o := tree(t, with(map[string]string{"mnt/c/tools/clinfo!": "echo 3.0", "opt/loop": "->loop"}))
	env := map[string]string{"PATH": "/mnt/c/tools"}
	o.Env = func(n string) string { return env[n] }
	if got := o.tools(t.Context()); len(got.Value) != 1 {
		t.Errorf("%+v", got)
	}
	env["WSL_DISTRO_NAME"] = "Ubuntu"
	if got := o.tools(t.Context()); !got.Known() || len(got.Value) != 0 {
		t.Errorf("%+v", got)
	}
	env["PATH"] = "/opt/loop"
	if got := o.tools(t.Context()); got.Status != Unknown {
		t.Errorf("what could not be looked for is not absent: %+v", got)
	}
}
