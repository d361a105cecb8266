package hookkit

import "strings"

// How much of a difference is shown, in lines.
const (
	diffContext = 2
	diffLines   = 60
)

// diff shows where two texts differ, line by line: "- " before what was expected, "+ " before what came.
func diff(want, got string) []string {
	a, b := strings.Split(strings.TrimRight(want, "\n"), "\n"), strings.Split(strings.TrimRight(got, "\n"), "\n")
	// same[i][j] is how many lines a[i:] and b[j:] have in common, in order.
	same := make([][]int, len(a)+1)
	for i := range same {
		same[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				same[i][j] = same[i+1][j+1] + 1
			} else {
				same[i][j] = max(same[i+1][j], same[i][j+1])
			}
		}
	}
	var all []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			all = append(all, "  "+a[i])
			i++
			j++
		case j == len(b) || i < len(a) && same[i+1][j] >= same[i][j+1]:
			all = append(all, "- "+a[i])
			i++
		default:
			all = append(all, "+ "+b[j])
			j++
		}
	}
	return around(all)
}

// around keeps the lines that differ, and a few beside them.
func around(all []string) []string {
	keep := make([]bool, len(all))
	for i, line := range all {
		if line[0] != ' ' {
			for j := max(0, i-diffContext); j <= min(len(all)-1, i+diffContext); j++ {
				keep[j] = true
			}
		}
	}
	var out []string
	for i, line := range all {
		switch {
		case len(out) == diffLines:
			return append(out, "...")
		case keep[i]:
			out = append(out, line)
		case i > 0 && keep[i-1]:
			out = append(out, "...")
		}
	}
	if n := len(out); n > 0 && out[n-1] == "..." {
		out = out[:n-1]
	}
	return out
}
