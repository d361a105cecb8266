package hookstore

import (
	"fmt"
	"os"
	"testing"

	"rigup.dev/rigup/core/reason"
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
