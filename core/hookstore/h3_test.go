package hookstore

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

func TestH3_TheFirstApprovalIsAQuestion(t *testing.T) {
	k := newKit(t)
	b := k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	r, err := k.Review("mtgpu", Options{})
	must(t, err)
	if len(r.Questions) == 0 || !slices.Equal(grant.Words(r.More), grant.Words(r.Manifest.Permissions)) || r.Size != int64(len(b)) {
		t.Errorf("%+v", r)
	}
	// Nothing but the digest of these bytes stands for a person's decision.
	_, err = k.Approve(t.Context(), r, Accepted{})
	why := wantReason(t, err, reason.HookApproval)
	want := "rigup hooks approve mtgpu.wasm --accept " + r.Digest() + " --key " + k.key.Text
	if !slices.Contains(why.Remedy, want) || !strings.Contains(why.Text, "--yes") || why.Exit() != reason.ExitUsage {
		t.Errorf("%+v", why)
	}
	// The digest covers the bytes, and not the key that came with them: whoever serves the hook could have put another
	// one there.
	for _, a := range []Accepted{{Digest: r.Digest()}, {Digest: r.Digest(), Key: k.other.Text}} {
		_, err = k.Approve(t.Context(), r, a)
		if why := wantReason(t, err, reason.HookApproval); !strings.Contains(strings.Join(why.Evidence, " "), "--key accepts it") {
			t.Errorf("%+v", why)
		}
	}
	for _, accepted := range []string{"sha256:0", "yes", strings.ToUpper(r.Digest())} {
		_, err = k.Approve(t.Context(), r, Accepted{Digest: accepted})
		wantReason(t, err, reason.UsageValue)
	}
	k.wantUsable(builtIns)
	done, err := k.Approve(t.Context(), r, r.Accepts())
	must(t, err)
	if e := done.Entry; e.Key != k.key.Text || e.Source != SourceFolder || !e.Enabled || e.Grant.Devices[0] != "/dev/mtgpu*" {
		t.Errorf("%+v", e)
	}
	r, err = k.Review("mtgpu", Options{})
	must(t, err)
	if !r.Same {
		t.Errorf("the same bytes are %+v", r)
	}
}

// Each is a new version beside an approved one; what it takes to approve it.
func TestH3_WhatIsANewQuestion(t *testing.T) {
	more := func(m *sdk.Manifest) { m.Permissions.Devices = append(m.Permissions.Devices, "/dev/mtlink*") }
	for name, c := range map[string]struct {
		next sdk.Manifest
		asks string // part of the question; empty: there is none
	}{
		"newer":               {manifest("mtgpu 1.0.1"), ""},
		"much newer":          {manifest("mtgpu 10.0.0"), ""},
		"asks for less":       {manifest("mtgpu 1.1.0", func(m *sdk.Manifest) { m.Permissions = sdk.Permissions{} }), ""},
		"more devices":        {manifest("mtgpu 1.1.0", more), "more than the approved 1.0.0"},
		"wider glob":          {manifest("mtgpu 1.1.0", func(m *sdk.Manifest) { m.Permissions.Devices = []string{"/dev/mt*"} }), "more than"},
		"another publisher":   {manifest("mtgpu 1.1.0", func(m *sdk.Manifest) { m.Publisher = "Somebody" }), "publisher is Somebody"},
		"another kind":        {manifest("mtgpu 1.1.0", func(m *sdk.Manifest) { m.Kinds = append(m.Kinds, sdk.EnvironmentHook) }), "environment"},
		"same version":        {manifest("mtgpu 1.0.0", func(m *sdk.Manifest) { m.Title = "rebuilt" }), "other bytes"},
		"only build metadata": {manifest("mtgpu 1.0.0+2"), "other bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
			k.approve("mtgpu", Options{})
			k.drop("next.wasm", c.next, k.key)
			k.wantUsable(builtIns + ", mtgpu 1.0.0") // the old one stays in use until then
			r, err := k.Review("next.wasm", Options{})
			must(t, err)
			if asked := strings.Join(r.Questions, " "); !strings.Contains(asked, c.asks) || (asked == "") != (c.asks == "") {
				t.Errorf("the questions are %q", r.Questions)
			}
			_, err = k.Approve(t.Context(), r, Accepted{})
			if c.asks != "" {
				wantReason(t, err, reason.HookApproval)
				k.wantUsable(builtIns + ", mtgpu 1.0.0")
				_, err = k.Approve(t.Context(), r, r.Accepts())
			}
			must(t, err)
			k.wantUsable(builtIns + ", mtgpu " + c.next.Version)
		})
	}
}

