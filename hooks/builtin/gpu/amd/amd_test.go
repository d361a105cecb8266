package amd

import (
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// TestGPUsAreToldApartByTheirIDs has ids of the PCI ID project and of the kernel's tables.
func TestGPUsAreToldApartByTheirIDs(t *testing.T) {
	for _, c := range []struct {
		name, id                                string
		gpu, inProcessor, tooOld, notOfficially bool
	}{
		{"ES1000 of a management board", "0x515e", false, false, false, false},
		{"Rage XL of a management board", "0x4752", false, false, false, false},
		{"Radeon HD 5770", "0x68b8", true, false, true, false},
		{"Radeon HD 6870", "0x6738", true, false, true, false},
		{"Radeon HD 4870", "0x9440", true, false, true, false},
		{"Trinity", "0x9900", true, true, true, true},
		{"Kaveri", "0x1304", true, true, false, true},
		{"Carrizo", "0x9874", true, true, false, true},
		{"Raven", "0x15dd", true, true, false, true},
		{"Van Gogh (Steam Deck)", "0x163f", true, true, false, true},
		{"Phoenix", "0x15bf", true, true, false, true},
		{"Strix Point", "0x150e", true, true, false, false},
		{"Strix Halo", "0x1586", true, true, false, false},
		{"Radeon R9 290X", "0x67b0", true, false, false, true},
		{"Radeon RX 580", "0x67df", true, false, false, true},
		{"Vega 64", "0x687f", true, false, false, false},
		{"MI50", "0x66a1", true, false, false, false},
		{"RX 6700 XT", "0x73df", true, false, false, false},
		{"RX 7900 XTX", "0x744c", true, false, false, false},
		{"RX 9070 XT", "0x7550", true, false, false, false},
		{"MI300X", "0x74a1", true, false, false, false},
		{"no id at all", "", true, false, false, false},
	} {
		d := sdk.PCIDevice{Device: c.id}
		in, _ := integrated(d)
		if computes(d) != c.gpu || in != c.inProcessor || tooOld(d) != c.tooOld || unofficial(d) != c.notOfficially {
			t.Errorf("%s: GPU %v, in the processor %v, too old %v, unofficial %v", c.name, computes(d), in, tooOld(d), unofficial(d))
		}
	}
}

func TestDriversInWindowsStore(t *testing.T) {
	for name, want := range map[string]bool{
		"u0410187.inf_amd64": true, "c0393456.inf_amd64": true, "nv_dispi.inf_amd64": false, "iigd_dch.inf_amd64": false,
		"usbvideo.inf_amd64": false, "cdrom.inf_amd64": false, "u04": false, "": false,
	} {
		if stored(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
