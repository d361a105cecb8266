package release

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rigup.dev/rigup/core/reason"
)

func TestMerge_Precedence(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	one, two := file("1.yaml", "a: {x: 1, z: 1}\nl: [1, 2]\n"), file("2.yaml", "a: {z: 2}\n")
	gpu := map[string]any{"env": map[string]any{"GPU_LIMITS": ""}}
	tests := map[string]struct {
		in   Input
		want string
		err  []string
	}{
		"nothing":            {want: `{}`},
		"files, then set":    {in: Input{Files: []string{one, two}, Set: []string{"a.x=3,l[1]=9", "b.c=true"}}, want: `{"a":{"x":3,"z":2},"b":{"c":true},"l":[1,9]}`},
		"managed wins":       {in: Input{Set: []string{"env.X=1"}, Managed: gpu}, want: `{"env":{"GPU_LIMITS":"","X":1}}`},
		"the same is fine":   {in: Input{Set: []string{"env.GPU_LIMITS="}, Managed: gpu}, want: `{"env":{"GPU_LIMITS":""}}`},
		"G1 set on managed":  {in: Input{Set: []string{"env.GPU_LIMITS=vendor.test/gpu=1"}, Managed: gpu}, err: []string{"--set", "env.GPU_LIMITS=vendor.test/gpu=1", "env.GPU_LIMITS is written by rigup"}},
		"G1 file on managed": {in: Input{Files: []string{file("3.yaml", "env: {GPU_LIMITS: x}\n")}, Managed: gpu}, err: []string{"--values", "3.yaml", "env.GPU_LIMITS"}},
		"G1 map on managed":  {in: Input{Set: []string{"env=1"}, Managed: gpu}, err: []string{"--set", "env is written by rigup"}},
		"no key":             {in: Input{Set: []string{"abc"}}, err: []string{"--set", "abc", "key=value"}},
		"no file":            {in: Input{Files: []string{"/no/such.yaml"}}, err: []string{"--values", "/no/such.yaml", "no such file"}},
		"no map":             {in: Input{Files: []string{file("4.yaml", "- 1\n")}}, err: []string{"--values", "4.yaml", "YAML map"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Merge(tt.in)
			for _, w := range tt.err {
				if err == nil || !strings.Contains(err.Error(), w) || reason.Of(err).ID != reason.UsageValue {
					t.Errorf("%v does not say %q", err, w)
				}
			}
			if tt.err != nil {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := json.Marshal(got); string(b) != tt.want {
				t.Errorf("got %s, want %s", b, tt.want)
			}
		})
	}
	if gpu["env"].(map[string]any)["X"] != nil {
		t.Error("the managed values were changed")
	}
}

func TestDiffering_NamesPathsOnly(t *testing.T) {
	got := strings.Join(differing(map[string]any{"a": map[string]any{"b": 1, "gone": 1}, "n": float64(2)}, map[string]any{"a": map[string]any{"b": 2}, "n": int64(2), "new": map[string]any{"deep": "s3cret"}, "none": map[string]any{}}), " ")
	if got != "a.b a.gone new.deep none" {
		t.Error(got)
	}
}
