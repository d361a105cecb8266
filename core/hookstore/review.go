package hookstore

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// candidate is a hook that may be approved: its bytes, read once, and what stands beside them.
type candidate struct {
	file      string // its name in the folder; empty for one that was fetched
	source    string
	again     string // what to write after "rigup hooks add" to fetch it once more; empty: not known
	bytes     []byte
	sum       [sha256.Size]byte
	manifest  sdk.Manifest
	signature []byte // nil: there is none
	key       []byte
	writable  bool // by other users
}

// newCandidate inspects the bytes. The error says what is wrong with them, as the end of "it ...".
func newCandidate(b []byte) (candidate, error) {
	c := candidate{bytes: b, sum: sha256.Sum256(b)}
	st, err := hookhost.Inspect(b)
	if err != nil {
		return c, fmt.Errorf("it %w", err)
	}
	switch n := len(st.Manifests); {
	case n == 0:
		return c, fmt.Errorf("it has no section %s, which says what the hook is", sdk.Section)
	case n > 1:
		return c, fmt.Errorf("it has %d sections %s; one is allowed", n, sdk.Section)
	}
	c.manifest = st.Manifests[0]
	if err := grant.Valid(c.manifest); err != nil {
		return c, fmt.Errorf("its manifest is not valid: %w", err)
	}
	return c, nil
}

// name is how the hook is called in sentences.
func (c candidate) name() string { return c.manifest.ID + " " + c.manifest.Version }

// command is what leads to its approval, to which flags can be added; empty when there is no such command.
func (c candidate) command() string {
	if c.file != "" {
		return "rigup hooks approve " + c.file
	}
	if c.again != "" {
		return "rigup hooks add " + c.again
	}
	return ""
}

// Options say what a person allows beforehand.
type Options struct {
	// Key is the publisher's public key in base64, for the first approval of a signed hook.
	Key            string
	AllowUnsigned  bool
	AllowDowngrade bool
}

// Review is what the approval of a hook means. It is made before anybody is asked.
type Review struct {
	Manifest  sdk.Manifest
	File      string // in the folder; empty for a hook that was fetched
	Source    string
	Size      int64
	Signature Signature
	// Before is what is approved under this id now; nil when nothing is.
	Before *Entry
	// Replaces is the built-in hook whose place it takes.
	Replaces *sdk.Manifest
	// More is what it asks for and was not granted before.
	More sdk.Permissions
	// Same is true when exactly this is approved already: there is nothing to do.
	Same bool
	// Questions are why a person has to decide, each a sentence; with none, nobody has to be asked. Changes are what
	// else is new.
	Questions []string
	Changes   []string

	candidate candidate
	options   Options
	age       int // of its version: -1 older than the approved one, 0 the same, 1 newer
}

// Digest is the hash of the bytes that an approval is about: sha256:...
func (r Review) Digest() string { return digest(r.candidate.sum) }

// judge holds a hook against the lock: what would its approval mean (H3)? The error is a reason why it cannot be
// approved.
func (s Store) judge(c candidate, l lock, o Options) (Review, error) {
	before := l.find(c.manifest.ID)
	r := Review{Manifest: c.manifest, File: c.file, Source: l.source(c), Size: int64(len(c.bytes)), Before: before, candidate: c, options: o}
	if b := s.builtIn(c.manifest.ID); b != nil && before == nil {
		r.Replaces = b
	}
	if before != nil && before.is(c) && before.sound(c.manifest) == nil {
		// What was fetched once more may be what is missing from the folder, and is no new question.
		r.Same, r.Signature = c.file != "" || s.has(*before), before.signature()
		return r, nil
	}
	if err := r.compareVersions(); err != nil {
		return r, err
	}
	var err error
	if r.Signature, err = s.signed(c, before, o); err == nil {
		r.ask()
		if before == nil {
			r.Questions = append(r.Questions, s.namesakes(r, l)...)
		}
	}
	return r, err
}

// has reports whether the approved bytes are in the folder.
func (s Store) has(e Entry) bool {
	c, err := s.read(e.File)
	return err == nil && e.is(c)
}

// signed applies the rules about signatures.
func (s Store) signed(c candidate, before *Entry, o Options) (Signature, error) {
	sig, err := s.verify(c, before, o.Key)
	if err != nil || sig.Key != "" {
		return sig, err
	}
	if before != nil && before.Key != "" {
		return sig, reason.Fail(reason.New(reason.HookSignatureGone, "hook", c.name(), "id", before.ID), nil)
	}
	if !o.AllowUnsigned {
		return sig, reason.Fail(reason.New(reason.HookUnsigned, "hook", c.name(), "command", c.command()), nil)
	}
	return sig, nil
}

// compareVersions sets the age. Older is an error unless it is allowed.
func (r *Review) compareVersions() error {
	if r.Before == nil {
		return nil
	}
	have, err := semver.StrictNewVersion(r.Before.Manifest.Version)
	if err != nil {
		return err
	}
	this, err := semver.StrictNewVersion(r.Manifest.Version)
	if err != nil {
		return err
	}
	r.age = this.Compare(have)
	if r.age < 0 && !r.options.AllowDowngrade {
		return reason.Fail(reason.New(reason.HookDowngrade, "hook", r.candidate.name(), "have", r.Before.Manifest.Version, "command", r.candidate.command()), nil)
	}
	return nil
}

