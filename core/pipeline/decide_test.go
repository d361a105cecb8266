package pipeline

import (
	"context"
	"strings"
	"testing"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// environment installs an environment hook with this decision.
func (m *machine) environment(e sdk.Environment) {
	if e.ID == "" {
		e.ID, e.Title = "desktop", "A desktop"
	}
	e.Memory, e.Paths = sdk.VirtualMemory, sdk.SharedPaths
	m.hook(sdk.Manifest{ID: e.ID, Version: "1.0.0", Kinds: []sdk.Kind{sdk.EnvironmentHook}}, func(req sdk.Request) sdk.Response {
		if req.Phase == sdk.Detect {
			return sdk.Claiming(sdk.Claim{Confidence: 90}, "it looks like one")
		}
		return sdk.Surrounding(e, "so it is")
	})
}

// An environment in which no cluster works is named before anything is made, with all that stands in the way.
func TestAnEnvironmentThatBlocksStopsTheRun(t *testing.T) {
	m := newMachine(t)
	m.environment(sdk.Environment{Blockers: []sdk.Reason{
		{ID: "windows-containers", Text: "The engine runs Windows containers.", Remedy: []string{"switch to Linux containers"}},
		{ID: "too-small", Text: "The virtual machine is too small."},
	}})
	h, ended := m.install()
	if ended.Exit != reason.ExitUsage || ended.Reason.ID != reason.EnvironmentBlocked || len(m.engine.Changes) > 0 {
		t.Errorf("%+v, %v", ended, m.engine.Changes)
	}
	if len(ended.Reason.Remedy) != 1 || !strings.Contains(ended.Reason.Text, "the engine runs Windows containers") {
		t.Errorf("%+v", ended.Reason)
	}
	told := 0
	for _, e := range h.all {
		if e.Type == event.TypeWarning && e.State == event.Failed {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the other blocker was told %d times", told)
	}
}

func TestAnEnvironmentWarnsAndSaysWhatARestartDoes(t *testing.T) {
	m := newMachine(t)
	m.environment(sdk.Environment{Restart: "comes back by itself when the desktop starts", Warnings: []sdk.Reason{{ID: "slow", Text: "It is slow here."}}})
	h, ended := m.install()
	if ended.Exit != 0 || h.result().Result.Restart != "comes back by itself when the desktop starts" {
		t.Errorf("%+v %+v", ended, h.result().Result)
	}
	if !m.warned(h, "desktop.slow") {
		t.Error("the warning was not told")
	}
	if s := Status(context.Background(), m.deps(), m.config()); s.Restart != "comes back by itself when the desktop starts" {
		t.Errorf("status: %q", s.Restart)
	}
}

func (m *machine) warned(h *heard, id reason.ID) bool {
	for _, e := range h.all {
		if e.Type == event.TypeWarning && e.Reason != nil && e.Reason.ID == id {
			return true
		}
	}
	return false
}

// G5: a hook that fails is a warning beside a decision of another, and ends nothing.
func TestG5_AFailedHookIsAWarning(t *testing.T) {
	m := newMachine(t)
	m.card("0x10de", "0000:01:00.0")
	m.hook(sdk.Manifest{ID: "broken", Version: "0.1.0", Publisher: "Acme", Kinds: []sdk.Kind{sdk.EnvironmentHook}}, func(sdk.Request) sdk.Response {
		return sdk.Surrounding(sdk.Environment{ID: "../x"})
	})
	h, ended := m.install()
	if ended.Exit != 0 || !m.warned(h, reason.HookFailed) && !m.warned(h, reason.HookBeyond) {
		t.Errorf("%+v", ended)
	}
	if h.result().Reason.ID != reason.GPUNotInUse {
		t.Errorf("%+v", h.result().Reason)
	}
}

func TestGPUOffAsksNoGPUHook(t *testing.T) {
	m := newMachine(t)
	m.card("0x10de", "0000:01:00.0")
	m.install("gpu=off")
	for _, req := range m.runner.Asked() {
		if req.Kind == sdk.GPUHook {
			t.Errorf("%s was asked", req.Hook)
		}
	}
	if !m.runner.Closed() {
		t.Error("the host of the hooks is still open")
	}
}

// What waits for approval is said, and is no reason to stop.
func TestNotesAboutHooksAreTold(t *testing.T) {
	m := newMachine(t)
	m.notes = []reason.Reason{reason.New(reason.HookPending, "id", "acme", "file", "acme.wasm")}
	if h, ended := m.install(); ended.Exit != 0 || !m.warned(h, reason.HookPending) {
		t.Errorf("%+v", ended)
	}
}

// What hooks say is in the stream of every run, for support.
func TestWhatHooksSayIsInTheStream(t *testing.T) {
	m := newMachine(t)
	m.card("0x10de", "0000:01:00.0")
	h, _ := m.run(true)
	var said []string
	waited := false // that a hook is waited for is told, while it is
	for _, e := range h.all {
		if e.Type == event.TypeStep && e.Stage == "decide" && e.Text == "asking the hook nvidia" {
			waited = true
		}
		if e.Type == event.TypeHook {
			said = append(said, e.Hook.Name+" "+e.Hook.Phase+" "+e.Hook.Answer)
		}
	}
	if got := strings.Join(said, ", "); got != "nvidia 1.0.0 (built in) detect claim, nvidia 1.0.0 (built in) decide decision" || !waited {
		t.Error(got, waited)
	}
}
