package gpu

import (
	"testing"

	"rigup.dev/rigup/core/reason"
)

func TestG1_WithoutProofThereIsNoGPUAndOneReason(t *testing.T) {
	var zero Capability
	for name, c := range map[string]Capability{"zero": zero, "none": None(reason.New(reason.GPUNone))} {
		if r, n := c.Request(); c.Available() || r != "" || n != 0 {
			t.Errorf("%s: %v %q %d", name, c.Available(), r, n)
		}
		if why, ok := c.Reason(); !ok || why.ID == "" || why.Text == "" {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// G2, G4: what a later stage finds can take a capability away, and never adds a second reason.
func TestG2_RevokingOnlyTakesAway(t *testing.T) {
	proven := Capability{proven: &proof{resource: "vendor.test/gpu", count: 2}}
	if r, n := proven.Request(); r != "vendor.test/gpu" || n != 2 {
		t.Error(r, n)
	}
	if _, ok := proven.Reason(); ok {
		t.Error("a proven capability has nothing to explain")
	}
	gone := proven.Revoke(reason.New(reason.GPUClusterCPU))
	if gone.Available() {
		t.Error("still there")
	}
	again := gone.Revoke(reason.New(reason.GPUOff))
	if why, _ := again.Reason(); why.ID != reason.GPUClusterCPU {
		t.Errorf("the first reason was lost: %v", why.ID)
	}
}
