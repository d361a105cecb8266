package facts

import (
	"reflect"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

func TestWindowsDevices(t *testing.T) {
	for name, c := range map[string]struct {
		in   winDevice
		want sdk.PCIDevice
	}{
		"nvidia": {winDevice{
			IDs:  []string{`PCI\VEN_10DE&DEV_28A1&SUBSYS_1E831043&REV_A1`, `PCI\VEN_10DE&DEV_28A1&CC_030000`, `PCI\VEN_10DE&CC_0300`, `PCI\VEN_10DE`, `PCI\CC_030000&DT_0`},
			Name: "NVIDIA GeForce RTX 4050 Laptop GPU", Service: "nvlddmkm", Driver: "32.0.15.6094", Memory: 6 << 30, Bus: 1,
		}, sdk.PCIDevice{Address: "0000:01:00.0", Vendor: "0x10de", Device: "0x28a1", Class: "0x030000", Driver: "nvlddmkm", DriverVersion: "560.94",
			Model: "NVIDIA GeForce RTX 4050 Laptop GPU", Memory: 6 << 30}},
		"without its driver": {winDevice{
			IDs: []string{`PCI\VEN_10DE&DEV_2684&CC_0300`}, Name: "Microsoft Basic Display Adapter", Service: "BasicDisplay", Driver: "10.0.26100.1", Bus: 0x10002, Address: 0x30001,
		}, sdk.PCIDevice{Address: "0100:02:03.1", Vendor: "0x10de", Device: "0x2684", Class: "0x030000", Driver: "BasicDisplay", DriverVersion: "10.0.26100.1",
			Model: "Microsoft Basic Display Adapter"}},
		"intel": {winDevice{IDs: []string{`PCI\VEN_8086&DEV_A7A0&CC_030000`}, Name: "Intel(R) Iris(R) Xe Graphics", Service: "igfxn", Driver: "31.0.101.5590", Address: 2 << 16},
			sdk.PCIDevice{Address: "0000:00:02.0", Vendor: "0x8086", Device: "0xa7a0", Class: "0x030000", Driver: "igfxn", DriverVersion: "31.0.101.5590", Model: "Intel(R) Iris(R) Xe Graphics"}},
		"no GPU": {winDevice{IDs: []string{`PCI\VEN_8086&DEV_15F3&CC_020000`}, Name: "Ethernet", Service: "e2fn", Memory: 1},
			sdk.PCIDevice{Address: "0000:00:00.0", Vendor: "0x8086", Device: "0x15f3", Class: "0x020000", Driver: "e2fn"}},
		"nothing": {winDevice{}, sdk.PCIDevice{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := c.in.fact()
			if ok != (c.want.Vendor != "") || ok && !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v %v", got, ok)
			}
		})
	}
}

