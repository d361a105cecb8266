package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/reason"
)

func store(t *testing.T) Store {
	n := 0
	return Store{Path: filepath.Join(t.TempDir(), "c", "state.json"), Now: func() time.Time {
		n++
		return time.Date(2026, 1, 2, 3, 4, 5, n, time.UTC)
	}}
}

func sample() State {
	r := reason.New(reason.GPUNone)
	return State{Cluster: "demo", Version: "1.2.3", Updated: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		Stage: "ready", Complete: true, Mode: "cpu", Reason: &r, DataDir: "/home/a/data", Release: "rigup"}
}

func TestStateSurvivesARoundTrip(t *testing.T) {
	s := store(t)
	if st, why, err := s.Read(); err != nil || why != nil || st.Cluster != "" {
		t.Fatalf("a missing file: %+v %v %v", st, why, err)
	}
	if err := s.Write(sample()); err != nil {
		t.Fatal(err)
	}
	got, why, err := s.Read()
	if err != nil || why != nil || got.Reason == nil || got.Reason.ID != reason.GPUNone || got.DataDir != "/home/a/data" {
		t.Fatalf("%+v %v %v", got, why, err)
	}
	info, _ := os.Stat(s.Path)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// C9: whatever a crash or a disk leaves of the file, it is explained, kept aside, and never believed.
func TestC9_DamagedStateIsKeptAsideAndExplained(t *testing.T) {
	s := store(t)
	if err := s.Write(sample()); err != nil {
		t.Fatal(err)
	}
	whole, _ := os.ReadFile(s.Path)
	cases := map[string][]byte{
		"empty":       {},
		"zeros":       make([]byte, len(whole)),
		"not json":    []byte("hello"),
		"other json":  []byte(`{"a":1}`),
		"flipped bit": bytes.Replace(whole, []byte("/home/a"), []byte("/home/b"), 1),
	}
	for i := 1; i < len(whole)-2; i += 37 {
		cases["cut at "+string(rune('a'+i%26))+strings.Repeat("'", i/26)] = whole[:i]
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			os.MkdirAll(filepath.Dir(s.Path), 0o700)
			os.WriteFile(s.Path, content, 0o600)
			if _, err := s.Peek(); !Damaged(err) {
				t.Errorf("Peek: %v", err)
			}
			st, why, err := s.Read()
			if err != nil || why == nil || why.ID != reason.StateDamaged || st.Cluster != "" {
				t.Fatalf("%+v %v %v", st, why, err)
			}
			kept, _ := filepath.Glob(s.Path + ".damaged-*")
			if len(kept) != 1 {
				t.Fatalf("kept %v", kept)
			}
			if b, _ := os.ReadFile(kept[0]); !bytes.Equal(b, content) {
				t.Error("what was kept is not what was there")
			}
			if err := s.Write(sample()); err != nil {
				t.Fatal(err)
			}
			if _, why, err := s.Read(); why != nil || err != nil {
				t.Error(why, err)
			}
		})
	}
}

func TestNewerStateIsRefusedAndLeftAlone(t *testing.T) {
	s := store(t)
	os.MkdirAll(filepath.Dir(s.Path), 0o700)
	content := []byte(`{"format": 99, "sum": "x", "state": {"new": true}}`)
	os.WriteFile(s.Path, content, 0o600)
	_, _, err := s.Read()
	if err == nil || reason.Of(err).ID != reason.StateNewer || !strings.Contains(reason.Of(err).Text, s.Path) {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(s.Path); !bytes.Equal(b, content) {
		t.Error("the file was changed")
	}
}

func TestUnwritableStateNamesThePath(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "c"), nil, 0o600) // a file where the folder should be
	s := Store{Path: filepath.Join(dir, "c", "state.json"), Now: time.Now}
	err := s.Write(sample())
	if err == nil || reason.Of(err).ID != reason.StateWrite || !strings.Contains(reason.Of(err).Text, s.Path) {
		t.Fatal(err)
	}
}

func TestWriteLeavesNothingBeside(t *testing.T) {
	s := store(t)
	for range 3 {
		if err := s.Write(sample()); err != nil {
			t.Fatal(err)
		}
	}
	left, _ := os.ReadDir(filepath.Dir(s.Path))
	if len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}
