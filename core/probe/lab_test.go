//go:build lab

package probe

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/hooks/sdk"
)

// These tests run on the real engine of the lab:
//
//	go test -c -tags lab -o /tmp/probe.test ./core/probe
//	go run -C test/lab . exec -- /tmp/probe.test -test.v -test.run Lab

const labImage = "busybox:1.37"

func openLab(t *testing.T) Prober {
	t.Helper()
	if os.Getenv("DOCKER_HOST") == "" {
		t.Skip("skipped: DOCKER_HOST does not name the lab's engine")
	}
	e, err := engine.Open(t.Context(), engine.Options{MinAPI: "1.41", Surroundings: engine.Machine(runtime.GOOS)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return Prober{
		Machine: facts.ThisMachine(5 * time.Second), Engine: e, Endpoint: e.Endpoint(),
		Pull: func(ctx context.Context, ref string) error { return e.Pull(ctx, engine.PullOptions{Ref: ref}) },
	}
}

func (p Prober) labRun(t *testing.T, ctx context.Context, a *sdk.Attach, args ...string) sdk.ProbeResult {
	t.Helper()
	begin := time.Now()
	r := p.Probe(ctx, sdk.Probe{Kind: sdk.EngineRun, Image: labImage, Args: args, Attach: a})
	t.Logf("%q in %s: %s %s exit %d\n%.1000s", args, time.Since(begin).Round(time.Millisecond), r.Status, r.Why, r.Exit, r.Text)
	left, err := p.Engine.Containers(context.WithoutCancel(ctx), map[string]string{labelProbe: "1"})
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %+v %v", left, err)
	}
	return r
}

func TestLabContainersOfProbesCanDoNothing(t *testing.T) {
	p := openLab(t)
	r := p.labRun(t, t.Context(), nil, "sh", "-c", `grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status; ls /sys/class/net; touch /x; touch /tmp/x && echo tmp; exit 5`)
	for _, want := range []string{"CapBnd:\t0000000000000000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Read-only file system", "tmp\n"} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%q is not in the output", want)
		}
	}
	if r.Status != sdk.Known || r.Exit != 5 || strings.Contains(r.Text, "eth0") {
		t.Errorf("%+v", r)
	}
}

func TestLabOutputIsTheEnd(t *testing.T) {
	p := openLab(t)
	r := p.labRun(t, t.Context(), nil, "sh", "-c", "i=0; while [ $i -lt 60000 ]; do echo line $i; i=$((i+1)); done; echo the end >&2")
	if r.Status != sdk.Known || len(r.Text) != maxOutput || !strings.Contains(r.Text, "line 59999\n") || !strings.Contains(r.Text, "the end\n") {
		t.Errorf("%d bytes: %s", len(r.Text), r.Text[max(0, len(r.Text)-80):])
	}
}

func TestLabE1_ContainersAreCutOff(t *testing.T) {
	p := openLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if r := p.labRun(t, ctx, nil, "sh", "-c", "echo begun; sleep 1000"); r.Status != sdk.Unknown || r.Why != "timed out" || r.Text != "begun\n" {
		t.Errorf("%+v", r)
	}
}

// The engine's own words about what it cannot hand over reach the hook.
func TestLabRefusals(t *testing.T) {
	p := openLab(t)
	for want, a := range map[string]*sdk.Attach{
		"device driver":           {Kind: sdk.AttachNVIDIA},
		"acme":                    {Kind: sdk.AttachCDI, IDs: []string{"acme.example/gpu=0"}},
		"/dev/nothing-like-a-gpu": {Kind: sdk.AttachDevices, Nodes: []string{"/dev/nothing-like-a-gpu"}},
		"no-such-program":         nil,
	} {
		args := []string{"true"}
		if a == nil {
			args = []string{"no-such-program"}
		}
		if r := p.labRun(t, t.Context(), a, args...); r.Status != sdk.Unknown || r.Why != "the engine did not start it" || !strings.Contains(r.Text, want) && want != "acme" {
			t.Errorf("%s: %+v", want, r)
		}
	}
	// An engine that does not find it in its mirror asks docker.io, which the lab does not reach.
	if r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.EngineRun, Image: "busybox:0.0.1-none"}); r.Status != sdk.Absent && !strings.HasSuffix(r.Why, ": image.network") {
		t.Errorf("%+v", r)
	}
	if r := p.Probe(t.Context(), sdk.Probe{Kind: sdk.EngineInfo}); r.Status != sdk.Known || r.Engine.Version == "" {
		t.Errorf("%+v", r)
	} else {
		t.Logf("%+v", *r.Engine)
	}
}

// A device node of the machine is in the container, with its group.
func TestLabDevices(t *testing.T) {
	p := openLab(t)
	r := p.labRun(t, t.Context(), &sdk.Attach{Kind: sdk.AttachDevices, Nodes: []string{"/dev/fuse"}, Binds: []string{"/usr/share/zoneinfo"}, Groups: []int{44}},
		"sh", "-c", "id; test -c /dev/fuse && echo node; ls /usr/share/zoneinfo | head -2; touch /usr/share/zoneinfo/x")
	if r.Status != sdk.Known || !strings.Contains(r.Text, "node\n") || !strings.Contains(r.Text, "44") || !strings.Contains(r.Text, "Read-only file system") {
		t.Errorf("%+v", r)
	}
}
