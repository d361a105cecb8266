package hookstore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// H1: who can only put files into the folder cannot make every run read them all, and hides no approved hook behind
// them.
func TestH1_ManyFilesDoNotSlowEveryRun(t *testing.T) {
	k := newKit(t)
	k.drop("zz.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("zz.wasm", Options{})
	for i := range maxWaiting + 7 {
		must(t, os.WriteFile(k.path(fmt.Sprintf("a%03d.wasm", i)), []byte("no hook"), 0o600))
	}
	for _, v := range []View{k.List(), k.Glance()} {
		files := 0
		for _, h := range v.Hooks {
			if h.File != "" {
				files++
			}
		}
		if files != maxWaiting+1 {
			t.Errorf("%d files were looked at", files)
		}
		if len(v.Problems) != 1 || v.Problems[0].ID != reason.HookCrowded {
			t.Errorf("%+v", v.Problems)
		}
	}
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
}

// H3: a publisher's name that only looks like another one is a question with that in it.
func TestH3_ANameOfMixedAlphabetsIsSaid(t *testing.T) {
	for publisher, said := range map[string]bool{"NV\u0406DIA": true, "\u0410MD": true, "NVIDIA": false, "摩尔线程 (Moore Threads)": false, "\u0410\u043c\u0435": false, "Größe": false} {
		k := newKit(t)
		k.drop("x.wasm", manifest("x 1.0.0", func(m *sdk.Manifest) { m.Publisher = publisher }), k.key)
		r, err := k.Review("x", Options{})
		must(t, err)
		if got := strings.Contains(strings.Join(r.Questions, " "), "mixes alphabets"); got != said {
			t.Errorf("%s: %q", publisher, r.Questions)
		}
	}
}
