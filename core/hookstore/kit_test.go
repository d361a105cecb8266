package hookstore

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookhost/wasmtest"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// kit is a folder of hooks and two publishers.
type kit struct {
	Store
	t          *testing.T
	key, other pair
}

type pair struct {
	Key
	private minisign.PrivateKey
}

func newPair(t *testing.T) pair {
	t.Helper()
	pub, priv, err := minisign.GenerateKey(nil)
	must(t, err)
	k, err := ParseKey(pub.String())
	must(t, err)
	return pair{k, priv}
}

func newKit(t *testing.T) *kit {
	t.Helper()
	built := hookhost.NewModule("built in", wasmtest.Echo([]byte("built in")))
	return &kit{t: t, key: newPair(t), other: newPair(t), Store: Store{
		Dir: filepath.Join(t.TempDir(), "hooks"), By: "ada",
		Now:     func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC) },
		BuiltIn: []BuiltIn{{Module: built, Manifests: []sdk.Manifest{manifest("nvidia 1.0.0", ours), manifest("native 1.0.0", ours)}}},
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// manifest is a valid one of "ID VERSION".
func manifest(name string, edits ...func(*sdk.Manifest)) sdk.Manifest {
	id, version, _ := strings.Cut(name, " ")
	m := sdk.Manifest{API: sdk.API, ABI: sdk.ABI, ID: id, Version: version, Title: "GPUs of a vendor", Publisher: "Moore Threads",
		Kinds: []sdk.Kind{sdk.GPUHook}, Match: sdk.Match{PCI: []string{"0x1ed5"}},
		Permissions: sdk.Permissions{Probes: []sdk.ProbeKind{sdk.DeviceStat}, Devices: []string{"/dev/mtgpu*"}, Resources: []string{"mthreads.com/gpu"}}}
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

func ours(m *sdk.Manifest) { m.Publisher = "rigup" }

// module is a hook that would hang whoever runs it.
func module(m sdk.Manifest) []byte { return wasmtest.WithManifest(wasmtest.Loop(), m) }

func (k *kit) path(name string) string { return filepath.Join(k.Dir, name) }

// put puts a file into the folder.
func (k *kit) put(name string, b []byte) {
	k.t.Helper()
	must(k.t, os.MkdirAll(filepath.Dir(k.path(name)), 0o700))
	must(k.t, os.WriteFile(k.path(name), b, 0o600))
}

func signed(p pair, b []byte, comment string) []byte {
	return minisign.SignWithComments(p.private, b, comment, "untrusted")
}

// drop puts a hook with its signature and its key into the folder.
func (k *kit) drop(file string, m sdk.Manifest, by pair) []byte {
	k.t.Helper()
	b := module(m)
	k.put(file+signatureSuffix, signed(by, b, SignedComment(m)))
	k.put(file+keySuffix, []byte("untrusted comment: key\n"+by.Text+"\n"))
	k.put(file, b)
	return b
}

// approve approves a hook of the folder with everything that it asks.
func (k *kit) approve(name string, o Options) Entry {
	k.t.Helper()
	r, err := k.Review(name, o)
	must(k.t, err)
	done, err := k.Approve(k.t.Context(), r, r.Accepts())
	must(k.t, err)
	return done.Entry
}

func (k *kit) remove(r Removal) {
	k.t.Helper()
	_, err := k.Remove(k.t.Context(), r)
	must(k.t, err)
}

// one is the only hook of the folder.
func (k *kit) one() Hook {
	k.t.Helper()
	var of []Hook
	for _, h := range k.List().Hooks {
		if !h.BuiltIn() {
			of = append(of, h)
		}
	}
	if len(of) != 1 {
		k.t.Fatalf("%d hooks: %+v", len(of), of)
	}
	return of[0]
}

// state holds the state of the file, and why it is not used.
func (k *kit) state(file string, want State, why reason.ID) Hook {
	k.t.Helper()
	for _, h := range k.List().Hooks {
		if h.File != file {
			continue
		}
		var got reason.ID
		if h.Problem != nil {
			got = h.Problem.ID
		}
		if h.State != want || got != why {
			k.t.Errorf("%s is %s (%s), want %s (%s): %+v", file, h.State, got, want, why, h.Problem)
		}
		used := want == Approved
		if (h.Module.Bytes != nil) != used || used && sha256.Sum256(h.Module.Bytes) != h.Module.Sum {
			k.t.Errorf("%s: the bytes that may run are %d", file, len(h.Module.Bytes))
		}
		return h
	}
	k.t.Errorf("%s is not listed", file)
	return Hook{}
}

// usable are the ids of what may run. A glance comes to the same, once it has read what would be asked.
func (k *kit) usable() string {
	k.t.Helper()
	var out, glanced []string
	for _, d := range k.List().Usable() {
		out = append(out, d.Manifest.ID+" "+d.Manifest.Version)
	}
	for _, d := range k.Glance().Usable() {
		if d.Load != nil {
			m, err := d.Load()
			if err != nil {
				continue
			}
			if sha256.Sum256(m.Bytes) != m.Sum {
				k.t.Error("a glance gave other bytes than it hashed")
			}
		}
		glanced = append(glanced, d.Manifest.ID+" "+d.Manifest.Version)
	}
	if !slices.Equal(out, glanced) {
		k.t.Errorf("usable are %q, at a glance %q", out, glanced)
	}
	return strings.Join(out, ", ")
}

func (k *kit) wantUsable(want string) {
	k.t.Helper()
	if got := k.usable(); got != want {
		k.t.Errorf("usable are %q, want %q", got, want)
	}
}

func wantReason(t *testing.T, err error, want reason.ID) reason.Reason {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", want)
	}
	r := reason.Of(err)
	if r.ID != want {
		t.Errorf("%s, want %s: %v", r.ID, want, err)
	}
	if want != reason.UsageValue && len(r.Remedy) == 0 {
		t.Errorf("%s has no remedy", r.ID)
	}
	return r
}

// raw are the bytes of the public key: two of the algorithm, eight of the id, and the key.
func (p pair) raw() []byte {
	b, err := base64.StdEncoding.DecodeString(p.Text)
	if err != nil {
		panic(err)
	}
	return b
}

func encode(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// reKey writes the id of another key into a signature. Nothing protects it.
func reKey(sig []byte, as pair) []byte {
	lines := strings.Split(string(sig), "\n")
	b, err := base64.StdEncoding.DecodeString(lines[1])
	if err != nil {
		panic(err)
	}
	copy(b[2:10], as.raw()[2:10])
	lines[1] = encode(b)
	return []byte(strings.Join(lines, "\n"))
}
