package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPieceKeyFollowsWhatDecidesTheResult(t *testing.T) {
	src := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		p := filepath.Join(src, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	key := func(p piece) string {
		t.Helper()
		k, err := pieceKey(src, &p)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	write("a/x.go", "one")
	base := piece{name: "a", inputs: []string{"v1"}, sources: []string{"a"}}
	first := key(base)
	if got := key(base); got != first {
		t.Fatalf("the same twice: %s, %s", first, got)
	}
	write("a/x_test.go", "a test")
	if got := key(base); got != first {
		t.Error("a test file changed the key")
	}
	for name, p := range map[string]piece{
		"version": {name: "a", inputs: []string{"v2"}, sources: []string{"a"}},
		"name":    {name: "b", inputs: []string{"v1"}, sources: []string{"a"}},
		"need":    {name: "a", inputs: []string{"v1"}, sources: []string{"a"}, needs: []*piece{{name: "n", key: "k"}}},
		// Two inputs are not one that is spelled like both.
		"split": {name: "a", inputs: []string{"v", "1"}, sources: []string{"a"}},
	} {
		if key(p) == first {
			t.Errorf("%s does not change the key", name)
		}
	}
	write("a/x.go", "two")
	if key(base) == first {
		t.Error("a source does not change the key")
	}
	if _, err := pieceKey(src, &piece{name: "a", sources: []string{"missing"}}); err == nil {
		t.Error("a missing source is no error")
	}
}