func TestH3_AnUpdateSaysWhatChanges(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	next := manifest("mtgpu 1.1.0", func(m *sdk.Manifest) { m.Permissions.Files = []string{"/proc/driver/mtgpu/*"} })
	k.drop("mtgpu.wasm", next, k.key)
	h := k.state("mtgpu.wasm", Update, reason.HookPending)
	if all := strings.Join(h.Changes, " "); !strings.Contains(all, "1.1.0 instead of 1.0.0") || !strings.Contains(all, "asks for more") {
		t.Errorf("%q", h.Changes)
	}
	r, err := k.Review("mtgpu", Options{})
	must(t, err)
	if got := grant.Words(r.More); len(got) != 1 || !strings.Contains(got[0], "/proc/driver/mtgpu/*") {
		t.Errorf("only what is new is shown: %q", got)
	}
}

func TestH3_DowngradeIsRefused(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.10.0"), k.key)
	k.approve("mtgpu", Options{})
	k.drop("old.wasm", manifest("mtgpu 1.9.0"), k.key)
	k.drop("pre.wasm", manifest("mtgpu 1.10.0-rc.1"), k.key)
	for _, name := range []string{"old.wasm", "pre.wasm"} {
		k.state(name, Pending, reason.HookDowngrade)
		_, err := k.Review(name, Options{})
		why := wantReason(t, err, reason.HookDowngrade)
		if !strings.HasSuffix(why.Remedy[0], "rigup hooks approve "+name+" --allow-downgrade") {
			t.Errorf("%q", why.Remedy)
		}
	}
	if v := k.List(); len(v.Pending()) != 0 {
		t.Error("an older file is told in every plan")
	}
	r, err := k.Review("old.wasm", Options{AllowDowngrade: true})
	must(t, err)
	_, err = k.Approve(t.Context(), r, Accepted{})
	wantReason(t, err, reason.HookApproval) // allowed is not yet approved
	_, err = k.Approve(t.Context(), r, r.Accepts())
	must(t, err)
	k.wantUsable(builtIns + ", mtgpu 1.9.0")
}

func TestH3_AnotherKeyIsRefused(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	k.drop("next.wasm", manifest("mtgpu 1.1.0"), k.other)
	for _, o := range []Options{{}, {Key: k.other.Text}, {AllowUnsigned: true, AllowDowngrade: true}} {
		_, err := k.Review("next.wasm", o)
		why := wantReason(t, err, reason.HookKey)
		if !strings.Contains(why.Text, k.key.ID) || !strings.Contains(why.Text, k.other.ID) || !strings.HasSuffix(why.Remedy[1], "rigup hooks remove mtgpu") {
			t.Errorf("%+v", why)
		}
	}
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
	// The way that the remedy names.
	r, err := k.Removal("mtgpu.wasm")
	must(t, err)
	k.remove(r)
	k.approve("mtgpu", Options{})
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
}

func TestH3_Signatures(t *testing.T) {
	m := manifest("mtgpu 1.0.0")
	b := module(m)
	for name, c := range map[string]struct {
		sig  func(k *kit) []byte
		want reason.ID
		says string
	}{
		"of another file":       {func(k *kit) []byte { return signed(k.key, []byte("x"), SignedComment(m)) }, reason.HookSignature, "not made with key"},
		"of another version":    {func(k *kit) []byte { return signed(k.key, b, "rigup hook mtgpu 2.0.0") }, reason.HookSignature, "something else"},
		"of another hook":       {func(k *kit) []byte { return signed(k.key, b, "rigup hook nvidia 1.0.0") }, reason.HookSignature, "something else"},
		"with minisign's own":   {func(k *kit) []byte { return signed(k.key, b, "timestamp:1") }, reason.HookSignature, "something else"},
		"more in the comment":   {func(k *kit) []byte { return signed(k.key, b, SignedComment(m)+" x") }, reason.HookSignature, "something else"},
		"tampered comment":      {func(k *kit) []byte { return retold(signed(k.key, b, "rigup hook mtgpu 2.0.0"), "2.0.0", "1.0.0") }, reason.HookSignature, "not made with key"},
		"garbage":               {func(*kit) []byte { return []byte("<html>not found</html>") }, reason.HookSignature, "minisign"},
		"empty":                 {func(*kit) []byte { return []byte{} }, reason.HookSignature, "minisign"},
		"of a key not known":    {func(k *kit) []byte { return signed(k.other, b, SignedComment(m)) }, reason.HookKeyUnknown, "not known here"},
		"none":                  {func(*kit) []byte { return nil }, reason.HookUnsigned, "not signed"},
		"valid":                 {func(k *kit) []byte { return signed(k.key, b, SignedComment(m)) }, "", ""},
		"too large to be a one": {func(*kit) []byte { return make([]byte, maxBeside+1) }, reason.HookSignature, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			k.drop("mtgpu.wasm", m, k.key)
			must(t, os.Remove(k.path("mtgpu.wasm"+signatureSuffix)))
			if sig := c.sig(k); sig != nil {
				k.put("mtgpu.wasm"+signatureSuffix, sig)
			}
			_, err := k.Review("mtgpu.wasm", Options{})
			if c.want == "" {
				must(t, err)
				return
			}
			why := wantReason(t, err, c.want)
			if !strings.Contains(why.Text, c.says) {
				t.Errorf("%q is not in %q", c.says, why.Text)
			}
			if c.want == reason.HookSignature || c.want == reason.HookKeyUnknown {
				// A bad signature is not none: it cannot be waved through as unsigned.
				_, err = k.Review("mtgpu.wasm", Options{AllowUnsigned: true})
				wantReason(t, err, c.want)
			}
			h := k.List().Find("mtgpu.wasm")[0]
			if h.State == Approved || h.Problem == nil || h.Unsigned() != (c.want == reason.HookUnsigned) {
				t.Errorf("%+v", h)
			}
		})
	}
}

