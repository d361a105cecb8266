package main

import (
	"strings"
	"testing"
)

func TestBounding(t *testing.T) {
	full := bounding("Name:\tx\nCapBnd:\t000001ffffffffff\n")
	if len(full) != len(names) {
		t.Errorf("%d of %d", len(full), len(names))
	}
	less := bounding("CapBnd:\t000001fffeffffff\n")
	if less["CAP_SYS_RESOURCE"] || !less["CAP_SYS_ADMIN"] || len(less) != len(names)-1 {
		t.Errorf("got %v", less)
	}
	if bounding("nothing") != nil {
		t.Error("a set where there is none")
	}
}

func TestFilterTakesAwayOnlyWhatIsMissing(t *testing.T) {
	have := map[string]bool{"CAP_KILL": true}
	for name, c := range map[string]struct{ doc, inner, want string }{
		"bundle":    {`{"process":{"capabilities":{"bounding":["CAP_KILL","CAP_SYS_RESOURCE"]}}}`, "process", `["CAP_KILL"]`},
		"exec":      {`{"capabilities":{"effective":["CAP_SYS_RESOURCE"]}}`, "", `[]`},
		"big limit": {`{"n":18446744073709551615,"capabilities":{"effective":["X"]}}`, "", `18446744073709551615`},
		"nothing":   {`{"process":{"capabilities":{"bounding":["CAP_KILL"]}}}`, "process", ""},
		"none":      {`{}`, "process", ""},
	} {
		out, err := filter([]byte(c.doc), c.inner, have)
		if err != nil || !strings.Contains(string(out), c.want) || (c.want == "") != (out == nil) {
			t.Errorf("%s: %s %v", name, out, err)
		}
	}
}

func TestValue(t *testing.T) {
	for line, want := range map[string]string{"create --bundle /b id": "/b", "create --bundle=/c id": "/c", "run -b /d id": "/d", "run id": ""} {
		if got := value(strings.Fields(line), "--bundle", "-b"); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}
