package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rigup.dev/rigup/core/event"
)

// hookEvents are what hooks said in a run with JSON output.
func hookEvents(all []event.Event) (out []event.Hook) {
	for _, e := range all {
		if e.Type == event.TypeHook {
			out = append(out, *e.Hook)
		}
	}
	return out
}

// A plan says which hook said what, and from which facts; what was said once is remembered.
func TestPlanExplainsTheDecision(t *testing.T) {
	w := newWorld(t)
	cold := w.ok("plan", "--explain")
	contains(t, cold.stdout, "How this was decided", "environment hook native", "matches", "recognises", "decides")
	first := hookEvents(events(t, w.ok("plan", "--output", "json").stdout))
	if len(first) == 0 {
		t.Fatal("no hook was asked")
	}
	for _, h := range first {
		if !h.Remembered {
			t.Errorf("H5: asked again on an unchanged machine: %+v", h)
		}
	}
}

var nvidiaWithoutDriver = hardware{cards: []card{
	{address: "0000:00:02.0", vendor: "0x8086", device: "0xa7a0", class: "0x030000", driver: "i915"},
	{address: "0000:01:00.0", vendor: "0x10de", device: "0x28a1", class: "0x030000"},
}}

// G4, G11: the card goes before the GPU inside of the processor, and its reason is its own.
func TestG4_ACardWithoutDriverIsNamedWithItsRemedy(t *testing.T) {
	w := newWorld(t)
	e := result(t, w.planOn(nvidiaWithoutDriver, "--output", "json"))
	if e.Mode != "cpu" || e.Reason == nil || !strings.HasPrefix(string(e.Reason.ID), "nvidia.") || len(e.Reason.Remedy) == 0 {
		t.Errorf("%+v", e.Reason)
	}
}

var mooreThreads = hardware{
	cards: []card{
		{address: "0000:03:00.0", vendor: "0x1a03", device: "0x2000", class: "0x030000", driver: "ast"},
		{address: "0000:3b:00.0", vendor: "0x1ed5", device: "0x0222", class: "0x030000", driver: "mtgpu"},
	},
	nodes:   []string{"/dev/mtgpu.0", "/dev/dri/card1", "/dev/dri/renderD128"},
	modules: map[string]string{"mtgpu": "2.7.0"},
}

// A vendor that rigup does not know is added by dropping its file into a folder: the executable stays as it is.
func TestAVendorIsDroppedIn(t *testing.T) {
	w := newWorld(t)
	packed, err := filepath.Glob(filepath.Join(tree(), "bin/hooks/moorethreads.wasm*"))
	if must(t, err); len(packed) != 3 {
		t.Fatalf("test/hooks.sh builds the module, its signature and its key: there are %v", packed)
	}
	if e := result(t, w.planOn(mooreThreads, "--output", "json")); e.Reason == nil || e.Reason.ID != "gpu.no-hook" {
		t.Errorf("before: %+v", e.Reason)
	}

	folder := filepath.Join(w.home, ".rigup/hooks")
	must(t, os.MkdirAll(folder, 0o700))
	for _, from := range packed {
		b, err := os.ReadFile(from)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(folder, filepath.Base(from)), b, 0o600))
	}
	all := events(t, w.planOn(mooreThreads, "--output", "json"))
	for _, h := range hookEvents(all) {
		if strings.HasPrefix(h.Name, "moorethreads") {
			t.Errorf("H2: it was run before it was approved: %+v", h)
		}
	}
	if !warned(all, "hook.pending") {
		t.Error("that a hook waits was not said")
	}

	refused := w.fails(2, []string{"sha256:"}, "hooks", "approve", "moorethreads").all()
	digest := strings.Fields(refused[strings.Index(refused, "--accept sha256:"):])[1]
	key := strings.Fields(refused[strings.Index(refused, "--key "):])[1]
	w.ok("hooks", "approve", "moorethreads", "--accept", digest, "--key", key)
	contains(t, w.ok("hooks", "list").stdout, "moorethreads", "approved")

	out := w.planOn(mooreThreads, "--explain")
	contains(t, out, "gpu hook moorethreads", "PCI 0x1ed5:0x0222 at 0000:3b:00.0", "recognises", "decides")
	e := result(t, w.planOn(mooreThreads, "--output", "json"))
	if e.Reason == nil || e.Reason.ID != "gpu.not-supported-yet" || !strings.Contains(e.Reason.Text, "Moore Threads") {
		t.Errorf("approved: %+v", e.Reason)
	}

	// H2: bytes that were swapped after the approval do not run.
	module, err := os.OpenFile(filepath.Join(folder, "moorethreads.wasm"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = module.WriteString("\x00\x02\x01x") // a section more: still a module, but not the approved one
	must(t, errors.Join(err, module.Close()))
	all = events(t, w.planOn(mooreThreads, "--output", "json"))
	if !warned(all, "hook.changed") || len(hookEvents(all)) == 0 {
		t.Error("that the file changed was not said")
	}
	for _, h := range hookEvents(all) {
		if strings.HasPrefix(h.Name, "moorethreads") {
			t.Errorf("H2: it was run after it changed: %+v", h)
		}
	}
}

func warned(all []event.Event, id string) bool {
	for _, e := range all {
		if e.Type == event.TypeWarning && e.Reason != nil && string(e.Reason.ID) == id {
			return true
		}
	}
	return false
}
