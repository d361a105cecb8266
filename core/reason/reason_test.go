package reason

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// declared reads the ids out of list.go, so that an id without an entry is found.
func declared(t *testing.T) map[ID]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "list.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[ID]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "ID" {
				id := ID(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
				if ids[id] {
					t.Errorf("%s is declared twice", id)
				}
				ids[id] = true
			}
		}
		return true
	})
	return ids
}

func TestG4_TheListIsClosedAndEveryEntryCanBeShown(t *testing.T) {
	ids := declared(t)
	if len(ids) != len(list) {
		t.Errorf("%d ids, %d entries", len(ids), len(list))
	}
	form := regexp.MustCompile(`^[a-z]+(\.[a-z0-9-]+)?$`)
	for id := range ids {
		e, ok := list[id]
		if !ok {
			t.Errorf("%s has no entry", id)
			continue
		}
		if !form.MatchString(string(id)) {
			t.Errorf("%s: an id is area.what", id)
		}
		if e.text == "" || !strings.ContainsAny(e.text[len(e.text)-1:], ".}") {
			t.Errorf("%s: the text is one sentence: %q", id, e.text)
		}
		if strings.ContainsAny(e.text, "\n\t") {
			t.Errorf("%s: the text is one line", id)
		}
	}
}

// G4: a remedy that cannot be followed on this machine (no value for its placeholder) is not shown.
func TestG4_RemediesCanBeFollowed(t *testing.T) {
	r := New(ImageNotFound, "image", "registry.test/app:1", "mirror", "")
	if len(r.Remedy) != 1 || strings.Contains(r.Remedy[0], "mirror") {
		t.Errorf("%q", r.Remedy)
	}
	r = New(ImageNotFound, "image", "registry.test/app:1", "mirror", "mirror.test")
	if len(r.Remedy) != 2 || !strings.Contains(r.Text, "registry.test/app:1") {
		t.Errorf("%+v", r)
	}
	if r := New(EngineUnreachable, "place", "unix:///x"); len(r.Remedy) != 1 {
		t.Errorf("a remedy with an open placeholder is shown: %q", r.Remedy)
	}
}

func TestAnUnlistedReasonIsInternal(t *testing.T) {
	r := New("no.such-reason")
	if r.ID != Internal || !strings.Contains(r.Text, "no.such-reason") {
		t.Errorf("%+v", r)
	}
}

func TestErrorsCarryTheirReason(t *testing.T) {
	cause := errors.New("dial: refused")
	err := fmt.Errorf("stage: %w", Fail(New(EngineUnreachable), cause))
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
	r := Of(err)
	if r.ID != EngineUnreachable || len(r.Evidence) != 1 || r.Evidence[0] != "dial: refused" || r.Exit() != ExitUsage {
		t.Errorf("%+v", r)
	}
	if r := Of(errors.New("x")); r.ID != Internal || r.Exit() != ExitFailed {
		t.Errorf("%+v", r)
	}
}

func TestEvidenceIsShort(t *testing.T) {
	r := New(Internal, "what", "x").With(strings.Repeat("line\n", 40), strings.Repeat("é", 2000), "  ")
	if len(r.Evidence) != 2 || strings.Count(r.Evidence[0], "\n") != 2 || len(r.Evidence[1]) > maxBytes+3 {
		t.Errorf("%d %q", len(r.Evidence), r.Evidence)
	}
}

func TestExitCodes(t *testing.T) {
	for id, want := range map[ID]int{GPURequired: 3, UsageValue: 2, Interrupted: 130, ImagePull: 1} {
		if got := New(id).Exit(); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}
