package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/builtin/catalog"
	"rigup.dev/rigup/hooks/builtin/module"
	"rigup.dev/rigup/hooks/sdk"
	"rigup.dev/rigup/test/machines"
)

// TestMain makes the test program the host's child, as rigup itself is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == hookhost.ChildArg {
		os.Exit(hookhost.Child(context.Background(), os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// last remembers nothing and keeps the bytes of the last response.
type last struct {
	mu       sync.Mutex
	response []byte
}

func (l *last) Get(string) ([]byte, bool) { return nil, false }

func (l *last) Put(_ string, response []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.response = bytes.Clone(response)
}

// both asks the module and the Go functions, and holds that they write the same bytes.
type both struct {
	t     *testing.T
	host  *hookhost.Host
	last  *last
	asked map[string]int
}

func (b *both) Ask(ctx context.Context, m hookhost.Module, req sdk.Request) (hookhost.Answer, error) {
	b.asked[req.Hook+" "+string(req.Phase)]++
	a, err := b.host.Ask(ctx, m, req)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", req.Hook, err, a.Log)
	}
	request, err := json.Marshal(req)
	if err != nil {
		b.t.Fatal(err)
	}
	var native bytes.Buffer
	if err := sdk.Serve(bytes.NewReader(request), &native, catalog.Hooks()); err != nil {
		b.t.Fatal(err)
	}
	if !bytes.Equal(native.Bytes(), b.last.response) {
		b.t.Errorf("%s, %s: the module says %s and the functions say %s", req.Hook, req.Phase, b.last.response, native.Bytes())
	}
	return a, nil
}

func (b *both) Close() error { return b.host.Close() }

// TestH5_TheModuleSaysWhatTheFunctionsSay decides about every machine with the module, through the real host, and
// with the functions that it is made of. Each half of the machines has a host of its own: interpreting takes its time.
func TestH5_TheModuleSaysWhatTheFunctionsSay(t *testing.T) {
	built, err := module.Build()
	if err != nil {
		t.Fatal(err)
	}
	mod := hookhost.NewModule("built in", built)
	var hooks []decision.Hook
	for _, m := range catalog.Manifests() {
		hooks = append(hooks, decision.Hook{Manifest: m, Grant: m.Permissions, Module: mod, BuiltIn: true})
	}
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	asked := make([]map[string]int, 2)
	t.Run("machines", func(t *testing.T) {
		for half := range asked {
			asked[half] = map[string]int{}
			t.Run(strconv.Itoa(half), func(t *testing.T) {
				t.Parallel()
				l := &last{}
				// What is held here is what the module says; a busy machine may take its time for that.
				patient := hookhost.Limits{Run: time.Minute, Kill: 2 * time.Minute}
				run := &both{t: t, host: hookhost.New(hookhost.Options{Memory: l, Limits: patient}), last: l, asked: asked[half]}
				defer func() { _ = run.Close() }()
				for i := half; i < len(all); i += len(asked) {
					d := decision.Decider{Hooks: hooks, Run: run, Probe: all[i]}
					p, err := d.Decide(context.Background(), all[i].Facts, true)
					if err != nil {
						t.Fatal(err)
					}
					if len(p.Failed) > 0 {
						t.Errorf("%s: %+v", all[i].Name, p.Failed)
					}
				}
			})
		}
	})
	for id := range catalog.Hooks() {
		for _, phase := range []sdk.Phase{sdk.Detect, sdk.Decide} {
			if key := id + " " + string(phase); asked[0][key]+asked[1][key] == 0 {
				t.Errorf("nobody was asked: %s", key)
			}
		}
	}
}

func TestTheModuleCarriesAValidManifestOfEveryHook(t *testing.T) {
	built, err := module.Build()
	if err != nil {
		t.Fatal(err)
	}
	again, err := module.Build()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, again) {
		t.Error("built twice, it is not the same")
	}
	st, err := hookhost.Inspect(built)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	hooks := catalog.Hooks()
	for _, m := range st.Manifests {
		if err := grant.Valid(m); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if hooks[m.ID] == nil {
			t.Errorf("%s is no hook of the module", m.ID)
		}
		ids = append(ids, m.ID)
	}
	if len(ids) != len(hooks) || !slices.IsSorted(ids) {
		t.Errorf("%q for %d hooks", ids, len(hooks))
	}
}