// retold changes the trusted comment of a signature.
func retold(sig []byte, old, new string) []byte {
	return bytes.Replace(sig, []byte("mtgpu "+old), []byte("mtgpu "+new), 1)
}

func TestH3_WhereTheKeyComesFrom(t *testing.T) {
	m := manifest("mtgpu 1.0.0")
	t.Run("given goes before beside, and is that of the signature", func(t *testing.T) {
		k := newKit(t)
		k.drop("mtgpu.wasm", m, k.key)
		r, err := k.Review("mtgpu", Options{Key: k.key.Text})
		must(t, err)
		if r.Signature.From != KeyGiven || !(Accepted{Digest: r.Digest()}).covers(r) {
			t.Errorf("%+v", r.Signature)
		}
		_, err = k.Review("mtgpu", Options{Key: k.other.Text})
		why := wantReason(t, err, reason.UsageValue)
		if !strings.Contains(why.Text, k.key.ID) || !strings.Contains(why.Text, k.other.ID) {
			t.Error(why.Text)
		}
	})
	t.Run("trusted goes before beside", func(t *testing.T) {
		k := newKit(t)
		k.put("trust/vendor.pub", []byte("untrusted comment: x\n"+k.key.Text+"\n"))
		k.put("trust/broken.pub", []byte("x"))
		k.drop("mtgpu.wasm", m, k.key)
		r, err := k.Review("mtgpu", Options{})
		must(t, err)
		if r.Signature.From != KeyTrusted {
			t.Errorf("%+v", r.Signature)
		}
		if len(r.Questions) == 0 || !(Accepted{Digest: r.Digest()}).covers(r) {
			t.Error("a trusted publisher still has to be allowed what the hook wants")
		}
		// A key that only claims the id of the trusted one is not held against the signature.
		forged := bytes.Clone(k.other.raw())
		copy(forged[2:10], k.key.raw()[2:10])
		k.put("mtgpu.wasm"+keySuffix, []byte(encode(forged)))
		k.put("mtgpu.wasm"+signatureSuffix, reKey(signed(k.other, module(m), SignedComment(m)), k.key))
		_, err = k.Review("mtgpu", Options{})
		wantReason(t, err, reason.HookSignature)
		must(t, os.Remove(k.path("trust/vendor.pub")))
		r, err = k.Review("mtgpu", Options{})
		must(t, err) // on first use, whoever serves the hook is believed, and that is said
		if r.Signature.From != KeyBeside || r.Signature.Key != encode(forged) {
			t.Errorf("%+v", r.Signature)
		}
	})
	t.Run("--key is a file or the key", func(t *testing.T) {
		k := newKit(t)
		k.put("a.pub", []byte("untrusted comment: x\n"+k.key.Text+"\n"))
		for _, v := range []string{k.path("a.pub"), k.key.Text} {
			if got, err := ReadKey(v); err != nil || got != k.key.Text {
				t.Errorf("%s: %q %v", v, got, err)
			}
		}
		k.put("b.pub", []byte("nothing"))
		for _, v := range []string{k.path("none.pub"), k.path("b.pub"), "RWQ"} {
			_, err := ReadKey(v)
			wantReason(t, err, reason.UsageValue)
		}
		if got, err := ReadKey(""); got != "" || err != nil {
			t.Error(got, err)
		}
	})
}

