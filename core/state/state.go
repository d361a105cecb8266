// Package state is the memory of one cluster between runs: what was asked, what was found, and why. It is
// a cache of what the engine and the cluster say, never the authority: when it is lost, it is rebuilt.
package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"rigup.dev/rigup/core/durable"
	"rigup.dev/rigup/core/reason"
)

// Format is the version of the file. A program refuses files of a later format: it could lose what it
// does not know.
const Format = 1

// State is what is remembered. It holds no secrets (E2).
type State struct {
	Cluster string    `json:"cluster"`
	Version string    `json:"version"` // of the rigup that wrote it
	Updated time.Time `json:"updated"`

	// Stage is the last stage that ended well, and Complete whether the run did.
	Stage    string `json:"stage,omitempty"`
	Complete bool   `json:"complete"`

	Mode   string         `json:"mode,omitempty"` // cpu or gpu
	Reason *reason.Reason `json:"reason,omitempty"`
	// Failure is why the last run stopped; nil when it did not.
	Failure *reason.Reason `json:"failure,omitempty"`

	Engine          string `json:"engine,omitempty"` // endpoint
	Image           string `json:"image,omitempty"`  // node image
	DataDir         string `json:"dataDir,omitempty"`
	Kubeconfig      string `json:"kubeconfig,omitempty"` // the file our context was merged into
	PreviousContext string `json:"previousContext,omitempty"`

	Release   string `json:"release,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Chart     string `json:"chart,omitempty"` // name and version
	// Source is where the chart came from: empty for the built-in one, else what --chart named.
	Source string `json:"source,omitempty"`
	// What the owner asked for where a later run would otherwise take its default.
	AskedImage string `json:"askedImage,omitempty"`
	AskedGPU   string `json:"askedGPU,omitempty"`
}

// envelope is the file: the sum finds damage that is still valid JSON.
type envelope struct {
	Format int             `json:"format"`
	Sum    string          `json:"sum"`
	State  json.RawMessage `json:"state"`
}

// Store is the state file of one cluster.
type Store struct {
	Path string
	// Now is the clock, for the name of a damaged file that is kept aside.
	Now func() time.Time
}

// Read returns the state. A missing file is no error: the state is then zero. A damaged one is kept aside
// under another name and explained by the reason; the state is then zero as well, and the caller rebuilds
// it. A file of a newer format is an error: nothing is changed.
func (s Store) Read() (State, *reason.Reason, error) {
	st, err := s.Peek()
	var damaged *damage
	if !errors.As(err, &damaged) {
		return st, nil, err
	}
	kept := fmt.Sprintf("%s.damaged-%s", s.Path, s.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.Rename(s.Path, kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return State{}, nil, reason.Fail(reason.New(reason.StateWrite, "path", s.Path), err)
	}
	r := reason.New(reason.StateDamaged, "kept", kept).With(damaged.what)
	return State{}, &r, nil
}

// Peek is Read without touching anything, for commands that only look: a damaged file reads as zero, with
// an error that Read would have explained.
func (s Store) Peek() (State, error) {
	b, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	}
	if err != nil {
		return State{}, reason.Fail(reason.New(reason.StateWrite, "path", s.Path), err)
	}
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return State{}, &damage{"not the JSON that was written: " + err.Error()}
	}
	if e.Format > Format {
		return State{}, reason.Fail(reason.New(reason.StateNewer, "path", s.Path,
			"have", fmt.Sprint(e.Format), "known", fmt.Sprint(Format)), nil)
	}
	if e.Format < 1 {
		return State{}, &damage{"it has no format number"}
	}
	if sum(e.State) != e.Sum {
		return State{}, &damage{"its content does not match its checksum"}
	}
	var st State
	if err := json.Unmarshal(e.State, &st); err != nil {
		return State{}, &damage{err.Error()}
	}
	return st, nil
}

// Damaged reports whether an error of Peek means that the file is damaged.
func Damaged(err error) bool {
	var d *damage
	return errors.As(err, &d)
}

// damage says what is wrong with the file.
type damage struct{ what string }

func (d *damage) Error() string { return "damaged state file: " + d.what }

// Write replaces the file in one step: after a power cut there is the old state or the new one.
func (s Store) Write(st State) error {
	raw, err := json.Marshal(st)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(envelope{Format: Format, Sum: sum(raw), State: raw}, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(s.Path, append(b, '\n')); err != nil {
		return reason.Fail(reason.New(reason.StateWrite, "path", s.Path), err)
	}
	return nil
}

// sum is over the compact form, so that indentation does not count.
func sum(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	h := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(h[:])
}

// replace puts content in the place of a file, whose folder need not be there.
func replace(path string, content []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := durable.Replace(path, ".state-", content); err != nil {
		return err
	}
	return durable.SyncDir(dir)
}
