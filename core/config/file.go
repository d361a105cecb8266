package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// apply takes the settings of a configuration file in. Its paths are relative to the file.
func (in Input) apply(c *Config, path string, b []byte) error {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(b))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // an empty file, or only comments
	}
	p := in.place(File, "", filepath.Dir(path))
	p.file = path
	if err != nil {
		return p.mistake("it is not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: "))
	}
	root := doc.Content[0]
	if root.Tag == "!!null" {
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return p.mistake("it holds no settings of the form key: value")
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		p := p
		p.name, p.file = key.Value, fmt.Sprintf("%s, line %d,", path, key.Line)
		if first, ok := seen[key.Value]; ok {
			return p.mistake(fmt.Sprintf("%s already stands on line %d", key.Value, first))
		}
		seen[key.Value] = key.Line
		f, ok := find(key.Value)
		switch {
		case !ok:
			return p.unknown()
		case f.once != "":
			return p.mistake(f.Name + " does not belong into a file; " + f.once)
		}
		raw, err := f.values(value)
		if err != nil {
			return p.mistake(f.Name + " " + err.Error())
		}
		if len(raw) == 0 {
			continue
		}
		if err := f.set(c, p, raw); err != nil {
			return err
		}
	}
	return nil
}

func (p place) unknown() error {
	known := make([]string, 0, len(fields))
	for _, f := range fields {
		if f.once == "" {
			known = append(known, f.Name)
		}
	}
	what := "there is no setting " + p.name
	if near := Nearest(p.name, known); near != "" {
		return p.mistake(what + "; the nearest is " + near)
	}
	return p.mistake(what + "; the settings are the flags of rigup install without the dashes")
}

// values reads what stands behind a key in the form that the setting has: a switch, a text or a list.
func (f field) values(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return nil, nil // "key:" without a value asks for nothing
	}
	switch {
	case f.Arg == "":
		var b bool // also YAML's older yes and on
		if n.Kind != yaml.ScalarNode || n.Decode(&b) != nil {
			return nil, errors.New("is true or false, not " + kind(n))
		}
		return []string{fmt.Sprint(b)}, nil
	case !f.Many:
		return f.text(n)
	case n.Kind == yaml.MappingNode && strings.Contains(f.Arg, "="):
		var out []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := f.text(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, n.Content[i].Value+"="+v[0])
		}
		return out, nil
	case n.Kind == yaml.SequenceNode:
		var out []string
		for _, item := range n.Content {
			v, err := f.text(item)
			if err != nil {
				return nil, err
			}
			out = append(out, v...)
		}
		return out, nil
	}
	return f.text(n)
}

func (f field) text(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	// KEY: true is a fair thing to set in a chart, but no name and no path.
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Tag == "!!bool" && f.Name != "set" {
		what := "text (" + f.Arg + ")"
		if f.Many {
			what = "a list of " + f.Arg
		}
		return nil, errors.New("is " + what + ", not " + kind(n))
	}
	return []string{n.Value}, nil
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a group of settings"
	case yaml.SequenceNode:
		return "a list"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return n.Value
}

// Nearest is the known word that is most like the word, or "" when none is like it.
func Nearest(word string, known []string) string {
	best, least := "", max(len(word)/2, 1)
	for _, k := range known {
		d := distance(word, k)
		if len(word) > 2 && strings.HasPrefix(k, word) {
			d = min(d, 1) // the beginning of a word is likely meant to be that word
		}
		if d < least || d == least && best == "" {
			best, least = k, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of two neighbours counted once.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
