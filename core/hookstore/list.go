package hookstore

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// List looks at every hook of this machine. Each file is read once; what may run is exactly the bytes that were
// hashed. It changes nothing, and what is wrong with one hook, or with the lock, keeps no other from being listed.
func (s Store) List() View { return s.view(s.look) }

// Glance is List for a run, where a hook that is not asked should cost nothing: of a file that has the name and the
// size of an approved one it takes the lock's word, until it is loaded to be asked. Then its bytes are read, once,
// and held against the lock.
func (s Store) Glance() View {
	return s.view(func(name string, l lock) Hook {
		if e := l.byFile(name); e != nil {
			info, err := os.Lstat(filepath.Join(s.Dir, name))
			if err == nil && regular(info, maxModule) == nil && info.Size() == e.Size {
				return s.trusted(*e, writableByOthers(info))
			}
		}
		return s.look(name, l)
	})
}

// trusted is a hook that the lock knows and nobody has read yet.
func (s Store) trusted(e Entry, writable bool) Hook {
	h := Hook{ID: e.ID, File: e.File, Size: e.Size, Manifest: e.Manifest, Entry: &e, writable: writable}
	sum, err := hex.DecodeString(e.SHA256)
	if err != nil {
		return h // valid has seen to it
	}
	copy(h.Sum[:], sum)
	h.settled(h.Manifest)
	if h.State == Approved {
		h.load = func() (hookhost.Module, error) { return s.load(e) }
	}
	return h
}

// load reads the module of an entry.
func (s Store) load(e Entry) (hookhost.Module, error) {
	c, err := s.read(e.File)
	if err == nil && !e.is(c) {
		err = errors.New("its file is not the one that was approved")
	}
	if err == nil {
		err = e.sound(c.manifest)
	}
	if err != nil {
		return hookhost.Module{}, fmt.Errorf("%w (rigup hooks info %s)", err, e.File)
	}
	return hookhost.Module{Name: e.File, Bytes: c.bytes, Sum: c.sum}, nil
}

// maxWaiting is how many files that the lock does not know are looked at. Each is read as a whole, in every run.
const maxWaiting = 64

// view looks at every file and settles what they are together.
func (s Store) view(look func(string, lock) Hook) View {
	v := View{Dir: s.Dir}
	l, err := s.readLock()
	if err != nil {
		v.Problems = append(v.Problems, lockProblem(filepath.Join(s.Dir, LockFile), err))
	}
	files, problems := s.files()
	v.Problems = append(v.Problems, problems...)
	var found []Hook
	waiting := 0
	for _, name := range files {
		if l.byFile(name) == nil {
			if waiting++; waiting > maxWaiting {
				continue
			}
		}
		h := look(name, l)
		if h.writable {
			v.Problems = append(v.Problems, reason.New(reason.HookWritable, "path", filepath.Join(s.Dir, name)))
		}
		found = append(found, h)
	}
	if more := waiting - maxWaiting; more > 0 {
		v.Problems = append(v.Problems, reason.New(reason.HookCrowded, "path", s.Dir, "more", strconv.Itoa(more)))
	}
	found = s.settle(found, l)
	v.Hooks = append(s.builtIns(found, l), found...)
	return v
}

func lockProblem(path string, err error) reason.Reason {
	var damaged *errDamaged
	if errors.As(err, &damaged) {
		return reason.New(reason.HookLockDamaged, "path", path).With(damaged.what)
	}
	return reason.Of(err)
}

// files are the names of what could be a hook, sorted.
func (s Store) files() ([]string, []reason.Reason) {
	entries, err := os.ReadDir(s.Dir)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, []reason.Reason{reason.New(reason.HookFolder, "path", s.Dir).With(err.Error())}
	}
	var problems []reason.Reason
	for _, name := range []string{".", LockFile} {
		path := filepath.Join(s.Dir, name)
		if info, err := os.Stat(path); err == nil && writableByOthers(info) {
			problems = append(problems, reason.New(reason.HookWritable, "path", path))
		}
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, moduleSuffix) && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, problems
}

// look reads one file and says what it is.
func (s Store) look(name string, l lock) Hook {
	h := Hook{File: name, State: Broken}
	c, err := s.read(name)
	h.Size, h.Sum = int64(len(c.bytes)), c.sum
	if err != nil {
		why := reason.Of(err)
		h.Problem = &why
		if e := l.byFile(name); e != nil { // what stood there was approved
			h.ID, h.Entry, h.State = e.ID, e, Changed
			changed := reason.New(reason.HookChanged, "hook", e.ID, "name", name).With(append([]string{why.Text}, why.Evidence...)...)
			h.Problem = &changed
		}
		return h
	}
	h.ID, h.Manifest, h.Entry = c.manifest.ID, c.manifest, l.find(c.manifest.ID)
	h.writable = c.writable
	if h.Entry != nil && h.Entry.is(c) {
		if h.settled(c.manifest); h.State == Approved {
			h.Module = hookhost.Module{Name: h.File, Bytes: c.bytes, Sum: c.sum}
		}
	} else {
		h.claims = c.signature != nil
		h.wait(s.judge(c, l, Options{}))
	}
	return h
}

