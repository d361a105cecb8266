package intel

import (
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// TestGPUsAreToldApart has ids of the kernel's table, include/drm/intel/pciids.h.
func TestGPUsAreToldApart(t *testing.T) {
	for _, c := range []struct {
		name, address, id string
		inProcessor       bool
		newest            string
	}{
		{"Alder Lake", "0000:00:02.0", "0x46a6", true, i915},
		{"Meteor Lake, which is called Arc", "0000:00:02.0", "0x7d55", true, i915},
		{"Lunar Lake", "0000:00:02.0", "0x64a0", true, xe},
		{"DG1", "0000:03:00.0", "0x4905", false, i915},
		{"Arc A770", "0000:03:00.0", "0x56a0", false, i915},
		{"Flex 170", "0000:03:00.0", "0x56c0", false, i915},
		{"Max 1550", "0000:29:00.0", "0x0bd5", false, i915},
		{"Arc B580", "0000:03:00.0", "0xe20b", false, xe},
		{"Arc B580 in a guest, on bus 0", "0000:00:05.0", "0xe20b", false, xe},
		{"a card that nobody knows yet", "0000:03:00.0", "0xfff0", false, i915},
		{"a processor that nobody knows yet", "0000:00:02.0", "0xfff1", true, i915},
		{"on a Mac, without an address", "gpu0", "0x3e9b", true, i915},
	} {
		d := sdk.PCIDevice{Address: c.address, Device: c.id}
		if in, _ := integrated(d); in != c.inProcessor || newest(d) != c.newest {
			t.Errorf("%s: in the processor %v, driver %s", c.name, in, newest(d))
		}
	}
}

func TestTheDriverThatIsUsed(t *testing.T) {
	gpu := func(address, id, driver string) sdk.PCIDevice {
		return sdk.PCIDevice{Address: address, Device: id, Driver: driver}
	}
	in915, inXe := gpu("0000:00:02.0", "0x46a6", i915), gpu("0000:00:02.0", "0x64a0", xe)
	card915, cardXe := gpu("0000:03:00.0", "0x56a0", i915), gpu("0000:04:00.0", "0xe20b", xe)
	for _, c := range []struct {
		name  string
		cards []sdk.PCIDevice
		want  string
	}{
		{"none", nil, ""},
		{"no driver", []sdk.PCIDevice{gpu("0000:03:00.0", "0x56a0", "")}, ""},
		{"one", []sdk.PCIDevice{in915}, i915},
		{"a card goes before a processor", []sdk.PCIDevice{inXe, card915}, i915},
		{"two cards go before one", []sdk.PCIDevice{cardXe, card915, card915}, i915},
		{"the newer one, all else the same", []sdk.PCIDevice{card915, cardXe}, xe},
	} {
		if got := better(c.cards); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
