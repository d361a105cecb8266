package report

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/units"
)

// elapsed is units.Duration for a clock that runs: whole seconds, rounded down, so that it counts evenly.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return units.Duration(d.Truncate(time.Second))
}

// progress renders how far a step is: 212 of 389 MB, 2 of 3 pods, 12 of 60 s.
func progress(p event.Progress) string {
	unit := string(p.Unit)
	switch p.Unit {
	case event.Bytes:
		if p.Total <= 0 {
			return units.Size(p.Done)
		}
		name, f := units.Scale(p.Total)
		return f(min(p.Done, p.Total)) + " of " + f(p.Total) + " " + name
	case event.Seconds:
		unit = "s"
	}
	if p.Total <= 0 {
		return fmt.Sprintf("%d %s", p.Done, unit)
	}
	return fmt.Sprintf("%d of %d %s", p.Done, p.Total, unit)
}

// clean makes foreign text harmless on one line of a terminal: no control characters (a registry's answer may
// hold some), no marks that turn the writing direction, no line breaks.
func clean(s string) string {
	return strings.Join(strings.FieldsFunc(foreign(s), func(r rune) bool {
		return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r)
	}), " ")
}

// foreign makes s valid and takes whole control sequences out of it, so that no rest of them stays.
func foreign(s string) string {
	return sequences.ReplaceAllString(strings.ToValidUTF8(s, "?"), "")
}

// sequences are those of ECMA-48 (colours, movements) and the ones that set titles or links.
var sequences = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)")

// cleanLines is clean for text that keeps its line breaks and its inner spaces (evidence is verbatim).
func cleanLines(s string) []string {
	var out []string
	for _, l := range strings.Split(foreign(s), "\n") {
		l = strings.Map(func(r rune) rune {
			switch {
			case r == '\t':
				return ' '
			case unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r):
				return -1
			}
			return r
		}, l)
		if l = strings.TrimRight(l, " "); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// columns is how many columns s takes; East Asian wide characters and emoji take two, combining marks none.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.Is(unicode.Mn, r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f900 && r <= 0x1f9ff,
		r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// clip shortens s to n columns; ".." says that something is missing.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	if n <= 2 {
		return strings.Repeat(".", max(n, 0))
	}
	w, end := 0, 0
	for i, r := range s {
		if w += runeColumns(r); w > n-2 {
			break
		}
		end = i + len(string(r))
	}
	return strings.TrimRight(s[:end], " ,") + ".."
}

func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(n-columns(s), 0))
}

// wrap breaks s at spaces into lines of at most n columns; a longer word keeps its length.
func wrap(s string, n int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(s) {
		switch {
		case line == "":
			line = w
		case columns(line)+1+columns(w) <= n:
			line += " " + w
		default:
			lines, line = append(lines, line), w
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// lower makes the first letter small, for a sentence that goes on after a colon; a name stays as it is.
func lower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && (s[1] == ' ' || s[1] >= 'a' && s[1] <= 'z') {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}
