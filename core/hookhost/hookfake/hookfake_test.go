package hookfake

import (
	"context"
	"errors"
	"testing"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

func TestRunner(t *testing.T) {
	req := sdk.Request{API: sdk.API, Phase: sdk.Detect, Kind: sdk.GPUHook}
	r := &Runner{
		Hooks: map[string]sdk.Hook{
			"good":  func(q sdk.Request) sdk.Response { return sdk.No("asked as " + q.Hook) },
			"wrong": func(sdk.Request) sdk.Response { return sdk.Giving(sdk.Reason{ID: "a", Text: "b"}) },
		},
		Raw:      map[string]func([]byte) []byte{"two": func([]byte) []byte { return []byte("{}{}") }},
		Failures: map[string]*hookhost.Failure{"late": {Cause: hookhost.TimedOut, Text: "did not end within 2 s", Log: "log"}},
	}
	for _, c := range []struct {
		hook  string
		cause hookhost.Cause
	}{{"good", ""}, {"wrong", hookhost.Garbled}, {"two", hookhost.Garbled}, {"late", hookhost.TimedOut}, {"missing", hookhost.Crashed}} {
		req.Hook = c.hook
		a, err := r.Ask(t.Context(), hookhost.Module{}, req)
		var f *hookhost.Failure
		switch {
		case c.cause == "" && (err != nil || a.Response.Why[0] != "asked as good"):
			t.Errorf("%s: %v, %v", c.hook, a, err)
		case c.cause != "" && (!errors.As(err, &f) || f.Cause != c.cause):
			t.Errorf("%s: %v, want %v", c.hook, err, c.cause)
		}
	}
	if asked := r.Asked(); len(asked) != 5 || asked[4].Hook != "missing" {
		t.Errorf("asked %v", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Ask(ctx, hookhost.Module{}, req); !errors.Is(err, context.Canceled) {
		t.Errorf("failed with %v, want the context's error", err)
	}
	if r.Closed() {
		t.Error("it is closed already")
	}
	if err := r.Close(); err != nil || !r.Closed() {
		t.Errorf("it is not closed, %v", err)
	}
}
