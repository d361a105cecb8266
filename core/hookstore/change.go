package hookstore

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// Review looks at a hook of the folder, by id or file, and says what its approval would mean. The error is a reason
// why it cannot be approved.
func (s Store) Review(name string, o Options) (Review, error) {
	h, err := s.List().candidate(name)
	if err != nil {
		return Review{}, err
	}
	c, err := s.read(h.File)
	if err != nil {
		return Review{}, err
	}
	return s.review(c, o)
}

// ReviewFetched does the same for a hook that was fetched and is not in the folder.
func (s Store) ReviewFetched(a Artifact, o Options) (Review, error) {
	c, err := newCandidate(a.Module)
	if err != nil {
		return Review{}, reason.Fail(reason.New(reason.HookInvalid, "file", a.Source, "what", err.Error()), nil)
	}
	c.source, c.again, c.signature, c.key = a.Source, a.Again, a.Signature, a.Key
	return s.review(c, o)
}

func (s Store) review(c candidate, o Options) (Review, error) {
	l, err := s.usableLock()
	if err != nil {
		return Review{}, err
	}
	return s.judge(c, l, o)
}

// usableLock is the lock, or an empty one in place of a damaged one.
func (s Store) usableLock() (lock, error) {
	l, err := s.readLock()
	if _, damaged := err.(*errDamaged); damaged {
		return lock{}, nil
	}
	return l, err
}

// candidate is the hook that a person means with the name. Of several with one id it is the one that waits.
func (v View) candidate(name string) (Hook, error) {
	found := v.Find(name)
	if len(found) == 0 {
		return Hook{}, reason.Fail(reason.New(reason.HookNotFound, "name", name), nil)
	}
	for _, states := range [][]State{{Update}, {Pending, Changed}, {Broken}, {Approved, Disabled, Copied}} {
		var of []Hook
		for _, h := range found {
			if slices.Contains(states, h.State) && !h.BuiltIn() && !slices.ContainsFunc(of, func(o Hook) bool { return o.Sum == h.Sum && o.ID == h.ID }) {
				of = append(of, h)
			}
		}
		switch len(of) {
		case 0:
		case 1:
			return of[0], nil
		default:
			var files []string
			for _, h := range of {
				files = append(files, h.File)
			}
			return Hook{}, reason.Fail(reason.New(reason.HookSeveral, "name", name, "files", strings.Join(files, ", "), "file", files[0]), nil)
		}
	}
	for _, h := range found {
		if h.State == Missing {
			return h, reason.Fail(*h.Problem, nil)
		}
	}
	return Hook{}, reason.Fail(reason.New(reason.HookInProgram, "hook", found[0].ID, "what", "needs no approval"), nil)
}

// Find are the hooks with this id, or the one in this file.
func (v View) Find(name string) []Hook {
	var byFile, byID []Hook
	for _, h := range v.Hooks {
		if h.File != "" && (h.File == name || h.File == name+moduleSuffix && h.ID == "") {
			byFile = append(byFile, h)
		}
		if h.ID == name {
			byID = append(byID, h)
		}
	}
	if len(byFile) > 0 {
		return byFile
	}
	return byID
}

// Done is what an approval did.
type Done struct {
	Entry Entry
	// Kept is the name under which a damaged lock was kept; empty if it was not damaged.
	Kept string
	// Removed are files of the version before that rigup had put there itself.
	Removed []string
}

// Accepted is what a person agreed to.
type Accepted struct {
	Digest string // of the bytes: sha256:...
	// Key is the publisher's public key that the person saw. It counts where the key came together with the hook: the
	// digest alone does not cover it, and whoever has it can publish updates.
	Key string
}

// Accepts is the agreement of a person who saw all of the review.
func (r Review) Accepts() Accepted { return Accepted{r.Digest(), r.Signature.Key} }

// newKey reports whether the approval would pin a key that nobody here has seen before.
func (r Review) newKey() bool {
	return r.Signature.From == KeyBeside && (r.Before == nil || r.Before.Key != r.Signature.Key)
}

func (a Accepted) covers(r Review) bool {
	return a.Digest == r.Digest() && (!r.newKey() || a.Key == r.Signature.Key)
}