// ask finds out why a person has to decide, and what else is new.
func (r *Review) ask() {
	q := func(format string, a ...any) { r.Questions = append(r.Questions, fmt.Sprintf(format, a...)) }
	b, m := r.Before, r.Manifest
	if r.Signature.Key == "" {
		q("Nobody vouches for it: it is not signed.")
	}
	if (b == nil || b.Manifest.Publisher != m.Publisher) && lookalike(m.Publisher) {
		q("The name of its publisher, %s, mixes alphabets whose letters look the same: it can be another one than it seems.", m.Publisher)
	}
	if r.Replaces != nil {
		q("It takes the place of the built-in hook %s %s.", r.Replaces.ID, r.Replaces.Version)
	}
	if b == nil {
		r.More = m.Permissions
		q("It was not approved on this machine before.")
		return
	}
	if r.More = grant.Beyond(m.Permissions, b.Grant); !grant.Empty(r.More) {
		q("It asks for more than the approved %s may.", b.Manifest.Version)
	}
	if b.Manifest.Publisher != m.Publisher {
		q("Its publisher is %s now; of the approved %s it was %s.", m.Publisher, b.Manifest.Version, b.Manifest.Publisher)
	}
	if b.Key == "" && r.Signature.Key != "" {
		q("It is signed with key %s; the approved %s was not signed.", r.Signature.KeyID, b.Manifest.Version)
	}
	if kinds := without(m.Kinds, b.Manifest.Kinds); len(kinds) > 0 {
		q("It decides about more than before: %s.", strings.Join(words(kinds), ", "))
	}
	switch {
	case r.age < 0:
		q("It is older than the approved %s.", b.Manifest.Version)
	case b.is(r.candidate):
		q("The list of approved hooks says other things about it than the file does.")
	case r.age == 0:
		q("It has the version of the approved file, and other bytes.")
	default:
		r.Changes = append(r.Changes, fmt.Sprintf("Version %s instead of %s.", m.Version, b.Manifest.Version))
	}
	if less := grant.Beyond(b.Grant, m.Permissions); !grant.Empty(less) {
		r.Changes = append(r.Changes, "It no longer asks for everything that it was granted.")
	}
}

// lookalike reports a name that has Latin letters beside those of an alphabet in which many look like them.
func lookalike(name string) bool {
	has := func(tables ...*unicode.RangeTable) bool {
		return strings.ContainsFunc(name, func(c rune) bool { return unicode.In(c, tables...) })
	}
	return has(unicode.Latin) && has(unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu)
}

// namesakes warns of a new hook that gives itself the name of a publisher whose key it does not have.
func (s Store) namesakes(r Review, l lock) []string {
	publisher, key := r.Manifest.Publisher, r.Signature.Key
	for _, b := range s.BuiltIn {
		for _, m := range b.Manifests {
			if strings.EqualFold(m.Publisher, publisher) {
				return []string{fmt.Sprintf("It names %s as its publisher, as the built-in hooks do. It does not come with rigup.", publisher)}
			}
		}
	}
	for _, e := range l.Hooks {
		if strings.EqualFold(e.Manifest.Publisher, publisher) && e.Key != "" && e.Key != key {
			return []string{fmt.Sprintf("It names %s as its publisher, but the approved hook %s of that publisher is signed with another key.", publisher, e.ID)}
		}
	}
	return nil
}

// is reports whether the entry is about these bytes.
func (e Entry) is(c candidate) bool { return "sha256:"+e.SHA256 == digest(c.sum) }

// sound says what is wrong between an entry and the manifest in the very bytes that it is about: then it was not
// written by an approval, or by a rigup that allowed more.
func (e Entry) sound(m sdk.Manifest) error {
	if !reflect.DeepEqual(e.Manifest, plain(m)) {
		return errors.New("the file has another manifest")
	}
	if err := errors.Join(grant.Valid(m), grant.ValidPermissions(e.Grant)); err != nil {
		return err
	}
	if more := grant.Beyond(e.Grant, m.Permissions); !grant.Empty(more) {
		return fmt.Errorf("the file does not ask to %s", strings.Join(grant.Words(more), "; "))
	}
	return nil
}

// plain is a manifest as the lock holds it, where an empty list and none are the same.
func plain(m sdk.Manifest) sdk.Manifest {
	var out sdk.Manifest
	if b, err := json.Marshal(m); err != nil || json.Unmarshal(b, &out) != nil {
		return m
	}
	return out
}

func (e Entry) signature() Signature {
	k, err := ParseKey(e.Key)
	if err != nil {
		return Signature{}
	}
	return Signature{Key: k.Text, KeyID: k.ID, From: e.KeyFrom}
}

// builtIn is the manifest of the built-in hook with this id, if there is one.
func (s Store) builtIn(id string) *sdk.Manifest {
	for _, b := range s.BuiltIn {
		for _, m := range b.Manifests {
			if m.ID == id {
				return &m
			}
		}
	}
	return nil
}

func without[T comparable](all, some []T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(v T) bool { return slices.Contains(some, v) })
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}
