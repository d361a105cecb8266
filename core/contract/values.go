package contract

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/pins"
)

// Images lists what rigup must have in the node before the chart is installed.
func (c Contract) Images() []Image { return slices.Clone(c.images) }

// WritesGPU reports whether any key differs between a cluster with a GPU and one without: whether the chart
// knows GPUs at all.
func (c Contract) WritesGPU() bool {
	return slices.ContainsFunc(c.entries, func(e entry) bool { return fmt.Sprint(e.gpu) != fmt.Sprint(e.cpu) })
}

// Workloads is what must be ready, with names filled in. Empty means everything of the release.
func (c Contract) Workloads(release string) []Workload {
	out := slices.Clone(c.workloads)
	for i := range out {
		out[i].Name = strings.ReplaceAll(out[i].Name, "{release}", release)
	}
	return out
}

// Values is what the contract writes into the chart's values: all of its keys, whatever the capability is
// (G7). A chart without contract gets an empty map. An error means that the contract asks for something
// that env does not have, such as a helper image that rigup does not make; its reason is chart.contract.
func (c Contract) Values(capability Capability, env Env) (map[string]any, error) {
	fill, gpu := filler(capability, env)
	out := map[string]any{}
	for _, e := range c.entries {
		v := e.cpu
		if gpu {
			v = e.gpu
		}
		v, err := typed(filled(v, fill), e.as)
		if err != nil {
			return nil, fail(c.chart, fmt.Errorf("%s: values.%s: %w", File, strings.Join(e.path, "."), err))
		}
		put(out, e.path, v)
	}
	for i, img := range c.images {
		if img.Helper == "" {
			continue
		}
		repository, tag, ok := pins.CutTag(env.Images[img.Helper])
		if !ok {
			return nil, fail(c.chart, fmt.Errorf("%s: images[%d].helper is %q, allowed are %s", File, i, img.Helper, strings.Join(sorted(env.Images), ", ")))
		}
		put(out, img.repository, repository)
		put(out, img.tag, tag)
	}
	if len(c.data) > 0 {
		if env.DataDir == "" {
			return nil, fail(c.chart, fmt.Errorf("%s: data: this cluster has no data directory", File))
		}
		put(out, c.data, env.DataDir)
	}
	return out, nil
}

// filler makes the replacer of placeholders. A capability that names no resource or no device is none.
func filler(c Capability, env Env) (r *strings.Replacer, gpu bool) {
	pairs := []string{"{single}", strconv.FormatBool(env.SingleNode), "{release}", env.Release}
	if c != nil && c.Available() {
		if resource, count := c.Request(); resource != "" && count > 0 {
			gpu = true
			pairs = append(pairs, "{resource}", resource, "{count}", strconv.Itoa(count),
				"{runtimeClass}", env.RuntimeClass, "{visibleDevices}", env.VisibleDevices)
		}
	}
	return strings.NewReplacer(pairs...), gpu
}

// filled copies v with the placeholders of its strings and keys replaced.
func filled(v any, r *strings.Replacer) any {
	switch v := v.(type) {
	case string:
		return r.Replace(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = filled(v[i], r)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[r.Replace(k)] = filled(v[k], r)
		}
		return out
	}
	return v
}

func typed(v any, as string) (any, error) {
	s, ok := v.(string)
	if !ok {
		return v, nil
	}
	switch as {
	case "number":
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", s)
		}
		return n, nil
	case "bool":
		b, err := strconv.ParseBool(s)
		if err != nil {
			return nil, fmt.Errorf("%q is not true or false", s)
		}
		return b, nil
	}
	return s, nil
}

// check finds placeholders that are not allowed, in strings and keys at any depth.
func check(v any, allowed []string) error {
	switch v := v.(type) {
	case string:
		return known(v, allowed)
	case []any:
		for _, e := range v {
			if err := check(e, allowed); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range sorted(v) {
			if err := errors.Join(known(k, allowed), check(v[k], allowed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// known finds {words} that are not placeholders; braces around anything else are ordinary text.
func known(s string, allowed []string) error {
	for {
		_, rest, ok := strings.Cut(s, "{")
		if !ok {
			return nil
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil
		}
		if word(name) && !slices.Contains(allowed, name) {
			list := make([]string, len(allowed))
			for i, a := range allowed {
				list[i] = "{" + a + "}"
			}
			return fmt.Errorf("{%s} is not a placeholder here, allowed are %s", name, strings.Join(list, ", "))
		}
		s = after
	}
}

func word(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// split cuts a dotted path; \. is a dot inside a key.
func split(dotted string) ([]string, error) {
	var path []string
	var key strings.Builder
	for i := 0; i < len(dotted); i++ {
		switch {
		case dotted[i] == '\\' && i+1 < len(dotted):
			i++
			key.WriteByte(dotted[i])
		case dotted[i] == '.':
			path = append(path, key.String())
			key.Reset()
		default:
			key.WriteByte(dotted[i])
		}
	}
	path = append(path, key.String())
	for _, k := range path {
		if k == "" {
			return nil, errors.New("a part of it is empty")
		}
		if strings.ContainsAny(k, "[]= \t\n\x00") {
			return nil, fmt.Errorf("%q is not a key (lists cannot be written into)", k)
		}
	}
	return path, nil
}

// overlaps reports whether one path is the other or lies below it: then one would overwrite the other.
func overlaps(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"\x00") || strings.HasPrefix(b, a+"\x00")
}

func put(m map[string]any, path []string, v any) {
	for _, k := range path[:len(path)-1] {
		next, ok := m[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[k] = next
		}
		m = next
	}
	m[path[len(path)-1]] = v
}