// Approve records the approval of what was reviewed, and puts a fetched hook into the folder. Where a person has to
// decide, accepted is what this person agreed to; nothing else stands for a decision (H2). The rules are applied
// again, to the lock as it is now.
func (s Store) Approve(ctx context.Context, r Review, accepted Accepted) (Done, error) {
	if accepted.Digest != "" && accepted.Digest != r.Digest() {
		return Done{}, reason.Fail(reason.New(reason.UsageValue, "flag", "--accept", "value", accepted.Digest,
			"allowed", "the digest of "+r.candidate.name()+" is "+r.Digest()), nil)
	}
	var done Done
	var before *Entry
	kept, err := s.change(ctx, func(l *lock) error {
		now, err := s.judge(r.candidate, *l, r.options)
		if err != nil {
			return err
		}
		if before = now.Before; now.Same {
			done.Entry = *before
			return nil
		}
		if len(now.Questions) > 0 && !accepted.covers(now) {
			return now.Unanswered()
		}
		if now.File == "" {
			if now.File, err = s.place(now.candidate); err != nil {
				return err
			}
		}
		done.Entry = s.entry(now)
		l.put(done.Entry)
		l.forget(now.candidate)
		return nil
	})
	if done.Kept = kept; err == nil {
		done.Removed, err = s.supersede(ctx, before, done.Entry)
	}
	return done, err
}

// BegunAnew says what became of a damaged lock.
func BegunAnew(kept string) string {
	return "The list of approved hooks was damaged. It is kept as " + kept + ", and begins anew."
}

// Unanswered is the error of an approval that needs a person, and has none.
func (r Review) Unanswered() error {
	again := r.candidate.command()
	if again != "" {
		again += " --accept " + r.Digest()
		if r.options.Key != "" || r.newKey() {
			again += " --key " + r.Signature.Key
		}
		if r.options.AllowUnsigned {
			again += " --allow-unsigned"
		}
		if r.options.AllowDowngrade {
			again += " --allow-downgrade"
		}
	}
	look := ""
	if r.File != "" {
		look = "rigup hooks info " + r.File
	}
	why := reason.New(reason.HookApproval, "hook", r.candidate.name(), "look", look, "again", again).With(r.Questions...)
	if r.newKey() {
		why = why.With("Its key, " + r.Signature.KeyID + ", came together with the hook; --key accepts it.")
	}
	return reason.Fail(why, nil)
}

func (s Store) entry(r Review) Entry {
	e := Entry{
		ID: r.Manifest.ID, File: r.File, Source: r.Source, SHA256: hex.EncodeToString(r.candidate.sum[:]), Size: r.Size,
		Manifest: plain(r.Manifest), Key: r.Signature.Key, KeyFrom: r.Signature.From, Grant: plain(r.Manifest).Permissions,
		Approved: s.Now().UTC().Round(0), By: s.By, Enabled: true,
	}
	if r.Before != nil {
		e.Enabled = r.Before.Enabled // an update does not switch on what was switched off
		if r.Before.is(r.candidate) && r.Before.sound(r.Manifest) == nil {
			e.Grant = r.Before.Grant // put back, with what it was granted
		}
	}
	return e
}

// Keep puts a fetched hook into the folder without approving it, for a person to look at. It returns the review of
// the file.
func (s Store) Keep(ctx context.Context, r Review) (Review, error) {
	if r.File != "" {
		return r, nil
	}
	c := r.candidate
	kept, err := s.change(ctx, func(l *lock) (err error) {
		l.remember(c)
		c.file, err = s.place(c)
		return err
	})
	if err != nil {
		return r, err
	}
	if kept != "" {
		r.Questions = append(r.Questions, BegunAnew(kept))
	}
	r.File, r.candidate = c.file, c
	return r, nil
}

// place writes a fetched hook into the folder. It never replaces another file: what was approved before stays until
// the lock names the new one, so that there is a usable hook at every instant.
func (s Store) place(c candidate) (string, error) {
	var names []string
	if c.manifest.Version != "" {
		names = append(names, c.manifest.ID+"-"+c.manifest.Version+moduleSuffix)
	}
	names = append(names, fmt.Sprintf("%s-%x%s", c.manifest.ID, c.sum[:8], moduleSuffix))
	for _, name := range names {
		path := filepath.Join(s.Dir, name)
		if !fileName.MatchString(name) {
			continue
		}
		if b, _, err := readFile(path, maxModule); !absent(err) && (err != nil || string(b) != string(c.bytes)) {
			continue // taken
		}
		// The module comes last: what stands there under its name is complete.
		for suffix, content := range map[string][]byte{signatureSuffix: c.signature, keySuffix: keyFile(c.key)} {
			err := os.Remove(path + suffix)
			if err != nil && !absent(err) {
				return "", cannotWrite(path+suffix, err)
			}
			if content == nil {
				continue
			}
			if err := writeFile(path+suffix, content); err != nil {
				return "", err
			}
		}
		return name, writeFile(path, c.bytes)
	}
	return "", cannotWrite(filepath.Join(s.Dir, names[len(names)-1]), os.ErrExist)
}

