package kubeconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// edit sets one entry of a list, or removes it when the body is nil.
type edit struct {
	list, name string
	body       map[string]any
}

// edits is a change to a kubeconfig. current is nil when the current context stays.
type edits struct {
	entries []edit
	current *string
	// dropCurrent takes the key of the current context out altogether: there was none before rigup.
	dropCurrent bool
}

func (e edits) none() bool { return len(e.entries) == 0 && e.current == nil }

// item is the entry as it stands in its list.
func (e edit) item() map[string]any { return map[string]any{itemKey(e.list): e.body, "name": e.name} }

// apply makes the change. It works on the text first, so that everything else stays byte for byte; where the
// text is laid out in a way that it does not know (JSON, flow style, anchors in the way), it writes the nodes
// anew, which keeps comments, order and unknown fields but not the layout. Both must mean the same: a result of
// the text is used only if it does.
func (d *doc) apply(e edits) ([]byte, error) {
	if d.root == nil {
		return fresh(d.text, e)
	}
	byNodes, err := d.nodes(e)
	if err != nil {
		return nil, err
	}
	want, err := parse(byNodes)
	if err != nil {
		return nil, fmt.Errorf("the changed kubeconfig does not parse: %w", err)
	}
	// Comments before a key belong to it, but what looks like one may be the end of a text block: try both.
	for _, comments := range []bool{true, false} {
		if text, ok := d.splice(e, comments); ok {
			if got, err := parse(text); err == nil && same(got, want) {
				return text, nil
			}
		}
	}
	return byNodes, nil
}

func same(a, b *doc) bool {
	var x, y any
	if a.root == nil || b.root == nil {
		return a.root == b.root
	}
	return a.root.Decode(&x) == nil && b.root.Decode(&y) == nil && reflect.DeepEqual(x, y)
}

// fresh writes a file that had no content; comments that it had are kept.
func fresh(text []byte, e edits) ([]byte, error) {
	root := map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": ""}
	for _, l := range lists {
		items := []any{}
		for _, x := range e.entries {
			if x.list == l.list && x.body != nil {
				items = append(items, x.item())
			}
		}
		root[l.list] = items
	}
	if e.current != nil {
		root["current-context"] = *e.current
	}
	b, err := encode(root)
	if err != nil {
		return nil, err
	}
	if head := bytes.TrimSpace(text); bytes.HasPrefix(head, []byte("#")) {
		b = append(append(bytes.TrimRight(text, "\r\n"), '\n'), b...)
	}
	return b, nil
}

// encode writes YAML in kubectl's layout.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return b.Bytes(), nil
}

// nodes makes the change on a copy of the nodes and writes them.
func (d *doc) nodes(e edits) ([]byte, error) {
	own, err := parse(d.text) // a copy whose nodes may be changed
	if err != nil {
		return nil, err
	}
	flow := own.root.Style&yaml.FlowStyle != 0
	for _, x := range e.entries {
		seq := own.sequence(x.list)
		at := -1
		for i, n := range seq.Content {
			if get(deref(n), "name").Value == x.name {
				at = i
			}
		}
		if x.body == nil {
			if at >= 0 {
				seq.Content = append(seq.Content[:at], seq.Content[at+1:]...)
			}
			if len(seq.Content) == 0 {
				seq.Style |= yaml.FlowStyle
			}
			continue
		}
		n := &yaml.Node{}
		if err := n.Encode(x.item()); err != nil {
			return nil, fmt.Errorf("write the %s %s: %w", itemKey(x.list), x.name, err)
		}
		if flow {
			asFlow(n)
		} else {
			seq.Style &^= yaml.FlowStyle
		}
		if at >= 0 {
			n.HeadComment, n.FootComment = seq.Content[at].HeadComment, seq.Content[at].FootComment
			seq.Content[at] = n
		} else {
			seq.Content = append(seq.Content, n)
		}
	}
	if e.dropCurrent {
		own.drop("current-context")
	} else if e.current != nil {
		n := &yaml.Node{}
		n.SetString(*e.current)
		if flow || *e.current == "" {
			n.Style = yaml.DoubleQuotedStyle
		}
		if old := own.set("current-context", n); old != nil {
			n.LineComment, n.HeadComment, n.FootComment = old.LineComment, old.HeadComment, old.FootComment
		}
	}
	out, err := encode(own.root)
	if err != nil {
		return nil, err
	}
	return d.layout(out), nil
}

// layout gives text written anew what the original has of JSON's indentation or of line ends.
func (d *doc) layout(out []byte) []byte {
	if json.Valid(d.text) && bytes.Contains(bytes.TrimSpace(d.text), []byte("\n")) {
		_, rest, _ := strings.Cut(string(d.text), "\n")
		indent := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
		var b bytes.Buffer
		if json.Indent(&b, bytes.TrimSpace(out), "", indent) == nil {
			out = append(b.Bytes(), '\n')
		}
	}
	if crlf(d.text) {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	return out
}

// crlf reports whether the text's lines end as on Windows.
func crlf(text []byte) bool {
	n := bytes.Count(text, []byte("\r\n"))
	return n > 0 && n == bytes.Count(text, []byte("\n"))
}

// sequence is a list that may be changed: made when it is missing or null, copied when it is an alias.
func (d *doc) sequence(list string) *yaml.Node {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value != list {
			continue
		}
		v := d.root.Content[i+1]
		switch {
		case v.Kind == yaml.AliasNode:
			c := *v.Alias
			c.Anchor, c.Content = "", append([]*yaml.Node(nil), v.Alias.Content...)
			v = &c
		case v.Kind != yaml.SequenceNode:
			v = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", LineComment: v.LineComment}
		}
		d.root.Content[i+1] = v
		return v
	}
	v := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	d.set(list, v)
	return v
}

// set sets a key of the root and returns the node that was there.
func (d *doc) set(key string, v *yaml.Node) (old *yaml.Node) {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			old, d.root.Content[i+1] = d.root.Content[i+1], v
			return old
		}
	}
	k := &yaml.Node{}
	k.SetString(key)
	if d.root.Style&yaml.FlowStyle != 0 {
		k.Style = yaml.DoubleQuotedStyle
	}
	d.root.Content = append(d.root.Content, k, v)
	return nil
}

// drop takes a key out of the root.
func (d *doc) drop(key string) {
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if d.root.Content[i].Value == key {
			d.root.Content = append(d.root.Content[:i], d.root.Content[i+2:]...)
			return
		}
	}
}

// asFlow turns new nodes into the style of JSON.
func asFlow(n *yaml.Node) {
	switch n.Kind {
	case yaml.MappingNode, yaml.SequenceNode:
		n.Style = yaml.FlowStyle
	case yaml.ScalarNode:
		if n.ShortTag() == "!!str" {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	for _, c := range n.Content {
		asFlow(c)
	}
}
