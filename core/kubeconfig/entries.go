package kubeconfig

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"rigup.dev/rigup/core/reason"
)

// The fields of the marker.
const (
	markCluster  = "cluster"  // the cluster's name
	markPrevious = "previous" // context only: the context that was current before ours
	markKey      = "key"      // context only: "added" when there was no key for the current context
	markCreated  = "created"  // context only: "file" or "directory" when rigup made it
)

// input is what the node's kubeconfig says.
type input struct{ cluster, user map[string]any }

// read takes the current context of the node's kubeconfig.
func read(node []byte, cluster string) (input, error) {
	bad := func(err error) (input, error) {
		return input{}, fmt.Errorf("read the kubeconfig of cluster %s: %w", cluster, err)
	}
	d, err := parse(node)
	if err != nil {
		return bad(err)
	}
	c, ok := d.find("contexts", d.current())
	if !ok {
		return bad(errors.New("it has no current context"))
	}
	clusterName, _ := c.body["cluster"].(string)
	userName, _ := c.body["user"].(string)
	cl, ok := d.find("clusters", clusterName)
	if !ok || cl.body["server"] == nil {
		return bad(errors.New("its context has no cluster"))
	}
	us, ok := d.find("users", userName)
	if !ok || len(us.body) == 0 {
		return bad(errors.New("its context has no user"))
	}
	return input{cluster: cl.body, user: us.body}, nil
}

// edits are what brings a kubeconfig to have this cluster.
func (in input) edits(d *doc, s situation) (edits, error) {
	if err := s.refuseForeign(d); err != nil {
		return edits{}, err
	}
	var e edits
	plain := map[string]any{markCluster: s.cluster}
	set := func(list string, body map[string]any) {
		if have, ok := d.find(list, s.name); !ok || !reflect.DeepEqual(have.body, body) {
			e.entries = append(e.entries, edit{list, s.name, body})
		}
	}
	set("clusters", setMark(in.cluster, plain))

	// What the user added to our context, such as a namespace, stays.
	old, had := d.find("contexts", s.name)
	body := map[string]any{}
	mark := map[string]any{}
	if had {
		maps.Copy(body, old.body)
		if m, _ := old.mark(); m != nil {
			maps.Copy(mark, m)
		}
	}
	body["cluster"], body["user"] = s.name, s.name
	mark[markCluster] = s.cluster
	if s.created != "" && !had {
		mark[markCreated] = s.created
	}
	now := d.current()
	if s.takes(now) {
		e.current = &s.name
		if now != "" {
			mark[markPrevious] = now
		}
		if d.root != nil && d.value("current-context") == nil {
			mark[markKey] = "added"
		}
	}
	set("contexts", setMark(body, mark))
	set("users", setMark(in.user, plain))
	return e, nil
}

// takes reports whether our context becomes the current one.
func (s situation) takes(now string) bool {
	switch {
	case now == s.name || s.current == Never:
		return false
	case s.current == Always:
		return true
	}
	return now == "" && s.elsewhere == ""
}

// refuseForeign fails when an entry of our name is not ours.
func (s situation) refuseForeign(d *doc) error {
	for _, l := range lists {
		if e, ok := d.find(l.list, s.name); ok && !e.ours() {
			return reason.Fail(reason.New(reason.KubeconfigForeign, "path", s.path, "kind", l.item, "name", s.name), nil)
		}
	}
	return nil
}

// removal takes our entries out.
func removal(d *doc, s situation) (edits, error) {
	var e edits
	gone := false
	mark := map[string]any{}
	for _, l := range lists {
		have, ok := d.find(l.list, s.name)
		if !ok {
			continue
		}
		if !have.ours() {
			s.warn(reason.New(reason.KubeconfigForeign, "path", s.path, "kind", l.item, "name", s.name))
			continue
		}
		e.entries = append(e.entries, edit{list: l.list, name: s.name})
		if l.list == "contexts" {
			gone = true
			if m, _ := have.mark(); m != nil {
				mark = m
			}
		}
	}
	if !gone {
		return e, nil
	}
	previous, _ := mark[markPrevious].(string)
	if d.current() == s.name {
		back := ""
		if _, ok := d.find("contexts", previous); ok && previous != s.name {
			back = previous
		}
		e.current = &back
		e.dropCurrent = back == "" && mark[markKey] != nil
	}
	e.entries = append(e.entries, inherit(d, s.name, mark)...)
	return e, nil
}

// inherit hands what our marker knew on to the other clusters of rigup in the file: who made the file, and the
// context before ours for those that remembered ours.
func inherit(d *doc, name string, mark map[string]any) []edit {
	var out []edit
	created, previous := mark[markCreated], mark[markPrevious]
	for _, c := range d.entries("contexts") {
		m, ours := c.mark()
		if !ours || c.name == name {
			continue
		}
		next := maps.Clone(m)
		if next == nil {
			next = map[string]any{}
		}
		if created != nil && next[markCreated] == nil {
			next[markCreated] = created
			created = nil
		}
		if next[markPrevious] == name {
			delete(next, markPrevious)
			if previous != nil && previous != c.name {
				next[markPrevious] = previous
			}
		}
		if !reflect.DeepEqual(next, m) {
			out = append(out, edit{"contexts", c.name, setMark(c.body, next)})
		}
	}
	return out
}

// madeBy is what rigup made: "", "file" or "directory" (and the file), as the marker of our context says.
func madeBy(d *doc, s situation) string {
	c, ok := d.find("contexts", s.name)
	if !ok {
		return ""
	}
	m, _ := c.mark()
	made, _ := m[markCreated].(string)
	return made
}
