// Package text finds the decisive line in what a failed step printed.
package text

import (
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
)

// Rule is what a line has to hold, in lower case, to mean a reason. The first rule that fits some line counts, so the
// more specific ones go first.
type Rule struct {
	ID  why.ID
	Has []string
	// Code is a number that the line has to give as the code of an error of CUDA.
	Code string
}

// longest is how much of a line is shown. Engines put whole chains of errors into one.
const longest = 220

// Match finds the first rule that fits, and its line.
func Match(output string, rules ...[]Rule) (id why.ID, line string, ok bool) {
	lines := split(output)
	lower := make([]string, len(lines))
	for i, l := range lines {
		lower[i] = strings.ToLower(l)
	}
	for _, list := range rules {
		for _, r := range list {
			for i, l := range lower {
				if all(l, r.Has) && hasCode(l, r.Code) {
					return r.ID, shown(lines[i], r.begin(l)), true
				}
			}
		}
	}
	return "", "", false
}

// begin is where in the line the decisive words begin.
func (r Rule) begin(l string) int {
	if len(r.Has) == 0 {
		return strings.Index(l, "cu")
	}
	return strings.Index(l, r.Has[0])
}

func all(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

// codeWords stand before the code of an error: "code": 100, error 802, error (999), returned 35.
var codeWords = []string{"code", "error", "err", "returned", "failed", "failure", "result"}

// hasCode reports whether a line is about CUDA and gives this number as the code of an error. An empty code is not
// looked for.
func hasCode(l, code string) bool {
	if code == "" {
		return true
	}
	if !strings.Contains(l, "cuda") && !strings.Contains(l, "cuinit") && !strings.Contains(l, `"cu`) {
		return false
	}
	for from := 0; ; {
		i := strings.Index(l[from:], code)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(code)
		if from < len(l) && isDigit(l[from]) || i > 0 && isDigit(l[i-1]) {
			continue
		}
		before := strings.TrimRight(l[:i], " :=(\"'#")
		for _, w := range codeWords {
			if strings.HasSuffix(before, w) {
				return true
			}
		}
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' || c == '.' }

// split cuts what was printed into lines. Errors that were put into quotes on their way have the two characters \n in
// the place of some.
func split(output string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(output, "\r", "\n"), `\n`, "\n"), "\n")
}

// shown is a line as it is shown: all of it, or the part from the decisive words on. ToLower keeps the places of the
// words for the texts that rules look for, which are ASCII.
func shown(line string, at int) string {
	s := strings.TrimSpace(line)
	if len(s) <= longest {
		return s
	}
	if at >= 0 && at < len(line) {
		s = strings.TrimSpace(line[at:])
	}
	if len(s) > longest {
		s = s[:longest]
		if i := strings.LastIndexByte(s, ' '); i > 0 {
			s = s[:i]
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(s), "")
}

// Last is the last line that says something: what is shown when nothing else is known.
func Last(output string) string {
	lines := split(output)
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return shown(s, 0)
		}
	}
	return ""
}

// Path is the first path below /dev in a text.
func Path(s string) string {
	i := strings.Index(s, "/dev/")
	if i < 0 {
		return ""
	}
	end := strings.IndexFunc(s[i:], func(r rune) bool {
		return r != '/' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if end < 0 {
		return s[i:]
	}
	return s[i : i+end]
}

// pulls are what registries, mirrors and disks say. Images are not a gpu hook's business: rigup has reasons for them,
// with the names of mirrors and hosts.
var pulls = []Rule{
	{Has: []string{"manifest unknown"}},
	{Has: []string{"manifest for ", "not found"}},
	{Has: []string{"pull access denied"}},
	{Has: []string{"toomanyrequests"}},
	{Has: []string{"errimagepull"}},
	{Has: []string{"imagepullbackoff"}},
	{Has: []string{"failed to resolve reference"}},
	{Has: []string{"failed to pull image"}},
	{Has: []string{"error pulling image"}},
	{Has: []string{"no such image"}},
	{Has: []string{"x509: "}},
	{Has: []string{"no such host"}},
	{Has: []string{"no space left on device"}},
	{Has: []string{"disk quota exceeded"}},
}

// Pull reports whether a failure is about getting an image.
func Pull(output string) bool {
	_, _, ok := Match(output, pulls)
	return ok
}
