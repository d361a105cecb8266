package hookhost

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testKey(n int) string { return fmt.Sprintf("%0128x", n) }

func TestDirMemory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hooks", "answers")
	m := DirMemory(dir)
	if _, ok := m.Get(testKey(1)); ok {
		t.Error("an empty memory remembers")
	}
	m.Put(testKey(1), []byte(answer))
	m.Put(testKey(2), nil)
	if got, ok := DirMemory(dir).Get(testKey(1)); !ok || string(got) != answer {
		t.Errorf("remembers %q, %v", got, ok)
	}
	if got, ok := m.Get(testKey(2)); !ok || len(got) > 0 {
		t.Errorf("remembers %q, %v", got, ok)
	}
	i, err := os.Stat(filepath.Join(dir, testKey(1)))
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Separator == '/' && i.Mode().Perm() != 0o600 {
		t.Errorf("others can read it: %v", i.Mode())
	}
	for _, key := range []string{"", "../" + testKey(1), strings.ToUpper(testKey(0xabc)), testKey(1) + "0", "new-0000000000000000"} {
		m.Put(key, []byte("x"))
		if _, ok := m.Get(key); ok {
			t.Errorf("the key %q works", key)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("the folder has %v, %v", list, err)
	}
}

// TestDirMemoryDamaged holds that a file which is not as it was written is as if it were not there, and is replaced.
func TestDirMemoryDamaged(t *testing.T) {
	dir := t.TempDir()
	m := DirMemory(dir)
	m.Put(testKey(1), []byte(answer))
	path := filepath.Join(dir, testKey(1))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if err := os.WriteFile(path, whole[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Get(testKey(1)); ok {
			t.Fatalf("the first %d bytes are taken as %q", i, got)
		}
		flipped := strings.Clone(string(whole[:i])) + string(whole[i]^1) + string(whole[i+1:])
		if err := os.WriteFile(path, []byte(flipped), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Get(testKey(1)); ok {
			t.Fatalf("with another byte %d it is taken as %q", i, got)
		}
	}
	m.Put(testKey(1), []byte(answer))
	if _, ok := m.Get(testKey(1)); !ok {
		t.Error("the damaged file was not replaced")
	}
}

// TestDirMemoryLinks holds that neither a link in the folder nor one in its place is followed.
func TestDirMemoryLinks(t *testing.T) {
	top := t.TempDir()
	dir, other := filepath.Join(top, "answers"), filepath.Join(top, "other")
	m, elsewhere := DirMemory(dir), DirMemory(other)
	elsewhere.Put(testKey(1), []byte(answer))
	m.Put(testKey(2), []byte(answer))
	if err := os.Symlink(filepath.Join(other, testKey(1)), filepath.Join(dir, testKey(1))); err != nil {
		t.Skip("SKIPPED: this system makes no links:", err)
	}
	if err := os.Symlink(testKey(2), filepath.Join(dir, testKey(3))); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 3} {
		if _, ok := m.Get(testKey(n)); ok {
			t.Errorf("the link %d is followed", n)
		}
		m.Put(testKey(n), []byte("{}"))
		if got, ok := m.Get(testKey(n)); !ok || string(got) != "{}" {
			t.Errorf("the link %d was not replaced: %q", n, got)
		}
	}
	for _, m := range []struct {
		Memory
		n int
	}{{elsewhere, 1}, {m, 2}} {
		if got, ok := m.Get(testKey(m.n)); !ok || string(got) != answer {
			t.Errorf("a link was written through: %q", got)
		}
	}
	if err := os.Symlink(other, filepath.Join(top, "linked")); err != nil {
		t.Fatal(err)
	}
	linked := DirMemory(filepath.Join(top, "linked"))
	linked.Put(testKey(9), []byte("{}"))
	if _, ok := linked.Get(testKey(1)); ok {
		t.Error("a folder that is a link is read")
	}
	if _, ok := elsewhere.Get(testKey(9)); ok {
		t.Error("a folder that is a link is written to")
	}
}

func TestDirMemoryForgets(t *testing.T) {
	dir := t.TempDir()
	foreign := filepath.Join(dir, "notes.txt")
	left, fresh := filepath.Join(dir, "new-0123456789abcdef"), filepath.Join(dir, "new-1123456789abcdef")
	for _, name := range []string{foreign, left, fresh} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	m := dirMemory{dir: dir, files: 10, bytes: 4000}
	put := func(from, to, size int) {
		for n := from; n < to; n++ {
			m.Put(testKey(n), []byte(strings.Repeat("x", size)))
			at := time.Now().Add(time.Duration(n-1000) * time.Second)
			_ = os.Chtimes(filepath.Join(dir, testKey(n)), at, at) // may be forgotten already
		}
	}
	have := func() (all []int) {
		for n := range 100 {
			if _, ok := m.Get(testKey(n)); ok {
				all = append(all, n)
			}
		}
		return all
	}
	put(0, 15, 1)
	if got := fmt.Sprint(have()); got != "[5 6 7 8 9 10 11 12 13 14]" {
		t.Errorf("remembers %v", got)
	}
	put(15, 20, 1000)
	if got := fmt.Sprint(have()); got != "[17 18 19]" {
		t.Errorf("remembers %v", got)
	}
	put(20, 21, 2001)
	if got := fmt.Sprint(have()); got != "[17 18 19]" {
		t.Errorf("something too large is remembered: %v", got)
	}
	for name, want := range map[string]bool{foreign: true, fresh: true, left: false} {
		if _, err := os.Lstat(name); (err == nil) != want {
			t.Errorf("%s is there: %v", filepath.Base(name), err == nil)
		}
	}
}

// fixed is a memory that always says the same.
type fixed struct {
	response string
	put      int
}

func (f *fixed) Get(string) ([]byte, bool) { return []byte(f.response), true }
func (f *fixed) Put(string, []byte)        { f.put++ }

// TestMemoryIsNotTrusted holds that what was remembered passes the same checks as what is new, and that only good
// answers are remembered.
func TestMemoryIsNotTrusted(t *testing.T) {
	m := &fixed{response: answer}
	h := New(Options{Memory: m, Limits: short()})
	defer h.Close()
	if a := mustAsk(t, h, hello(), detect()); !a.Remembered {
		t.Error("a good answer is not taken from memory")
	}
	for _, d := range documents() {
		mod := NewModule("test", d.module())
		_, err := h.Ask(t.Context(), mod, detect())
		if err != nil {
			t.Errorf("%s: %v, and not from memory", d.name, err)
		}
		m.response = "{}"
		if _, err := h.Ask(t.Context(), mod, detect()); failed(t, err).Cause != Garbled {
			t.Errorf("%s: %v", d.name, err)
		}
		m.response = answer
	}
	if m.put != 0 {
		t.Errorf("%d bad answers were remembered", m.put)
	}
	m.response = `{"api":"rigup.hook/v1","kind":"claim","claim":{"confidence":1000}}`
	if a := mustAsk(t, h, hello(), detect()); a.Remembered || m.put != 1 {
		t.Errorf("a bad answer in memory: remembered %v, put %d times", a.Remembered, m.put)
	}
}
