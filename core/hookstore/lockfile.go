package hookstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/gofrs/flock"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// LockFile is the name of the lock in the folder.
const LockFile = "hooks.lock.json"

// lockFormat is the version of the file. A program refuses files of a later format: it could lose what it does not
// know.
const lockFormat = 1

// Entry is one approval: these bytes, of this publisher, may do this. It holds no secrets and no paths of the
// machine.
type Entry struct {
	ID   string `json:"id"`
	File string `json:"file"` // its name in the folder
	// Source is where the file came from: "folder" for one that was put there, "file NAME", an https address, or an
	// oci:// reference with digest.
	Source string `json:"source"`
	SHA256 string `json:"sha256"` // of the file, in hex
	Size   int64  `json:"size"`   // in bytes
	// Manifest is the one in the file, so that a hook that is not asked costs no more than its entry.
	Manifest sdk.Manifest `json:"manifest"`
	// Key is the publisher's minisign public key, in base64, which is pinned to the id; empty for an unsigned hook.
	// KeyFrom is how it became known.
	Key     string    `json:"key,omitempty"`
	KeyFrom KeyOrigin `json:"keyFrom,omitempty"`
	// Grant is what it was allowed.
	Grant    sdk.Permissions `json:"grant"`
	Approved time.Time       `json:"approved"`
	By       string          `json:"by"`
	Enabled  bool            `json:"enabled"`
}

// name is how the hook is called in sentences.
func (e Entry) name() string { return e.ID + " " + e.Manifest.Version }

// lock is what the file holds.
type lock struct {
	Hooks []Entry `json:"hooks"` // by id
	// Off are the ids of built-in hooks that were switched off.
	Off []string `json:"off,omitempty"`
	// Fetched says where files came from that rigup put into the folder and nobody has approved yet.
	Fetched []fetched `json:"fetched,omitempty"`
}

// fetched is the source of a file, by its bytes: a name can be that of another file tomorrow.
type fetched struct {
	SHA256 string `json:"sha256"`
	Source string `json:"source"`
}

// maxFetched bounds what is remembered of files that wait; the oldest are forgotten.
const maxFetched = 32

// source is where a candidate came from.
func (l lock) source(c candidate) string {
	if c.source == SourceFolder {
		for _, f := range l.Fetched {
			if "sha256:"+f.SHA256 == digest(c.sum) {
				return f.Source
			}
		}
	}
	return c.source
}

// remember keeps the source of a fetched file until it is approved, forget ends that.
func (l *lock) remember(c candidate) {
	l.forget(c)
	l.Fetched = append(l.Fetched, fetched{hex.EncodeToString(c.sum[:]), c.source})
	l.Fetched = l.Fetched[max(0, len(l.Fetched)-maxFetched):]
}

func (l *lock) forget(c candidate) {
	l.Fetched = slices.DeleteFunc(l.Fetched, func(f fetched) bool { return "sha256:"+f.SHA256 == digest(c.sum) })
}

// envelope is the file. The sum finds edits and damage that are still valid JSON. It keeps nobody out who means
// harm: whoever can write here as this user can also approve.
type envelope struct {
	Format int             `json:"format"`
	Sum    string          `json:"sum"`
	Lock   json.RawMessage `json:"lock"`
}