func TestH3_Unsigned(t *testing.T) {
	k := newKit(t)
	k.put("mtgpu.wasm", module(manifest("mtgpu 1.0.0")))
	h := k.state("mtgpu.wasm", Pending, reason.HookUnsigned)
	if !h.Unsigned() {
		t.Error("it is not shown as unsigned")
	}
	if n := k.List().Notes(); len(n) != 1 || n[0].ID != reason.HookPending || n[0].Remedy[0] != "rigup hooks approve mtgpu.wasm" || !strings.Contains(n[0].Evidence[0], "not signed") {
		t.Errorf("a plan says %+v", n)
	}
	why := *h.Problem
	if want := "rigup hooks approve mtgpu.wasm --allow-unsigned"; !strings.HasSuffix(why.Remedy[1], want) || why.Exit() != reason.ExitUsage {
		t.Errorf("%+v", why)
	}
	r, err := k.Review("mtgpu", Options{AllowUnsigned: true})
	must(t, err)
	if !strings.Contains(r.Questions[0], "not signed") {
		t.Errorf("%q", r.Questions)
	}
	_, err = k.Approve(t.Context(), r, Accepted{})
	if why := wantReason(t, err, reason.HookApproval); !strings.HasSuffix(why.Remedy[1], r.Digest()+" --allow-unsigned") {
		t.Errorf("%q", why.Remedy)
	}
	_, err = k.Approve(t.Context(), r, r.Accepts())
	must(t, err)
	if d := k.List().Usable()[2]; !d.Unsigned || !strings.Contains(d.Name(), "unsigned") {
		t.Errorf("%+v", d)
	}
	// Without a key there is nothing that an update could share with it.
	k.put("mtgpu.wasm", module(manifest("mtgpu 1.1.0")))
	_, err = k.Review("mtgpu", Options{})
	wantReason(t, err, reason.HookUnsigned)
	r, err = k.Review("mtgpu", Options{AllowUnsigned: true})
	must(t, err)
	if len(r.Questions) == 0 {
		t.Error("an unsigned update is no question")
	}
	// A signed one pins its key, which is a question too.
	k.drop("mtgpu.wasm", manifest("mtgpu 1.2.0"), k.key)
	r, err = k.Review("mtgpu", Options{})
	must(t, err)
	if !strings.Contains(strings.Join(r.Questions, " "), "was not signed") {
		t.Errorf("%q", r.Questions)
	}
	k.approve("mtgpu", Options{})
	// From then on it stays signed.
	must(t, os.Remove(k.path("mtgpu.wasm"+signatureSuffix)))
	k.put("mtgpu.wasm", module(manifest("mtgpu 1.3.0")))
	k.state("mtgpu.wasm", Update, reason.HookSignatureGone)
	_, err = k.Review("mtgpu", Options{AllowUnsigned: true})
	wantReason(t, err, reason.HookSignatureGone)
}

func TestH3_InPlaceOfABuiltIn(t *testing.T) {
	k := newKit(t)
	k.drop("my.wasm", manifest("nvidia 0.1.0"), k.key)
	r, err := k.Review("my.wasm", Options{})
	must(t, err)
	if r.Replaces == nil || !strings.Contains(strings.Join(r.Questions, " "), "place of the built-in hook nvidia 1.0.0") {
		t.Errorf("%+v", r)
	}
	k.approve("my.wasm", Options{})
	k.wantUsable("native 1.0.0, nvidia 0.1.0")
	if h := k.List().Hooks[0]; h.State != Overridden || h.Module.Bytes != nil {
		t.Errorf("%+v", h)
	}
	// Switched off means off: the built-in one does not come back behind the owner's back.
	changed, _, err := k.SetEnabled(t.Context(), "nvidia", false)
	must(t, err)
	if !changed {
		t.Error("nothing changed")
	}
	k.wantUsable("native 1.0.0")
	_, _, err = k.SetEnabled(t.Context(), "nvidia", true)
	must(t, err)
	// A file that is not the approved one any more takes no place.
	k.put("my.wasm", []byte("swapped"))
	k.wantUsable(builtIns)
	rm, err := k.Removal("nvidia")
	must(t, err)
	if rm.Back == nil || !slices.Equal(rm.Files, []string{"my.wasm"}) {
		t.Errorf("%+v", rm)
	}
	k.remove(rm)
	k.wantUsable(builtIns)
	_, err = k.Removal("nvidia")
	wantReason(t, err, reason.HookInProgram)
	_, err = k.Review("nvidia", Options{})
	wantReason(t, err, reason.HookInProgram)
}

