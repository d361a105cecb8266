package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

// publisher signs hooks and pushes them to the lab's private registry.
type publisher struct {
	w    *world
	key  minisign.PrivateKey
	pub  minisign.PublicKey
	repo string
}

func (w *world) publisher(repo string) publisher {
	w.t.Helper()
	pub, key, err := minisign.GenerateKey(nil)
	must(w.t, err)
	return publisher{w, key, pub, "oci://" + w.lab.Registry.Address + "/" + repo}
}

// at is the publisher for a part of the test.
func (p publisher) at(w *world) publisher { p.w = w; return p }

// push publishes a version of a hook that would hang whoever ran it before it was approved.
func (p publisher) push(version string, devices ...string) (ref string, a hookstore.Artifact) {
	p.w.t.Helper()
	m := sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: "mtgpu", Version: version, Title: "Moore Threads GPUs", Publisher: "Moore Threads",
		Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{"0x1ed5"}}, Permissions: sdk.Permissions{Devices: devices}}
	a.Module = wasmtest.WithManifest(wasmtest.Loop(), m)
	a.Signature = minisign.SignWithComments(p.key, a.Module, hookstore.SignedComment(m), "")
	a.Key = []byte(p.pub.String())
	account := func(context.Context, string) (engine.Credentials, error) {
		return engine.Credentials{Username: p.w.lab.Registry.User, Password: p.w.lab.Registry.Password}, nil
	}
	ref = p.repo + ":" + version
	_, err := hookstore.Fetcher{PlainHTTP: true, Credentials: account}.Push(p.w.ctx(), ref, a)
	must(p.w.t, err)
	return ref, a
}

// hook is the one hook of this id, in this state.
func (w *world) hook(id, state string) report.Hook {
	w.t.Helper()
	var l report.HookList
	must(w.t, json.Unmarshal([]byte(w.ok("hooks", "info", id, "--output", "json").stdout), &l))
	if len(l.Hooks) != 1 || l.Hooks[0].State != state {
		w.t.Fatalf("%s is %+v, want one that is %s", id, l.Hooks, state)
	}
	return l.Hooks[0]
}

// terminal runs the program on a terminal, where somebody types the answer.
func (w *world) terminal(answer string, args ...string) string {
	w.t.Helper()
	line := append([]string{binary(w.t)}, args...)
	c := exec.CommandContext(w.ctx(), "script", "-qec", strings.Join(line, " "), "/dev/null")
	c.Env, c.Dir, c.Stdin = append([]string{"TERM=xterm", "NO_COLOR=1"}, w.env...), w.home, strings.NewReader(answer+"\n")
	out, err := c.CombinedOutput()
	w.t.Logf("rigup %s, answered %q: %v\n%s", strings.Join(args, " "), answer, err, indent(string(out)))
	must(w.t, err)
	return strings.Join(strings.Fields(string(out)), " ")
}

