package facts

import (
	"slices"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

func TestDistro(t *testing.T) {
	for text, want := range map[string]sdk.Distro{
		"ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID_LIKE=debian\n": {ID: "ubuntu", Version: "24.04", Name: "Ubuntu 24.04.1 LTS", Like: "debian"},
		"ID=arch\nPRETTY_NAME='Arch Linux'\nBUILD_ID=rolling\n":                                 {ID: "arch", Name: "Arch Linux"},
		"NAME=Own\nVERSION_ID=3\n": {ID: "linux", Version: "3", Name: "Own 3"},
		"# nothing\n\n":            {ID: "linux", Name: "Linux"},
	} {
		got, err := tree(t, map[string]string{"usr/lib/os-release": text}).linuxDistro(t.Context())
		if err != nil || got != want {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
}

func TestWSL(t *testing.T) {
	const hash = "_94ad5a6c4d1a04e2"
	store := func(names ...string) map[string]string {
		m := map[string]string{}
		for _, n := range names {
			m["usr/lib/wsl/drivers/"+n] = ""
		}
		return m
	}
	for name, c := range map[string]struct {
		kernel  string
		files   map[string]string
		version int // 0: absent
		drivers []string
	}{
		"version 2": {"5.15.153.1-microsoft-standard-WSL2", store(
			"nv_dispsi.inf_amd64"+hash+"/libcuda.so.1.1", "u0420529.inf_amd64"+hash+"/amdkmdag.sys", "iigd_dch.inf_amd64_55f589032bab5285/igdkmd64.sys",
			"iigd_dch.inf_amd64"+hash+"/igdkmdn64.sys", "nvhda.inf_amd64"+hash+"/nvhda64v.sys", "nvraid.inf_amd64"+hash+"/nvraid.sys",
			"wvmbus.inf_amd64"+hash+"/vmbus.sys", "nvlti.inf_amd64"+hash+"/nvlddmkm.sys",
		), 2, []string{"iigd_dch.inf_amd64", "nv_dispsi.inf_amd64", "nvlti.inf_amd64", "u0420529.inf_amd64"}},
		"an older version 2":           {"4.19.104-microsoft-standard", nil, 2, nil},
		"version 1":                    {"4.4.0-19041-Microsoft", nil, 1, nil},
		"a kernel of the owner":        {"6.6.1-mine", map[string]string{"usr/lib/wsl/lib/libdxcore.so": ""}, 2, nil},
		"another system":               {"6.8.0-40-generic", nil, 0, nil},
		"a kernel for Microsoft's azu": {"6.5.0-1025-azure", nil, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := tree(t, with(c.files, map[string]string{"proc/sys/kernel/osrelease": c.kernel + "\n"}))
			o.Env = func(n string) string { return map[string]string{"WSL_DISTRO_NAME": "Ubuntu-24.04"}[n] }
			m := o.Machine(t.Context(), nil)
			switch {
			case c.version == 0:
				if m.WSL.Status != Absent {
					t.Error(m.WSL)
				}
			case m.WSL.Value.Version != c.version || m.WSL.Value.Distro != "Ubuntu-24.04" || !slices.Equal(m.WSL.Value.Drivers, c.drivers) || m.Virtual.Status != Absent:
				t.Errorf("%+v %+v", m.WSL, m.Virtual)
			}
		})
	}
}

func TestVirtual(t *testing.T) {
	const flag = "flags\t: fpu hypervisor lahf_lm\n"
	dmi := func(vendor, product, cpu string) map[string]string {
		m := map[string]string{"sys/class/dmi/id/sys_vendor": vendor + "\n", "sys/class/dmi/id/product_name": product + "\n"}
		if cpu != "" {
			m["proc/cpuinfo"] = cpu
		}
		return m
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string // "": absent
	}{
		"a real machine":          {dmi("Dell Inc.", "PowerEdge R760", ""), ""},
		"a board of its own":      {dmi("Supermicro", "AS-8125GS-TNHR", ""), ""},
		"a laptop of Microsoft":   {dmi("Microsoft Corporation", "Surface Laptop Studio 2", ""), ""},
		"KVM":                     {dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)", flag), "kvm"},
		"emulated on arm64":       {dmi("QEMU", "QEMU Virtual Machine", "Features\t: fp\n"), "qemu"},
		"VMware":                  {dmi("VMware, Inc.", "VMware20,1", flag), "vmware"},
		"VirtualBox":              {dmi("innotek GmbH", "VirtualBox", flag), "oracle"},
		"Hyper-V":                 {dmi("Microsoft Corporation", "Virtual Machine", flag), "microsoft"},
		"Amazon":                  {dmi("Amazon EC2", "p4d.24xlarge", flag), "amazon"},
		"a real machine of Amazo": {dmi("Amazon EC2", "g4dn.metal", ""), ""},
		"Google":                  {dmi("Google", "Google Compute Engine", flag), "google"},
		"Xen":                     {map[string]string{"sys/hypervisor/type": "xen\n"}, "xen"},
		"another one":             {map[string]string{"proc/cpuinfo": flag}, "vm-other"},
		"by its device tree":      {map[string]string{"proc/device-tree/hypervisor/compatible": "linux,kvm\x00"}, "kvm"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tree(t, with(c.files)).Machine(t.Context(), nil).Virtual
			if want := (Fact[string]{Status: Known, Value: c.want}); c.want == "" && got.Status != Absent || c.want != "" && got != want {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}
