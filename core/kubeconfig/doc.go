package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// marker is the name of the extension that says an entry is rigup's.
const marker = "dev.rigup"

// lists are the keys of a kubeconfig that hold named entries, with the key of an entry's content.
var lists = []struct{ list, item string }{
	{"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"},
}

func itemKey(list string) string { return strings.TrimSuffix(list, "s") }

// doc is a kubeconfig as text and as nodes with positions.
type doc struct {
	text []byte
	root *yaml.Node // the mapping; nil when the file has no content
}

// parse reads a kubeconfig and checks what clientcmd would stumble over, so that a damaged file is refused and
// not made worse.
func parse(text []byte) (*doc, error) {
	d := &doc{text: text}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not a text file")
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var n yaml.Node
	switch err := dec.Decode(&n); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return nil, err
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case errors.Is(err, io.EOF):
	case err != nil:
		return nil, err
	case !null(more.Content[0]):
		return nil, errors.New("it holds more than one YAML document")
	}
	root := n.Content[0]
	if null(root) {
		return d, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it is not a mapping of keys to values")
	}
	d.root = root
	return d, d.check()
}

func (d *doc) check() error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		k := d.root.Content[i].Value
		if seen[k] {
			return fmt.Errorf("line %d: the key %s stands twice", d.root.Content[i].Line, k)
		}
		seen[k] = true
	}
	if k := d.value("kind"); k != nil && !null(k) && k.Value != "Config" {
		return fmt.Errorf("line %d: it is a %s, not a Config", k.Line, k.Value)
	}
	if c := d.value("current-context"); c != nil && c.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: current-context is not a name", c.Line)
	}
	for _, l := range lists {
		names := map[string]bool{}
		v := d.value(l.list)
		if v == nil || null(v) {
			continue
		}
		if v.Kind != yaml.SequenceNode {
			return fmt.Errorf("line %d: %s is not a list", v.Line, l.list)
		}
		for _, e := range v.Content {
			e = deref(e)
			if e.Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: an entry of %s is not a mapping", e.Line, l.list)
			}
			name := get(e, "name")
			if name == nil || name.Kind != yaml.ScalarNode {
				return fmt.Errorf("line %d: an entry of %s has no name", e.Line, l.list)
			}
			if names[name.Value] {
				return fmt.Errorf("line %d: %s has the name %s twice", e.Line, l.list, name.Value)
			}
			names[name.Value] = true
			if c := get(e, l.item); c != nil && !null(c) && deref(c).Kind != yaml.MappingNode {
				return fmt.Errorf("line %d: the %s %s is not a mapping", e.Line, l.item, name.Value)
			}
		}
	}
	return nil
}

func null(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func deref(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// get is the value of a key in a mapping, or nil.
func get(m *yaml.Node, key string) *yaml.Node {
	if m == nil {
		return nil
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return deref(m.Content[i+1])
		}
	}
	return nil
}

func (d *doc) value(key string) *yaml.Node { return get(d.root, key) }

// current is the current context; empty when there is none.
func (d *doc) current() string {
	if c := d.value("current-context"); c != nil && !null(c) {
		return c.Value
	}
	return ""
}

// entry is one named entry of a list, decoded.
type entry struct {
	name string
	body map[string]any // the content below cluster, context or user
}

func (d *doc) entries(list string) []entry {
	v := d.value(list)
	if v == nil || v.Kind != yaml.SequenceNode {
		return nil
	}
	var es []entry
	for _, n := range v.Content {
		e := entry{name: get(deref(n), "name").Value, body: map[string]any{}}
		if c := get(deref(n), itemKey(list)); c != nil && !null(c) {
			// What does not decode (a merge key of something odd) is not ours: its body stays empty.
			_ = c.Decode(&e.body)
		}
		es = append(es, e)
	}
	return es
}

func (d *doc) find(list, name string) (entry, bool) {
	for _, e := range d.entries(list) {
		if e.name == name {
			return e, true
		}
	}
	return entry{}, false
}

// has reports whether any list has an entry of that name.
func (d *doc) has(name string) bool {
	for _, l := range lists {
		if _, ok := d.find(l.list, name); ok {
			return true
		}
	}
	return false
}

// mark is what the marker of an entry holds.
func (e entry) mark() (map[string]any, bool) {
	exts, _ := e.body["extensions"].([]any)
	for _, x := range exts {
		if m, _ := x.(map[string]any); m != nil && m["name"] == marker {
			content, _ := m["extension"].(map[string]any)
			return content, true
		}
	}
	return nil, false
}

// setMark returns the body with the marker set, other extensions kept.
func setMark(body, content map[string]any) map[string]any {
	out := make(map[string]any, len(body)+1)
	for k, v := range body {
		out[k] = v
	}
	var exts []any
	old, _ := body["extensions"].([]any)
	for _, x := range old {
		if m, _ := x.(map[string]any); m == nil || m["name"] != marker {
			exts = append(exts, x)
		}
	}
	out["extensions"] = append(exts, any(map[string]any{"name": marker, "extension": content}))
	return out
}

// ours reports whether the entry is rigup's: it has the marker, and a cluster also listens on loopback. A
// kubeconfig that was copied from another machine and now points there has the marker too, and is not ours.
func (e entry) ours() bool {
	if _, ok := e.mark(); !ok {
		return false
	}
	server, ok := e.body["server"].(string)
	return !ok || loopback(server)
}

func loopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// foreign is everything in the file that is not rigup's, for comparing. The current context is left out: it
// changes all the time and is no loss.
func (d *doc) foreign() map[string]any {
	all := map[string]any{}
	if d.root == nil {
		return all
	}
	if err := d.root.Decode(&all); err != nil {
		return map[string]any{"undecoded": string(d.text)}
	}
	delete(all, "current-context")
	for _, l := range lists {
		var kept []any
		items, _ := all[l.list].([]any)
		for i, e := range d.entries(l.list) {
			if _, ours := e.mark(); !ours && i < len(items) {
				kept = append(kept, items[i])
			}
		}
		all[l.list] = kept
	}
	for k, v := range all {
		switch v := v.(type) {
		case nil:
			delete(all, k)
		case []any:
			if len(v) == 0 {
				delete(all, k)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(all, k)
			}
		}
	}
	return all
}

// blank reports whether nothing of value to anybody is left in the file.
func (d *doc) blank() bool {
	rest := d.foreign()
	delete(rest, "apiVersion")
	delete(rest, "kind")
	for _, l := range lists {
		if len(d.entries(l.list)) > 0 {
			return false
		}
	}
	return len(rest) == 0 && !bytes.Contains(d.text, []byte("#"))
}