// TestH2_H3_HooksOfOthers goes the whole way of a vendor's hook: out of a private registry into the folder, approved
// for what it asks, updated, quarantined after its file was swapped, switched off and removed.
func TestH2_H3_HooksOfOthers(t *testing.T) {
	w := newWorld(t)
	p := w.publisher("hooks/mtgpu")
	first, a := p.push("1.0.0", "/dev/mtgpu*")

	w.fails(1, []string{"refused access", "docker login " + w.lab.Registry.Address}, "hooks", "add", first, "--plain-http")
	w.login()
	r := w.fails(2, []string{"needs the approval of a person", "rigup hooks approve mtgpu-1.0.0.wasm --accept sha256:"}, "hooks", "add", first, "--plain-http", "--yes")
	h := w.hook("mtgpu", "pending")
	contains(t, r.all(), h.Digest)
	contains(t, w.ok("hooks", "info", "mtgpu").stdout, "waits for approval", "/dev/mtgpu*", "Moore Threads", h.Key.ID, "only who serves the hook")
	w.fails(2, []string{"--accept cannot be"}, "hooks", "approve", "mtgpu", "--accept", "sha256:"+strings.Repeat("0", 64))
	contains(t, w.ok("hooks", "list").stdout, "mtgpu 1.0.0", "waits for approval")
	w.fails(2, []string{"came together with the hook; --key accepts it"}, "hooks", "approve", "mtgpu", "--accept", h.Digest)
	contains(t, w.ok("hooks", "approve", "mtgpu", "--accept", h.Digest, "--key", h.Key.Public).stdout, "mtgpu 1.0.0 is approved.")
	h = w.hook("mtgpu", "approved")
	if !h.Used || h.Key.Public != p.pub.String() || !strings.HasPrefix(h.Source, first+"@sha256:") {
		t.Errorf("%+v", h)
	}

	t.Run("an update that asks for no more is no question", func(t *testing.T) {
		w := w.at(t)
		ref, _ := p.at(w).push("1.0.1", "/dev/mtgpu*")
		contains(t, w.ok("hooks", "add", ref, "--plain-http").stdout, "signed with the key of 1.0.0 and asks for no more")
		h := w.hook("mtgpu", "approved")
		if h.Version != "1.0.1" || !strings.HasPrefix(h.Source, ref+"@sha256:") {
			t.Errorf("%+v", h)
		}
		w.fails(1, []string{"is older than the approved 1.0.1"}, "hooks", "add", first, "--plain-http")
	})
	t.Run("one that asks for more is one, on a terminal", func(t *testing.T) {
		w := w.at(t)
		ref, _ := p.at(w).push("1.1.0", "/dev/mtgpu*", "/dev/mtlink*")
		contains(t, w.terminal("n", "hooks", "add", ref, "--plain-http"), "more than the approved 1.0.1", "/dev/mtlink*", "Approve it?", "Nothing was approved")
		w.hook("mtgpu", "approved")
		contains(t, w.terminal("y", "hooks", "add", ref, "--plain-http"), "is that of the approved version", "mtgpu 1.1.0 is approved")
		if h := w.hook("mtgpu", "approved"); h.Version != "1.1.0" {
			t.Errorf("%+v", h)
		}
	})
	t.Run("another publisher is refused", func(t *testing.T) {
		w := w.at(t)
		ref, _ := w.publisher("hooks/other").push("2.0.0", "/dev/mtgpu*")
		w.fails(1, []string{"is signed with key", "rigup hooks remove mtgpu"}, "hooks", "add", ref, "--plain-http")
		w.hook("mtgpu", "approved")
	})
	t.Run("other bytes in its place are not used", func(t *testing.T) {
		w := w.at(t)
		file := filepath.Join(w.home, ".rigup/hooks", w.hook("mtgpu", "approved").File)
		good, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(file, append(a.Module, wasmtest.Custom("x", nil)...), 0o600))
		if h := w.hook("mtgpu", "changed"); h.Used || h.Problem == nil {
			t.Errorf("%+v", h)
		}
		must(t, os.WriteFile(file, good, 0o600))
		w.hook("mtgpu", "approved")
	})
	t.Run("off, on and gone", func(t *testing.T) {
		w := w.at(t)
		w.ok("hooks", "disable", "mtgpu")
		w.hook("mtgpu", "disabled")
		w.ok("hooks", "enable", "mtgpu")
		w.hook("mtgpu", "approved")
		w.ok("hooks", "remove", "mtgpu")
		w.fails(2, []string{"There is no hook mtgpu."}, "hooks", "info", "mtgpu")
	})
	t.Run("no secret is anywhere", func(t *testing.T) {
		must(t, filepath.WalkDir(filepath.Join(w.home, ".rigup"), func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			if strings.Contains(string(b), w.lab.Registry.Password) {
				t.Errorf("E2: the password is in %s", path)
			}
			return err
		}))
		if strings.Contains(r.all(), w.lab.Registry.Password) {
			t.Error("E2: the password is on the screen")
		}
	})
}