// read reads a file of the folder and what stands beside it. The candidate of an error has what is known.
func (s Store) read(name string) (candidate, error) {
	path := filepath.Join(s.Dir, name)
	if !fileName.MatchString(name) {
		return candidate{}, reason.Fail(reason.New(reason.HookFile, "file", name, "what", "named in a way that commands could misread",
			"do", "rename it: letters, digits, dots and dashes"), nil)
	}
	b, info, err := readFile(path, maxModule)
	var odd *notAFile
	switch {
	case errors.As(err, &odd):
		return candidate{}, reason.Fail(reason.New(reason.HookFile, "file", name, "what", odd.what, "do", "put the file itself there"), nil)
	case err != nil:
		return candidate{}, reason.Fail(reason.New(reason.HookFile, "file", name, "what", "not readable", "do", "make it readable for this user"), err)
	}
	c, err := newCandidate(b)
	c.file, c.source, c.writable = name, SourceFolder, writableByOthers(info)
	if err != nil {
		return c, reason.Fail(reason.New(reason.HookInvalid, "file", name, "what", err.Error(), "remove", "rigup hooks remove "+name), nil)
	}
	own := func(path string, limit int64) ([]byte, error) { b, _, err := readFile(path, limit); return b, err }
	if c.signature, err = readBeside(path+signatureSuffix, own); err != nil {
		return c, reason.Fail(reason.New(reason.HookSignature, "hook", c.name(), "what", "its file cannot be read"), err)
	}
	if c.key, err = readBeside(path+keySuffix, own); err != nil {
		c.key = nil // as if it were not there: a pinned or a given key does not need it
	}
	return c, nil
}

// SourceFolder is the source of a hook that was put into the folder.
const SourceFolder = "folder"

// settled makes h the hook that its entry is about, if the two agree. m is the manifest in the file.
func (h *Hook) settled(m sdk.Manifest) {
	h.Signature = h.Entry.signature()
	err := h.Entry.sound(m)
	switch {
	case err != nil:
		why := reason.New(reason.HookGrant, "hook", h.Entry.name(), "name", h.File).With(err.Error())
		h.State, h.Problem = Changed, &why
	case h.Entry.Enabled:
		h.State = Approved
	default:
		h.State = Disabled
	}
}

// wait makes h a hook that waits for a person.
func (h *Hook) wait(r Review, err error) {
	h.Signature, h.Source, h.State = r.Signature, r.Source, Pending
	switch {
	case r.Before != nil && r.age > 0:
		h.State = Update
		h.Changes = append(append(h.Changes, r.Changes...), r.Questions...)
	case r.Before != nil && r.Before.File == h.File:
		h.State = Changed
	}
	why := reason.New(reason.HookPending, "hook", h.Manifest.ID+" "+h.Manifest.Version, "name", h.target())
	if err != nil {
		why = reason.Of(err)
	}
	if h.State == Changed {
		changed := reason.New(reason.HookChanged, "hook", h.ID, "name", h.File)
		if err != nil {
			changed = changed.With(why.Text)
		}
		why = changed
	}
	h.Problem = &why
}

// target is how commands call the hook.
func (h Hook) target() string {
	if h.File != "" && (h.State == Update || strings.TrimSuffix(h.File, moduleSuffix) != h.ID) {
		return h.File
	}
	return h.ID
}

// settle looks at all files together: approved bytes count once, and what is approved and not there is said.
func (s Store) settle(found []Hook, l lock) []Hook {
	for _, e := range l.Hooks {
		have := -1
		for i, h := range found {
			if h.is(e) && (have < 0 || h.File == e.File) {
				have = i
			}
		}
		if have < 0 {
			found = append(found, gone(e, found)...)
			continue
		}
		for i := range found {
			if h := &found[i]; i != have && h.is(e) {
				why := reason.New(reason.HookCopy, "file", h.File, "other", found[have].File)
				h.State, h.Module, h.load, h.Problem = Copied, hookhost.Module{}, nil, &why
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Hook) int { return strings.Compare(a.File, b.File) })
	return found
}

// is reports whether h has the bytes that the entry is about.
func (h Hook) is(e Entry) bool { return h.ID == e.ID && h.Digest() == "sha256:"+e.SHA256 }

// gone is an approved hook whose bytes are nowhere, unless the file in its place says so already.
func gone(e Entry, found []Hook) []Hook {
	why := reason.New(reason.HookMissing, "hook", e.name(), "file", e.File, "id", e.ID)
	for _, f := range found {
		switch {
		case f.File == e.File && f.ID == e.ID:
			return nil
		case f.File == e.File: // another hook stands there now, and is listed as itself
			why = why.With("the file holds the hook " + f.ID + " now")
		}
	}
	return []Hook{{ID: e.ID, File: e.File, State: Missing, Entry: &e, Signature: e.signature(), Problem: &why}}
}

// builtIns are the hooks that come with the program. One is overridden while an approved hook has its id, also when
// that one was switched off: then there is none of that id.
func (s Store) builtIns(found []Hook, l lock) []Hook {
	var out []Hook
	for _, b := range s.BuiltIn {
		for _, m := range b.Manifests {
			h := Hook{ID: m.ID, State: InProgram, Manifest: m, Module: b.Module, Size: int64(len(b.Module.Bytes)), Sum: b.Module.Sum}
			over := slices.ContainsFunc(found, func(f Hook) bool { return f.ID == m.ID && (f.State == Approved || f.State == Disabled) })
			switch {
			case over:
				h.State, h.Module = Overridden, hookhost.Module{}
			case slices.Contains(l.Off, m.ID):
				h.State, h.Module = Disabled, hookhost.Module{}
			}
			out = append(out, h)
		}
	}
	return out
}