// A publisher is a key, not a name.
func TestH3_TheNameOfAPublisherIsNoProof(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	for name, c := range map[string]struct {
		m    sdk.Manifest
		by   pair
		says string
	}{
		"of an approved hook":  {manifest("more 1.0.0", func(m *sdk.Manifest) { m.Publisher = "moore threads" }), k.other, "signed with another key"},
		"with its key":         {manifest("more 1.0.0"), k.key, ""},
		"of the built-in ones": {manifest("more 1.0.0", ours), k.other, "does not come with rigup"},
	} {
		k.drop("more.wasm", c.m, c.by)
		r, err := k.Review("more", Options{})
		must(t, err)
		if n := len(r.Questions); (n > 1) != (c.says != "") || !strings.Contains(r.Questions[n-1], c.says) {
			t.Errorf("%s: %q", name, r.Questions)
		}
	}
}

func TestSwitching(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	_, _, err := k.SetEnabled(t.Context(), "mtgpu", true)
	wantReason(t, err, reason.HookPending)
	_, _, err = k.SetEnabled(t.Context(), "none", true)
	wantReason(t, err, reason.HookNotFound)
	k.approve("mtgpu", Options{})
	for _, id := range []string{"native", "mtgpu"} {
		for _, on := range []bool{false, false, true, true} {
			was := strings.Contains(k.usable(), id)
			changed, _, err := k.SetEnabled(t.Context(), id, on)
			if err != nil || changed != (was != on) || strings.Contains(k.usable(), id) != on {
				t.Errorf("%s %v: %v %v, %s", id, on, changed, err, k.usable())
			}
		}
	}
	// An update does not switch on what was switched off.
	_, _, err = k.SetEnabled(t.Context(), "mtgpu", false)
	must(t, err)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.1.0"), k.key)
	if e := k.approve("mtgpu", Options{}); e.Enabled {
		t.Error("it is on")
	}
	k.state("mtgpu.wasm", Disabled, "")
}

func TestRemoval(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	k.drop("next.wasm", manifest("mtgpu 1.1.0"), k.key)
	k.put("outside", []byte("x"))
	must(t, os.Symlink(k.path("outside"), k.path("link.wasm")))
	r, err := k.Removal("next.wasm") // the file, not the approved hook
	must(t, err)
	if len(r.IDs) != 0 || !slices.Equal(r.Files, []string{"next.wasm"}) {
		t.Errorf("%+v", r)
	}
	k.remove(r)
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
	r, err = k.Removal("link.wasm")
	must(t, err)
	k.remove(r)
	if _, err := os.Stat(k.path("outside")); err != nil {
		t.Error("C2: a link was followed")
	}
	r, err = k.Removal("mtgpu")
	must(t, err)
	k.remove(r)
	k.remove(r) // once more is no error
	k.wantUsable(builtIns)
	left, err := os.ReadDir(k.Dir)
	must(t, err)
	for _, e := range left {
		if strings.HasPrefix(e.Name(), "mtgpu") || strings.HasPrefix(e.Name(), "next") {
			t.Errorf("%s is left", e.Name())
		}
	}
	if _, err := k.Removal("mtgpu"); reason.Of(err).ID != reason.HookNotFound {
		t.Error(err)
	}
}

func TestNamesThatMeanSeveralFiles(t *testing.T) {
	k := newKit(t)
	k.drop("a.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.drop("b.wasm", manifest("mtgpu 1.1.0"), k.key)
	_, err := k.Review("mtgpu", Options{})
	why := wantReason(t, err, reason.HookSeveral)
	if !strings.Contains(why.Text, "a.wasm, b.wasm") {
		t.Error(why.Text)
	}
	k.approve("a.wasm", Options{})
	k.approve("mtgpu", Options{}) // now it can only mean the newer one
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
	_, err = k.Review("none", Options{})
	wantReason(t, err, reason.HookNotFound)
}

// What a hook does when it runs is nothing that the store could know: two hooks that differ only in their code.
func TestH3_CodeAloneIsOtherBytes(t *testing.T) {
	k := newKit(t)
	m := manifest("mtgpu 1.0.0")
	k.put("mtgpu.wasm", wasmtest.WithManifest(wasmtest.Trap(), m))
	k.approve("mtgpu", Options{AllowUnsigned: true})
	k.put("mtgpu.wasm", wasmtest.WithManifest(wasmtest.Loop(), m))
	k.state("mtgpu.wasm", Changed, reason.HookChanged)
}
