package hookhost

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden reports characters that a terminal acts upon or does not show: control characters, and those that turn the
// direction of text, join it, or take no room.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || r == utf8.RuneError
}

// plain is text of a hook that can be shown: valid UTF-8 without hidden characters, at most max bytes. Lines stay.
func plain(s string, max int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if hidden(r) {
			return -1
		}
		return r
	}, s)
	return cut(s, max)
}

// line is plain on one line.
func line(s string, max int) string {
	return cut(strings.Join(strings.Fields(plain(s, len(s))), " "), max)
}

// cut shortens a string to at most max bytes and does not part a character.
func cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}

// quoted is what a hook calls something, for a message.
func quoted(s string) string { return `"` + line(s, 60) + `"` }
