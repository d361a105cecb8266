package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

type namedStatus struct {
	name   string
	exit   int
	status Status
}

func statuses(c *clock) []namedStatus {
	base := func() Status {
		return Status{
			Cluster: "rigup", State: StateRunning, Version: "0.1.0", Machine: native, Mode: "cpu", Reason: &noGPU,
			Since: c.ago(75 * time.Hour), API: "https://127.0.0.1:6550", Context: "rigup", Kubeconfig: "/home/ada/.kube/config",
			Node: "rigup-rigup", NodeImage: "registry.test/k3s:1", Kubernetes: "v1.36.1+k3s1",
			DataDir: "/home/ada/.rigup/clusters/rigup/data", Restart: "comes back by itself when Docker starts",
			Workload: &Workload{Release: "rigup", Namespace: "rigup", Chart: "rigup 0.1.0", Status: "deployed",
				Parts: []Part{{Name: "rigup-jobs-manager", Kind: "Deployment", Ready: 1, Total: 1, OK: true}, {Name: "data", Kind: "StatefulSet", Ready: 2, Total: 2, OK: true}}},
		}
	}
	stopped := base()
	stopped.State, stopped.Since, stopped.API = StateStopped, "", ""
	stopped.Workload = nil
	stopped.Problems = []reason.Reason{reason.New(reason.ClusterStopped, "cluster", "rigup")}

	missing := Status{Cluster: "lab", State: StateMissing, Version: "0.1.0", Machine: native,
		Problems: []reason.Reason{reason.New(reason.ClusterMissing, "cluster", "lab")}}

	gpu := base()
	gpu.Mode, gpu.Reason, gpu.GPU = "gpu", nil, &GPU{Resource: "nvidia.com/gpu", Count: 1}

	notInUse := base()
	why := reason.New(reason.GPUNotInUse, "gpu", "an NVIDIA GeForce RTX 4050").With("0000:01:00.0  10de:28a1")
	notInUse.Reason = &why
	notInUse.Workload.Parts[0] = Part{Name: "rigup-jobs-manager", Kind: "Deployment", Total: 1}
	notInUse.Problems = []reason.Reason{reason.New(reason.WorkloadCrash, "workload", "jobs-manager", "context", "rigup", "namespace", "rigup", "logs", "jobs-manager-7d9 --previous").With("panic: no such file")}

	unknown := Status{Cluster: "rigup", State: StateUnknown, Version: "0.1.0",
		Problems: []reason.Reason{reason.New(reason.EngineTimeout, "limit", "10 s", "what", "list containers")}}

	return []namedStatus{
		{"status-running", 0, base()}, {"status-gpu", 0, gpu}, {"status-stopped", 1, stopped}, {"status-missing", 2, missing},
		{"status-problem", 1, notInUse}, {"status-unknown", 1, unknown},
	}
}

func TestGoldenStatus(t *testing.T) {
	c := newClock()
	for _, s := range statuses(c) {
		for _, width := range []int{100, 60} {
			got := s.status.Render(Options{Now: c.now, Width: func() int { return width }})
			golden(t, fmt.Sprintf("live-%d/%s.txt", width, s.name), got)
		}
		if got := s.status.Exit(); got != s.exit {
			t.Errorf("%s: exit %d, want %d", s.name, got, s.exit)
		}
	}
}

// Colour carries nothing that text does not: without the colours the same text is left.
func TestColourCarriesNothing(t *testing.T) {
	c := newClock()
	for _, s := range statuses(c) {
		plain := s.status.Render(Options{Now: c.now})
		if got := unpainted(s.status.Render(Options{Now: c.now, Color: true})); got != plain {
			t.Errorf("painted:\n%s\nplain:\n%s", got, plain)
		}
	}
}

func TestWords(t *testing.T) {
	for _, x := range []struct{ got, want string }{
		{elapsed(1900 * time.Millisecond), "1 s"},
		{progress(event.Progress{Unit: event.Bytes, Done: 212e6, Total: 389e6}), "212 of 389 MB"},
		{progress(event.Progress{Unit: event.Bytes, Done: 212e6, Total: 3.9e9}), "0.2 of 3.9 GB"},
		{progress(event.Progress{Unit: event.Bytes, Done: 212e6}), "212 MB"},
		{progress(event.Progress{Unit: event.Pods, Done: 2, Total: 3}), "2 of 3 pods"},
		{progress(event.Progress{Unit: event.Seconds, Done: 12, Total: 60}), "12 of 60 s"},
		{clip("abcdef", 6), "abcdef"}, {clip("abcdefg", 6), "abcd.."}, {clip("漢字漢字", 6), "漢字.."},
		{clean("a\x1b]0;title\x07b\nc\u202Ed"), "ab c d"}, {lower("This is"), "this is"}, {lower("NVIDIA is"), "NVIDIA is"},
	} {
		if x.got != x.want {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}

func TestAsk(t *testing.T) {
	for _, x := range []struct {
		in   string
		def  bool
		want Answer
	}{
		{"y\n", false, Yes}, {"\n", true, Yes}, {"\n", false, No}, {"what\nno\n", true, No}, {"", true, NotAsked}, {"YES", false, Yes},
	} {
		var out bytes.Buffer
		got, err := Prompt{In: strings.NewReader(x.in), Out: &out}.Ask(t.Context(), Question{Text: "Rebuild it?", Cost: "It takes a minute.", Default: x.def})
		if got != x.want || err != nil {
			t.Errorf("%q: %v %v", x.in, got, err)
		}
		if !strings.HasPrefix(out.String(), "It takes a minute.\nRebuild it? [") {
			t.Errorf("asked %q", out.String())
		}
	}
}

// E1: a question that nobody answers ends with the run.
func TestE1_AskEndsWithTheContext(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	resumed := false
	got, err := Prompt{In: in, Out: io.Discard, Pause: func() func() { return func() { resumed = true } }}.Ask(ctx, Question{Text: "Go on?"})
	if got != NotAsked || !errors.Is(err, context.Canceled) || !resumed {
		t.Errorf("%v %v, resumed %v", got, err, resumed)
	}
}
