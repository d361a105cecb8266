package hookhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/sdk"
)

// full are responses of every kind.
func full() map[sdk.ResponseKind]sdk.Response {
	return map[sdk.ResponseKind]sdk.Response{
		sdk.Decline:  sdk.No("nothing here"),
		sdk.Ask:      sdk.Probing(sdk.Probe{ID: "a", Kind: sdk.PCIList}),
		sdk.Claimed:  sdk.Claiming(sdk.Claim{Confidence: 90, Devices: []sdk.Device{{ID: "0000:01:00.0", Model: "GPU"}}}),
		sdk.Because:  sdk.Giving(sdk.Reason{ID: "driver-missing", Text: "There is no driver."}),
		sdk.Decision: sdk.Using(sdk.GPU{Vendor: "NVIDIA", Resource: "nvidia.com/gpu", Attach: []sdk.Attach{{Kind: sdk.AttachDevices, Env: map[string]string{"A": "b"}}}, CDI: sdk.CDI{Mode: sdk.CDIStatic, Spec: json.RawMessage(`{"cdiVersion":"0.6.0"}`)}}),
	}
}

func check(t *testing.T, req sdk.Request, r sdk.Response) (sdk.Response, error) {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return CheckResponse(req, b)
}

func TestKindsOfPhases(t *testing.T) {
	for phase, kinds := range map[sdk.Phase][]sdk.ResponseKind{
		sdk.Detect:   {sdk.Decline, sdk.Ask, sdk.Claimed},
		sdk.Decide:   {sdk.Ask, sdk.Because, sdk.Decision},
		sdk.Diagnose: {sdk.Decline, sdk.Ask, sdk.Because},
		"":           {},
	} {
		for kind, r := range full() {
			_, err := check(t, sdk.Request{Kind: sdk.GPUHook, Phase: phase}, r)
			if want := slices.Contains(kinds, kind); (err == nil) != want {
				t.Errorf("the phase %s takes %s: %v, want %v", phase, kind, err, want)
			}
		}
	}
}

func TestDecisionOfTheKind(t *testing.T) {
	gpu, env := full()[sdk.Decision], sdk.Surrounding(sdk.Environment{ID: "native", Title: "Docker"})
	ask := func(k sdk.Kind, r sdk.Response) error {
		_, err := check(t, sdk.Request{Kind: k, Phase: sdk.Decide}, r)
		return err
	}
	if err := errors.Join(ask(sdk.GPUHook, gpu), ask(sdk.EnvironmentHook, env)); err != nil {
		t.Error(err)
	}
	if ask(sdk.GPUHook, env) == nil || ask(sdk.EnvironmentHook, gpu) == nil {
		t.Error("a hook decides about something else than it was asked")
	}
	both := gpu
	both.Environment = env.Environment
	if ask(sdk.GPUHook, both) == nil {
		t.Error("a hook decides about two things")
	}
}

// TestSentences holds that what people read is shown without what a terminal acts upon, and that names are not changed
// but refused.
func TestSentences(t *testing.T) {
	r, err := check(t, sdk.Request{Phase: sdk.Diagnose}, sdk.Giving(sdk.Reason{
		ID: "driver-missing", Text: "no\x1b[31m driver\u202e\u200b\nat all\ufeff", Remedy: []string{"do\tthis\r\n"},
		Evidence: []string{strings.Repeat("ä", 600)},
	}, "because\u2066"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q %q %q", r.Why, r.Reason.Text, r.Reason.Remedy)
	if want := `["because"] "no[31m driver at all" ["do this"]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if e := r.Reason.Evidence[0]; e != strings.Repeat("ä", 500) {
		t.Errorf("the evidence has %d bytes", len(e))
	}
	script := sdk.Probing(sdk.Probe{ID: "a", Kind: sdk.EngineRun, Args: []string{"sh", "-c", "true\n\ttrue"}})
	if _, err := check(t, detect(), script); err != nil {
		t.Errorf("a script of two lines: %v", err)
	}
	for field, change := range map[string]func(*sdk.GPU){
		"gpu.resource":            func(g *sdk.GPU) { g.Resource = "nvidia.com/gpu\x00" },
		"gpu.attach[0].env.A":     func(g *sdk.GPU) { g.Attach[0].Env = map[string]string{"A": "\u202e"} },
		"gpu.attach[0].nodes[1]":  func(g *sdk.GPU) { g.Attach[0].Nodes = []string{"/dev/a", "/dev/\u200b"} },
		"gpu.check.expect.output": func(g *sdk.GPU) { g.Check.Expect = &sdk.Expect{Output: strings.Repeat("a", 1001)} },
		"65 entries in gpu.attach[0].env": func(g *sdk.GPU) {
			g.Attach[0].Env = map[string]string{}
			for i := range 65 {
				g.Attach[0].Env[fmt.Sprint(i)] = ""
			}
		},
	} {
		r := full()[sdk.Decision]
		change(r.GPU)
		_, err := check(t, sdk.Request{Kind: sdk.GPUHook, Phase: sdk.Decide}, r)
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%v, want one about %s", err, field)
		}
	}
}

func TestReasons(t *testing.T) {
	for id, ok := range map[string]bool{"a": true, "driver-missing": true, "engine.no-cdi": true, "": false, "Driver": false, "a b": false, "a\n": false, strings.Repeat("a", 65): false} {
		_, err := check(t, sdk.Request{Phase: sdk.Diagnose}, sdk.Giving(sdk.Reason{ID: id, Text: "x"}))
		if (err == nil) != ok {
			t.Errorf("the id %q: %v", id, err)
		}
	}
	if _, err := check(t, sdk.Request{Phase: sdk.Diagnose}, sdk.Giving(sdk.Reason{ID: "a", Text: " \u200b"})); err == nil {
		t.Error("a reason without text is taken")
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\r\nc\rd": "a\tb\ncd", "\x1b[1mx\x9b2J": "[1mx2J", "\xff\xfea": "a", "a\u00adb\u2028c": "abc", "日本": "日本", "é": "é",
		"\U000e0041a\ue000": "a",
	} {
		if got := plain(in, 100); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	if got := line("  a\n\n b\t c ", 3); got != "a b" {
		t.Errorf("%q", got)
	}
	if got := cut("日本", 4); got != "日" {
		t.Errorf("%q", got)
	}
}