// keyFile is a public key as minisign writes it; nil for what is no key, such as a server's page.
func keyFile(text []byte) []byte {
	k, err := ParseKey(string(text))
	if err != nil {
		return nil
	}
	return []byte("untrusted comment: minisign public key " + k.ID + "\n" + k.Text + "\n")
}

// supersede removes the file of the version before, if rigup had put it there and it still is what was approved.
// A file that a person put there is theirs.
func (s Store) supersede(ctx context.Context, before *Entry, now Entry) ([]string, error) {
	if before == nil || before.Source == SourceFolder || before.File == now.File || !s.has(*before) {
		return nil, nil
	}
	var removed []string
	_, err := s.change(ctx, func(l *lock) error {
		if l.byFile(before.File) != nil {
			return nil // approved again meanwhile
		}
		removed = []string{before.File}
		return s.delete(before.File)
	})
	return removed, err
}

// delete removes a module and what stands beside it. Links are removed themselves.
func (s Store) delete(name string) error {
	path := filepath.Join(s.Dir, name)
	for _, p := range []string{path, path + signatureSuffix, path + keySuffix} {
		if info, err := os.Lstat(p); err != nil || info.IsDir() {
			continue
		}
		if err := os.Remove(p); err != nil && !absent(err) {
			return cannotWrite(p, err)
		}
	}
	return nil
}

// Removal is what the removal of a hook takes away.
type Removal struct {
	Name  string   // as it was asked for
	IDs   []string // of entries in the lock
	Files []string
	// Back is the built-in hook that is used again.
	Back *sdk.Manifest
}

// Removal finds out what the removal of a hook, by id or file, would take away.
func (s Store) Removal(name string) (Removal, error) {
	r := Removal{Name: name}
	v := s.List()
	found := v.Find(name)
	if len(found) == 0 {
		return r, reason.Fail(reason.New(reason.HookNotFound, "name", name), nil)
	}
	for _, h := range found {
		if h.BuiltIn() {
			continue
		}
		if h.State != Missing && !slices.Contains(r.Files, h.File) {
			r.Files = append(r.Files, h.File)
		}
		if e := h.Entry; e != nil && !slices.Contains(r.IDs, e.ID) && (e.ID == name || e.File == h.File) {
			r.IDs = append(r.IDs, e.ID)
			if s.builtIn(e.ID) != nil {
				r.Back = s.builtIn(e.ID)
			}
		}
	}
	if len(r.Files)+len(r.IDs) == 0 {
		return r, reason.Fail(reason.New(reason.HookInProgram, "hook", name, "what", "cannot be removed"), nil)
	}
	return r, nil
}

// Remove removes it: first from the lock, so that what is left after an interruption is not approved. A damaged lock
// is kept under the returned name.
func (s Store) Remove(ctx context.Context, r Removal) (kept string, err error) {
	kept, err = s.change(ctx, func(l *lock) error {
		for _, id := range r.IDs {
			l.drop(id)
		}
		return nil
	})
	for _, name := range r.Files {
		if err == nil {
			err = s.delete(name)
		}
	}
	return kept, err
}

// SetEnabled switches a hook on or off, by id. It reports whether that changed anything. A damaged lock is kept under
// the returned name.
func (s Store) SetEnabled(ctx context.Context, id string, on bool) (changed bool, kept string, err error) {
	kept, err = s.change(ctx, func(l *lock) error {
		if e := l.find(id); e != nil {
			changed = e.Enabled != on
			e.Enabled = on
			l.put(*e)
			return nil
		}
		if s.builtIn(id) == nil {
			return s.notSwitchable(id)
		}
		off := slices.Contains(l.Off, id)
		if changed = off == on; changed {
			l.Off = slices.DeleteFunc(l.Off, func(o string) bool { return o == id })
			if !on {
				l.Off = append(l.Off, id)
				slices.Sort(l.Off)
			}
		}
		return nil
	})
	return changed, kept, err
}

// notSwitchable is why a hook that is neither approved nor built in cannot be switched on or off.
func (s Store) notSwitchable(id string) error {
	if found := s.List().Find(id); len(found) > 0 && found[0].Problem != nil {
		return reason.Fail(*found[0].Problem, nil)
	}
	return reason.Fail(reason.New(reason.HookNotFound, "name", id), nil)
}
