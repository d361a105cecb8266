package kubeconfig

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cut replaces the lines [from, to) of a text; lines count from 0.
type cut struct {
	from, to int
	with     []string
}

// splicer works on the text of a file. comments says whether comments before a key or an entry go with it.
type splicer struct {
	*doc
	comments bool
}

// splice makes the change in the text, line by line. It answers no for every layout that it is not sure of;
// the caller also checks that the result means what it should.
func (d *doc) splice(e edits, comments bool) ([]byte, bool) {
	if d.root.Style&yaml.FlowStyle != 0 || d.root.Column != 1 {
		return nil, false
	}
	p := splicer{doc: d, comments: comments}
	lines := strings.SplitAfter(string(d.text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	eol := "\n"
	if crlf(d.text) {
		eol = "\r\n"
	}
	if last := len(lines) - 1; !strings.HasSuffix(lines[last], "\n") {
		lines[last] += eol
	}
	var cuts []cut
	for _, list := range []string{"clusters", "contexts", "users"} {
		var of []edit
		for _, x := range e.entries {
			if x.list == list {
				of = append(of, x)
			}
		}
		if len(of) == 0 {
			continue
		}
		cs, ok := p.cutList(lines, list, of)
		if !ok {
			return nil, false
		}
		cuts = append(cuts, cs...)
	}
	if e.current != nil {
		c, ok := p.cutCurrent(lines, *e.current, e.dropCurrent)
		if !ok {
			return nil, false
		}
		cuts = append(cuts, c)
	}
	// From the bottom up, so that the numbers of the lines above stay right. Of two at one line the one that
	// came first in the file's order must end up first.
	slices.SortStableFunc(cuts, func(a, b cut) int { return a.from - b.from })
	for _, c := range slices.Backward(cuts) {
		for i := range c.with {
			c.with[i] += eol
		}
		lines = slices.Replace(lines, c.from, c.to, c.with...)
	}
	return []byte(strings.Join(lines, "")), true
}

var (
	emptyList  = regexp.MustCompile(`^(clusters|contexts|users):[ \t]*(\[[ \t]*\]|null|~)?[ \t]*\r?\n?$`)
	keyAlone   = regexp.MustCompile(`^(clusters|contexts|users):[ \t]*\r?\n?$`)
	scalarLine = regexp.MustCompile(`^current-context:(?:[ \t]*("[^"\\]*"|'[^']*'|[^\s#"'&*!|>][^\s#]*)?)?([ \t]+#.*?)?[ \t]*\r?\n?$`)
	plainName  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./@:-]*$`)
)

// cutList makes the cuts for one list.
func (d splicer) cutList(lines []string, list string, of []edit) ([]cut, bool) {
	key, seq, next := d.place(list)
	if key == nil {
		with := []string{list + ":"}
		for _, x := range of {
			if x.body == nil {
				continue
			}
			item, ok := itemLines(x, "")
			if !ok {
				return nil, false
			}
			with = append(with, item...)
		}
		end := d.end(lines, len(lines))
		return []cut{{end, end, with}}, len(with) > 1
	}
	at := key.Line - 1
	if at >= len(lines) || key.Column != 1 {
		return nil, false
	}
	if null(seq) || (seq.Kind == yaml.SequenceNode && len(seq.Content) == 0) {
		if !emptyList.MatchString(lines[at]) {
			return nil, false
		}
		with := []string{list + ":"}
		for _, x := range of {
			item, ok := itemLines(x, "")
			if !ok {
				return nil, false
			}
			with = append(with, item...)
		}
		return []cut{{at, at + 1, with}}, true
	}
	if seq.Kind != yaml.SequenceNode || seq.Style&yaml.FlowStyle != 0 || seq.Anchor != "" || !keyAlone.MatchString(lines[at]) {
		return nil, false
	}
	return d.cutItems(lines, at, seq, next, of)
}

// cutItems makes the cuts for the items of a list in block style.
func (d splicer) cutItems(lines []string, keyLine int, seq *yaml.Node, next int, of []edit) ([]cut, bool) {
	indent := strings.Repeat(" ", seq.Column-1)
	starts := make([]int, 0, len(seq.Content)+1)
	for _, n := range seq.Content {
		if n.Line < 1 || n.Line > len(lines) || !strings.HasPrefix(lines[n.Line-1], indent+"- ") {
			return nil, false
		}
		starts = append(starts, n.Line-1)
	}
	end := d.end(lines, next)
	starts = append(starts, end)
	left := len(seq.Content)
	var cuts []cut
	var added []string
	for _, x := range of {
		at := slices.IndexFunc(seq.Content, func(n *yaml.Node) bool { return get(deref(n), "name").Value == x.name })
		var with []string
		if x.body != nil {
			var ok bool
			if with, ok = itemLines(x, indent); !ok {
				return nil, false
			}
		}
		switch {
		case at < 0 && x.body != nil:
			added = append(added, with...)
			left++
		case at >= 0:
			cuts = append(cuts, cut{starts[at], d.end(lines, starts[at+1]), with})
			if x.body == nil {
				left--
			}
		}
	}
	if len(added) > 0 {
		cuts = append(cuts, cut{end, end, added})
	}
	if left == 0 {
		name, _, _ := strings.Cut(lines[keyLine], ":")
		cuts = append(cuts, cut{keyLine, keyLine + 1, []string{name + ": []"}})
	}
	return cuts, true
}

// cutCurrent makes the cut for the current context.
func (d splicer) cutCurrent(lines []string, current string, drop bool) (cut, bool) {
	text := `""`
	if plainName.MatchString(current) {
		text = current
	} else if current != "" {
		b, err := encode(current)
		if err != nil || bytes.Count(b, []byte("\n")) != 1 {
			return cut{}, false
		}
		text = strings.TrimSpace(string(b))
	}
	key, _, _ := d.place("current-context")
	if key == nil {
		end := d.end(lines, len(lines))
		return cut{end, end, []string{"current-context: " + text}}, true
	}
	if drop {
		return cut{from: key.Line - 1, to: key.Line}, scalarLine.MatchString(lines[key.Line-1])
	}
	m := scalarLine.FindStringSubmatch(lines[key.Line-1])
	if m == nil {
		return cut{}, false
	}
	if m[1] != "" && (m[1][0] == '"' || m[1][0] == '\'') && text == current {
		text = m[1][:1] + text + m[1][:1] // quoted as before
	}
	return cut{key.Line - 1, key.Line, []string{"current-context: " + text + m[2]}}, true
}

// place finds a key of the root, its value as it stands, and the line (from 0) at which the next key begins.
func (d *doc) place(key string) (k, v *yaml.Node, next int) {
	c := d.root.Content
	for i := 0; i+1 < len(c); i += 2 {
		if c[i].Value != key {
			continue
		}
		next = 1 << 30
		if i+2 < len(c) {
			next = c[i+2].Line - 1
		}
		return c[i], c[i+1], next
	}
	return nil, nil, 0
}

// end is where something that goes up to a line really ends: comments and empty lines before the line belong
// to what follows, and the mark of a document's end stays last.
func (d splicer) end(lines []string, line int) int {
	line = min(line, len(lines))
	for line > 0 {
		s := strings.TrimSpace(lines[line-1])
		if s != "" && (s[0] != '#' || !d.comments) && s != "..." && s != "---" {
			break
		}
		line--
	}
	return line
}

// itemLines are the lines of an entry in a list whose dashes stand at indent, without line ends.
func itemLines(x edit, indent string) ([]string, bool) {
	b, err := encode(x.item())
	if err != nil {
		return nil, false
	}
	out := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i := range out {
		lead := indent + "  "
		if i == 0 {
			lead = indent + "- "
		}
		if out[i] != "" {
			out[i] = lead + out[i]
		}
	}
	return out, true
}