func TestNVIDIAVersionsOfWindows(t *testing.T) {
	for in, want := range map[string]string{
		"32.0.15.6094": "560.94", "31.0.15.3210": "532.10", "27.21.14.5671": "456.71", "21.21.13.7849": "378.49", "9.18.13.4052": "340.52", "32.0.15.0001": "500.01",
		"560.94": "560.94", "": "", "a.b.c.d": "a.b.c.d",
	} {
		if got := nvidiaVersion(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestWindowsEditions(t *testing.T) {
	for _, c := range []struct {
		in   winEdition
		want sdk.Distro
	}{
		{winEdition{"Windows 10 Pro", "24H2", 26100, false}, sdk.Distro{ID: "windows", Version: "11", Name: "Windows 11 Pro 24H2"}},
		{winEdition{"Windows 10 Home", "22H2", 19045, false}, sdk.Distro{ID: "windows", Version: "10", Name: "Windows 10 Home 22H2"}},
		{winEdition{"Windows Server 2022 Standard", "21H2", 20348, true}, sdk.Distro{ID: "windows", Version: "2022", Name: "Windows Server 2022 Standard 21H2"}},
		{winEdition{"", "", 22631, false}, sdk.Distro{ID: "windows", Name: "Windows"}},
	} {
		if got := c.in.distro(); got != c.want {
			t.Errorf("%+v: %+v", c.in, got)
		}
	}
}

// The documents are of the form that macOS 12 to 26 print, with what identifies the machine and its screens.
func TestMacGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		doc  string
		want []sdk.PCIDevice
	}{
		"Apple silicon": {`{"SPDisplaysDataType":[{"_name":"Apple M4 Pro","spdisplays_mtlgpufamilysupport":"spdisplays_metal4","spdisplays_ndrvs":[{"_name":"Color LCD",
			"_spdisplays_display-serial-number":"fd626d62","_spdisplays_displayID":"1"}],"spdisplays_vendor":"sppci_vendor_Apple","sppci_bus":"spdisplays_builtin","sppci_cores":"20",
			"sppci_device_type":"spdisplays_gpu","sppci_model":"Apple M4 Pro"}]}`,
			[]sdk.PCIDevice{{Address: "Apple M4 Pro", Vendor: "0x106b", Class: "0x038000", Model: "Apple M4 Pro"}}},
		"Intel and AMD": {`{"SPDisplaysDataType":[
			{"_name":"kHW_IntelUHDGraphics630Item","_spdisplays_vram":"1536 MB","spdisplays_device-id":"0x3e9b","spdisplays_vendor":"Intel","sppci_bus":"spdisplays_builtin","sppci_model":"Intel UHD Graphics 630"},
			{"_name":"kHW_AMDRadeonPro5300MItem","spdisplays_device-id":"0x7340","spdisplays_vendor":"sppci_vendor_amd","spdisplays_vram":"4 GB","sppci_bus":"spdisplays_pcie_device","sppci_model":"AMD Radeon Pro 5300M"},
			{"_name":"Another","spdisplays_vendor":"ATI (0x1002)","spdisplays_device-id":"0x67df"},{"_name":"Another","spdisplays_vendor":"ATI (0x1002)","spdisplays_device-id":"0x67df"}]}`,
			[]sdk.PCIDevice{
				{Address: "Intel UHD Graphics 630", Vendor: "0x8086", Device: "0x3e9b", Class: "0x038000", Model: "Intel UHD Graphics 630"},
				{Address: "AMD Radeon Pro 5300M", Vendor: "0x1002", Device: "0x7340", Class: "0x038000", Model: "AMD Radeon Pro 5300M", Memory: 4 << 30},
				{Address: "Another", Vendor: "0x1002", Device: "0x67df", Class: "0x038000", Model: "Another"},
				{Address: "Another 2", Vendor: "0x1002", Device: "0x67df", Class: "0x038000", Model: "Another"},
			}},
		"a screen is no GPU": {`{"SPDisplaysDataType":[{"sppci_device_type":"spdisplays_display"}]}`, nil},
		"none":               {`{"SPDisplaysDataType":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := macGPUs([]byte(c.doc))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
	for _, doc := range []string{"", "{}", "not json", `{"SPDisplaysDataType":{}}`} {
		if _, err := macGPUs([]byte(doc)); err == nil {
			t.Errorf("%q is taken for a list", doc)
		}
	}
}

func TestMac(t *testing.T) {
	d, err := macDistro([]byte("ProductName:\t\tmacOS\nProductVersion:\t\t15.1\nBuildVersion:\t\t24B83\n"))
	if want := (sdk.Distro{ID: "macos", Version: "15.1", Name: "macOS 15.1"}); d != want || err != nil {
		t.Errorf("%+v %v", d, err)
	}
	if _, err := macDistro([]byte("?")); err == nil {
		t.Error("no version")
	}
	for model, want := range map[string]string{"VirtualMac2,1": "apple", "VMware20,1": "vmware", "Parallels-ARM": "parallels", "Mac16,8": "vm-other"} {
		if got := macHypervisor(model); got != want {
			t.Errorf("%s: %s", model, got)
		}
	}
}
