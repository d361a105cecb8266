package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// screen is a terminal small enough to be checked by reading: it knows the sequences that Live uses, and
// complains about any other. It scrolls without limit, and height is only how far "up" can reach.
type screen struct {
	width, height int
	lines         [][]rune
	row, col      int
	cursor        bool
	bad           []string
}

func newScreen(width, height int) *screen {
	return &screen{width: width, height: height, lines: [][]rune{nil}, cursor: true}
}

func (s *screen) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if p[0] == 0x1b {
			p = p[s.control(p):]
			continue
		}
		r, size := utf8.DecodeRune(p)
		p = p[size:]
		switch {
		case r == '\r':
			s.col = 0
		case r == '\n':
			s.down()
		case r < ' ':
			s.bad = append(s.bad, fmt.Sprintf("control character %q", r))
		default:
			s.put(r)
		}
	}
	return n, nil
}

func (s *screen) down() {
	s.row++
	for s.row >= len(s.lines) {
		s.lines = append(s.lines, nil)
	}
}

func (s *screen) put(r rune) {
	if s.col >= s.width {
		s.col = 0
		s.down()
	}
	l := s.lines[s.row]
	for len(l) <= s.col {
		l = append(l, ' ')
	}
	l[s.col] = r
	s.lines[s.row] = l
	s.col++
}

// control carries out one sequence and returns its length.
func (s *screen) control(p []byte) int {
	end := 2
	for end < len(p) && (p[end] < '@' || p[end] > '~') {
		end++
	}
	if len(p) <= end || p[1] != '[' {
		s.bad = append(s.bad, fmt.Sprintf("%q", p))
		return len(p)
	}
	arg := string(p[2:end])
	switch string(p[end]) {
	case "A":
		var n int
		_, _ = fmt.Sscan(arg, &n)
		top := max(len(s.lines)-s.height, 0)
		if s.row-n < top {
			s.bad = append(s.bad, "moved above the top of the screen")
		}
		s.row = max(s.row-n, top)
	case "K":
		if s.col < len(s.lines[s.row]) {
			s.lines[s.row] = s.lines[s.row][:s.col]
		}
	case "J":
		s.lines = s.lines[:s.row+1]
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	case "h", "l":
		s.cursor = string(p[end]) == "h"
	case "m":
	default:
		s.bad = append(s.bad, fmt.Sprintf("%q", p[:end+1]))
	}
	return end + 1
}

// reflow makes the screen narrower or wider, as terminals do that break their lines anew.
func (s *screen) reflow(width int) {
	old := s.lines
	s.width, s.lines = width, nil
	for _, l := range old {
		for len(l) > width {
			s.lines = append(s.lines, l[:width:width])
			l = l[width:]
		}
		s.lines = append(s.lines, l)
	}
	s.row = len(s.lines) - 1
}

func (s *screen) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
