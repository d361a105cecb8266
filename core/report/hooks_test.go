package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

const someDigest = "sha256:642d9e915309fd22b44bbbf191c69f33c1b140e2f80719b5814d4fe99a403e45"

// hooksOfAll is a folder with a hook in each state.
func hooksOfAll() HookList {
	vendor := func(state, file string, problem *reason.Reason) Hook {
		return Hook{ID: "mtgpu", Version: "1.0.0", Title: "Moore Threads GPUs", Publisher: "Moore Threads", Homepage: "https://example.com/mtgpu",
			Kinds: []sdk.Kind{sdk.GPUHook}, State: state, File: file, Size: 16600, Digest: someDigest,
			Key:     &HookKey{ID: "E16FB3BD980932FE", Public: "RWT+MgmYvbNv4f/Sqwdph+xPwyz22Fa/ywqxTnx9/HU0wVdAC3fhUh5F", From: "beside"},
			Match:   sdk.Match{OS: []string{"linux"}, PCI: []string{"0x1ed5"}, Devices: []string{"/dev/mtgpu*"}, Engines: []string{"docker*"}},
			Words:   []string{"look at these device nodes, and hand them to the cluster: /dev/mtgpu*", "offer these to pods: mthreads.com/gpu"},
			Problem: problem}
	}
	of := func(id reason.ID, values ...string) *reason.Reason { return ptr(reason.New(id, values...)) }
	approved := vendor("approved", "mtgpu.wasm", nil)
	approved.Used, approved.Source, approved.Approved, approved.By = true, "oci://registry.test/hooks/mtgpu:1.0.0@"+someDigest, "2030-03-04T05:06:07Z", "ada"
	approved.May = &sdk.Permissions{Devices: []string{"/dev/mtgpu*"}}
	update := vendor("update", "mtgpu-1.1.0.wasm", of(reason.HookPending, "hook", "mtgpu 1.1.0", "name", "mtgpu-1.1.0.wasm"))
	update.Version, update.Changes = "1.1.0", []string{"Version 1.1.0 instead of 1.0.0.", "It asks for more than the approved 1.0.0 may."}
	unsigned := vendor("pending", "ascend.wasm", of(reason.HookUnsigned, "hook", "ascend 0.9.0", "command", "rigup hooks approve ascend.wasm"))
	unsigned.ID, unsigned.Version, unsigned.Publisher, unsigned.Key, unsigned.Unsigned, unsigned.Source = "ascend", "0.9.0", "Somebody", nil, true, "folder"
	changed := vendor("changed", "biren.wasm", ptr(reason.New(reason.HookChanged, "hook", "biren", "name", "biren.wasm").With("It is no hook.")))
	changed.ID = "biren"
	nothing := vendor("pending", "mtgpu.wasm", of(reason.HookPending, "hook", "mtgpu 1.0.0", "name", "mtgpu"))
	nothing.Words, nothing.Match, nothing.Kinds = nil, sdk.Match{}, []sdk.Kind{sdk.GPUHook, sdk.EnvironmentHook}
	long := vendor("pending", "long.wasm", of(reason.HookPending, "hook", "long 1.0.0", "name", "long"))
	long.ID, long.Version = strings.Repeat("long-", 8), "1.0.0-"+strings.Repeat("9", 40)
	long.Publisher = "a publisher \x1b[31mwho\x1b[0m has quite a lot to say about itself and goes on and on"
	return HookList{
		Dir: "/home/ada/.rigup/hooks",
		Hooks: []Hook{
			{ID: "nvidia", Version: "1.0.0", Title: "NVIDIA GPUs", Publisher: "rigup", Kinds: []sdk.Kind{sdk.GPUHook}, State: "built-in", Used: true,
				Source: "comes with rigup", Match: sdk.Match{PCI: []string{"0x10de"}}, May: &sdk.Permissions{}, Words: []string{"have rigup check the machine: list PCI devices"}},
			{ID: "amd", Version: "1.0.0", Title: "AMD GPUs", Publisher: "rigup", Kinds: []sdk.Kind{sdk.GPUHook}, State: "disabled"},
			{ID: "native", Version: "1.0.0", Publisher: "rigup", Kinds: []sdk.Kind{sdk.EnvironmentHook}, State: "overridden"},
			approved, update, unsigned, changed, nothing, long,
			vendor("copy", "again.wasm", of(reason.HookCopy, "file", "again.wasm", "other", "mtgpu.wasm")),
			{ID: "gone", Version: "1.0.0", Publisher: "Somebody", Kinds: []sdk.Kind{sdk.GPUHook}, State: "missing", File: "gone.wasm",
				Problem: of(reason.HookMissing, "hook", "gone 1.0.0", "file", "gone.wasm", "id", "gone")},
			{State: "broken", File: "page.wasm", Size: 812, Problem: of(reason.HookInvalid, "file", "page.wasm", "what", "it is not a WebAssembly module", "remove", "rigup hooks remove page.wasm")},
		},
		Problems: []reason.Reason{reason.New(reason.HookLockDamaged, "path", "/home/ada/.rigup/hooks/hooks.lock.json").With("its content does not match its checksum")},
	}
}

func TestGoldenHooks(t *testing.T) {
	l := hooksOfAll()
	for _, width := range []int{100, 60} {
		o := Options{Width: func() int { return width }}
		page := map[string]string{
			"hooks-list": l.RenderList(o), "hooks-info": l.RenderInfo(o), "hooks-none": HookList{Dir: l.Dir}.RenderList(o),
			"hooks-approve": HookApproval{Hook: l.Hooks[7], Questions: []string{"It was not approved on this machine before."}}.Render(o),
			"hooks-update": HookApproval{Hook: l.Hooks[4], Questions: l.Hooks[4].Changes[1:],
				More: []string{"read these files of this machine: /proc/driver/mtgpu/version"}}.Render(o),
			"hooks-approved": HookChange{Text: []string{"mtgpu 1.0.0 is approved.", "Its later versions have to be signed with the same key, E16FB3BD980932FE."}}.Render(o),
		}
		for name, got := range page {
			golden(t, fmt.Sprintf("live-%d/%s.txt", width, name), got)
			for _, line := range strings.Split(got, "\n") {
				copied := strings.Contains(line, someDigest) || strings.Contains(line, "RWT+") || strings.Contains(line, "rigup hooks")
				if columns(line) > width && !copied {
					t.Errorf("%s is wider than %d: %q", name, width, line)
				}
			}
			if strings.ContainsAny(got, "\x1b") {
				t.Errorf("%s: a manifest reaches the terminal", name)
			}
		}
	}
	o := Options{Color: true}
	if got, plain := unpainted(l.RenderList(o)+l.RenderInfo(o)), l.RenderList(Options{})+l.RenderInfo(Options{}); got != plain {
		t.Errorf("painted:\n%s\nplain:\n%s", got, plain)
	}
}

func TestHookSchemasAreCurrent(t *testing.T) {
	schemaFile(t, "hooks.schema.json", "rigup hooks list --output json, and info", open(strict[HookList](t)))
	schemaFile(t, "hook-change.schema.json", "rigup hooks add --output json, and approve, remove, enable, disable", open(strict[HookChange](t)))
	l := hooksOfAll()
	b, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	validate[HookList](t, "hooks.schema.json", b)
	for i := range l.Hooks {
		b, err := json.Marshal(HookChange{Action: "approve", Changed: true, Hook: &l.Hooks[i], Text: []string{"x"}, Files: []string{"a.wasm"}})
		if err != nil {
			t.Fatal(err)
		}
		validate[HookChange](t, "hook-change.schema.json", b)
	}
}
