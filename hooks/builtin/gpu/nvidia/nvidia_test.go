package nvidia

import "testing"

func TestVersions(t *testing.T) {
	for windows, want := range map[string]string{
		"32.0.15.6094": "560.94", "31.0.15.3758": "537.58", "30.0.14.7141": "471.41", "566.36": "566.36",
		"10.0.26100.1": "", "a.b.c.d": "", "": "",
	} {
		if got := windowsVersion(windows); got != want {
			t.Errorf("%s: %q, want %q", windows, got, want)
		}
	}
	for version, want := range map[string]int{"570.133.20": 570, "390.157": 390, "": 0, "N/A": 0} {
		if got := major(version); got != want {
			t.Errorf("%s: %d", version, got)
		}
	}
}

// TestDriversInWindowsStore has names of packages as they are in C:\Windows\System32\DriverStore\FileRepository.
func TestDriversInWindowsStore(t *testing.T) {
	for name, want := range map[string]bool{
		"nv_dispi.inf_amd64": true, "nv_dispsi.inf_amd64": true, "nvlt.inf_amd64": true, "nvltwi.inf_amd64": true, "nvami.inf_amd64": true,
		"nvdimm.inf_amd64": false, "nvraid.inf_amd64": false, "nvhda.inf_amd64": false, "nvvad.inf_amd64": false,
		"u0410187.inf_amd64": false, "iigd_dch.inf_amd64": false, "": false,
	} {
		if isDisplayDriver(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
