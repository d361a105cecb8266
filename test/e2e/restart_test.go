package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestRestart: what the last screen promises. The cluster comes back by itself when the engine starts again, and
// there is nothing left to do for rigup.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	outside := os.Getenv("RIGUP_LAB_OUTSIDE")
	if outside == "" {
		t.Skip("skipped: RIGUP_LAB_OUTSIDE does not name the network that the lab works from (test/run.sh sets it)")
	}
	c := w.cluster("restart")
	w.install(c)
	w.keepsake(c, "restarted")
	// The lab works from outside of the engine's network, where this test is.
	restart := exec.Command("nsenter", "--net="+outside, w.lab.Lab, "restart", "--engine", w.lab.Engine)
	restart.Dir = "../lab"
	if out, err := restart.CombinedOutput(); err != nil {
		t.Fatalf("restart of the engine: %v\n%s", err, out)
	}
	eventually(t, "the cluster is back", 2*time.Minute, func() error {
		if r := w.run("status", "--cluster", c, "--output", "json"); r.exit != 0 {
			return fmt.Errorf("status ends with %d", r.exit)
		}
		return nil
	})
	w.keptsake(c, "restarted")
	if w.install(c).Result.Changed {
		t.Error("there was something left to do")
	}
}