func (l lock) find(id string) *Entry {
	i := slices.IndexFunc(l.Hooks, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	e := l.Hooks[i]
	return &e
}

func (l lock) byFile(name string) *Entry {
	i := slices.IndexFunc(l.Hooks, func(e Entry) bool { return e.File == name })
	if i < 0 {
		return nil
	}
	e := l.Hooks[i]
	return &e
}

// put adds an entry, or replaces the one of its id.
func (l *lock) put(e Entry) {
	l.drop(e.ID)
	l.Hooks = append(l.Hooks, e)
	slices.SortFunc(l.Hooks, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
}

func (l *lock) drop(id string) {
	l.Hooks = slices.DeleteFunc(l.Hooks, func(e Entry) bool { return e.ID == id })
}

// errDamaged means that nothing in the lock may be trusted.
type errDamaged struct{ what string }

func (e *errDamaged) Error() string { return e.what }

// readLock reads the lock. A missing file is an empty lock. The error is an *errDamaged, or a reason for which it
// must not be replaced either: it cannot be read, or a newer rigup wrote it.
func (s Store) readLock() (lock, error) {
	path := filepath.Join(s.Dir, LockFile)
	b, _, err := readFile(path, maxLock)
	var odd *notAFile
	switch {
	case absent(err):
		return lock{}, nil
	case errors.As(err, &odd):
		return lock{}, &errDamaged{odd.Error()}
	case err != nil:
		return lock{}, reason.Fail(reason.New(reason.StateWrite, "path", path), err)
	}
	l, format, err := decodeLock(b)
	if format > lockFormat {
		return lock{}, reason.Fail(reason.New(reason.StateNewer, "path", path, "have", fmt.Sprint(format), "known", fmt.Sprint(lockFormat)), nil)
	}
	return l, err
}

// decodeLock takes only what rigup itself writes: written again, it has to be the same. So no field can be unknown,
// twice, or in another spelling.
func decodeLock(b []byte) (lock, int, error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return lock{}, 0, &errDamaged{"it is not the JSON that was written: " + err.Error()}
	}
	if e.Format > lockFormat {
		return lock{}, e.Format, nil
	}
	var l lock
	if err := json.Unmarshal(e.Lock, &l); err != nil {
		return lock{}, e.Format, &errDamaged{"it is not the JSON that was written: " + err.Error()}
	}
	if sum(e.Lock) != e.Sum {
		return lock{}, e.Format, &errDamaged{"its content does not match its checksum"}
	}
	want, err := encodeLock(l)
	if err != nil || !bytes.Equal(compact(b), compact(want)) {
		return lock{}, e.Format, &errDamaged{"it has fields that rigup does not write"}
	}
	if err := l.valid(); err != nil {
		return lock{}, e.Format, &errDamaged{err.Error()}
	}
	return l, e.Format, nil
}

func encodeLock(l lock) ([]byte, error) {
	if l.Hooks == nil {
		l.Hooks = []Entry{}
	}
	raw, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(envelope{Format: lockFormat, Sum: sum(raw), Lock: raw}, "", "  ")
	return append(b, '\n'), err
}

// sum is over the compact form, so that indentation does not count.
func sum(raw []byte) string {
	h := sha256.Sum256(compact(raw))
	return hex.EncodeToString(h[:])
}

func compact(raw []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return nil
	}
	return b.Bytes()
}

var (
	sumForm = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// valid holds every entry against the forms that approval writes. What it may do is held against the host's maxima
// hook by hook: a later rigup may have others.
func (l lock) valid() error {
	ids, files := map[string]bool{}, map[string]bool{}
	for _, e := range l.Hooks {
		var kerr error
		if e.Key != "" {
			_, kerr = ParseKey(e.Key)
		}
		_, verr := semver.StrictNewVersion(e.Manifest.Version)
		switch {
		case !grant.ValidID(e.ID), e.ID != e.Manifest.ID:
			return fmt.Errorf("%q is not the id of a hook", e.ID)
		case ids[e.ID], files[e.File]:
			return fmt.Errorf("the hook %s stands there twice", e.ID)
		case !fileName.MatchString(e.File):
			return fmt.Errorf("the hook %s has a file named %q", e.ID, e.File)
		case !sumForm.MatchString(e.SHA256), e.Size <= 0, kerr != nil, verr != nil, e.Approved.IsZero():
			return fmt.Errorf("the entry of the hook %s is not complete", e.ID)
		}
		ids[e.ID], files[e.File] = true, true
	}
	for _, f := range l.Fetched {
		if !sumForm.MatchString(f.SHA256) || f.Source == "" {
			return fmt.Errorf("the source of the file %q is not complete", f.SHA256)
		}
	}
	for _, id := range l.Off {
		if !grant.ValidID(id) {
			return fmt.Errorf("%q is not the id of a hook", id)
		}
	}
	return nil
}

// How long another rigup may keep the lock: it does so for one read and one write.
const (
	busyLimit = 10 * time.Second
	busyPoll  = 20 * time.Millisecond
)

// change changes the lock, alone: nobody else can between the reading and the writing. A damaged lock is kept aside
// under the returned name, and change begins with an empty one.
func (s Store) change(ctx context.Context, f func(*lock) error) (kept string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return "", cannotWrite(s.Dir, err)
	}
	mutex := flock.New(filepath.Join(s.Dir, ".lock"), flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDONLY|openFlags))
	limit := cmp.Or(s.patience, busyLimit)
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	switch _, err := mutex.TryLockContext(waiting, busyPoll); {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && waiting.Err() != nil:
		return "", reason.Fail(reason.New(reason.HookBusy, "limit", limit.String()), nil)
	case err != nil:
		return "", cannotWrite(mutex.Path(), err)
	}
	defer mutex.Unlock() // the kernel does it as well when the process ends
	sweep(s.Dir)
	l, err := s.readLock()
	var damaged *errDamaged
	if err != nil && !errors.As(err, &damaged) {
		return "", err
	}
	if err := f(&l); err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, LockFile)
	if damaged != nil {
		kept = fmt.Sprintf("%s.damaged-%s", LockFile, s.Now().UTC().Format("20060102T150405.000000000"))
		if err := os.Rename(path, filepath.Join(s.Dir, kept)); err != nil && !absent(err) {
			return "", cannotWrite(path, err)
		}
	}
	b, err := encodeLock(l)
	if err != nil {
		return kept, err
	}
	return kept, writeFile(path, b)
}
