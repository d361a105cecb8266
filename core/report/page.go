package report

import (
	"strings"

	"rigup.dev/rigup/core/reason"
)

// page collects the lines of a screen that is not drawn in place: here text may take several lines.
type page struct {
	width int
	st    style
	label int // columns of the labels
	lines []string
}

// The columns that labels take, each with what stands behind: Seen, Restart.
const (
	shortLabels = 6
	longLabels  = 9
)

func (p *page) text(s string) { p.lines = append(p.lines, s) }

// gap makes an empty line, once, and never the first.
func (p *page) gap() {
	if n := len(p.lines); n > 0 && p.lines[n-1] != "" {
		p.lines = append(p.lines, "")
	}
}

// head is a sentence whose beginning is painted.
func (p *page) head(color, s string, rest ...string) {
	lines := wrap(strings.TrimSpace(s+" "+strings.Join(rest, " ")), p.width)
	painted := s
	if len(lines) > 0 && !strings.HasPrefix(lines[0], s) {
		painted = lines[0] // broken within the painted part: what is on the first line is painted
	}
	for i, l := range lines {
		if i == 0 {
			l = p.st.paint(color, painted) + strings.TrimPrefix(l, painted)
		}
		p.text(l)
	}
}

// hang writes text after a prefix; its further lines stand below its beginning.
func (p *page) hang(prefix, s string) {
	n := columns(unpainted(prefix))
	for i, l := range wrap(s, max(p.width-n, 20)) {
		if i > 0 {
			prefix = strings.Repeat(" ", n)
		}
		p.text(prefix + l)
	}
}

func (p *page) labelled(s string) string {
	return "  " + p.st.paint(bold, s) + strings.Repeat(" ", max(p.label-len(s), 0))
}

// item is a labelled line; without text there is none.
func (p *page) item(label, s string) {
	if s != "" {
		p.hang(p.labelled(label), s)
	}
}

// exact is a labelled line that keeps its length, so that a command can be copied from it.
func (p *page) exact(label, s string) {
	p.text(p.labelled(label) + s)
}

// reason writes a problem in its three parts: why, what to do, what was seen, and its id for searching.
func (p *page) reason(r reason.Reason) { p.reasonAs("Why", r) }

func (p *page) reasonAs(label string, r reason.Reason) {
	defer func(n int) { p.label = n }(p.label)
	p.label = shortLabels
	p.item(label, clean(r.Text))
	label = "Fix"
	for _, m := range r.Remedy {
		p.remedy(label, clean(m))
		label = ""
	}
	label = "Seen"
	for _, e := range r.Evidence {
		for _, l := range cleanLines(e) {
			if columns(l) > p.width-p.label-2 {
				p.item(label, l)
			} else {
				p.exact(label, l)
			}
			label = ""
		}
	}
	p.id(string(r.ID))
}

// remedy breaks a long remedy only in its prose: a command on it stays on one line.
func (p *page) remedy(label, s string) {
	if columns(s) <= p.width-p.label-2 || isCommand(s) {
		p.exact(label, s)
		return
	}
	if i := strings.LastIndex(s, ": "); i >= 0 && isCommand(s[i+2:]) {
		p.item(label, s[:i+1])
		p.exact("", s[i+2:])
		return
	}
	p.item(label, s)
}

// isCommand reports whether s is a command and no sentence that begins with one.
func isCommand(s string) bool {
	first, rest, _ := strings.Cut(s, " ")
	switch first {
	case "sudo":
		return true
	case "rigup", "docker", "kubectl", "helm":
		// The commands in remedies end with a flag's value, a name or a path; a sentence has a verb after it. hooks add
		// and approve go with addresses and digests.
		return len(strings.Fields(rest)) <= 6 && !strings.ContainsAny(rest, ",:;") || strings.Contains(rest, "--context") || strings.HasPrefix(rest, "hooks a")
	}
	return false
}

// id puts the id of a reason at the right end of the last line, or on a line of its own.
func (p *page) id(id string) {
	if id == "" || len(p.lines) == 0 {
		return
	}
	last := len(p.lines) - 1
	free := p.width - columns(unpainted(p.lines[last])) - len(id)
	if free < 2 {
		p.text(strings.Repeat(" ", max(p.width-len(id), 0)) + p.st.paint(dim, id))
		return
	}
	p.lines[last] += strings.Repeat(" ", free) + p.st.paint(dim, id)
}

// next says what to do with a cluster that runs.
func (p *page) next(cluster, context, namespace string) {
	if context != "" {
		use := "kubectl --context " + clean(context)
		if namespace != "" {
			use += " -n " + clean(namespace)
		}
		p.exact("Use", use+" get pods")
	}
	p.exact("Look", command("status", cluster))
}
