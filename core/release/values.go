package release

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
	"sigs.k8s.io/yaml"

	"rigup.dev/rigup/core/reason"
)

// Input is where values come from, weakest first: Before, Files in their order, Set in its order, Managed.
type Input struct {
	// Before is what the release was given when it was installed last, where that is to stay.
	Before map[string]any
	Files  []string // --values: paths of YAML files
	Set    []string // --set: key=value[,key=value]
	// Managed is what the chart's contract writes. It always wins; a user's value on one of its keys that
	// says something else is a mistake that is named, not a wish that is quietly dropped.
	Managed map[string]any
}

// Merge makes one tree of values. Errors name the flag and the value; their reason is usage.value.
func Merge(in Input) (map[string]any, error) {
	out := over(nil, in.Before)
	for _, path := range in.Files {
		v, err := valuesFile(path)
		if err != nil {
			return nil, err
		}
		if err := unmanaged("--values", path, v, in.Managed); err != nil {
			return nil, err
		}
		out = over(out, v)
	}
	for _, s := range in.Set {
		v := map[string]any{}
		if err := strvals.ParseInto(s, v); err != nil {
			return nil, usage("--set", s, "it is written key=value, with dots between the parts of the key", err)
		}
		if err := unmanaged("--set", s, v, in.Managed); err != nil {
			return nil, err
		}
		// Parsed again onto what is there, because only then do list items join the list.
		if err := strvals.ParseInto(s, out); err != nil {
			return nil, usage("--set", s, "it does not fit the values before it", err)
		}
	}
	return over(out, in.Managed), nil
}

func usage(flag, value, allowed string, cause error) error {
	return reason.Fail(reason.New(reason.UsageValue, "flag", flag, "value", value, "allowed", allowed), cause)
}

func valuesFile(path string) (map[string]any, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage("--values", path, "there is no such file", nil)
	}
	if err != nil {
		return nil, usage("--values", path, "it cannot be read", err)
	}
	v := map[string]any{}
	if err := yaml.Unmarshal(b, &v); err != nil {
		return nil, usage("--values", path, "it is not a YAML map", err)
	}
	return v, nil
}

// unmanaged refuses a user's value where the contract writes another one.
func unmanaged(flag, source string, user, managed map[string]any) error {
	if path := conflict(user, managed, nil); path != "" {
		return usage(flag, source, path+" is written by rigup itself, from what it found and proved on this machine", nil)
	}
	return nil
}

func conflict(user, managed map[string]any, path []string) string {
	for _, k := range slices.Sorted(maps.Keys(managed)) {
		u, ok := user[k]
		if !ok {
			continue
		}
		here := append(slices.Clone(path), k)
		um, uok := u.(map[string]any)
		mm, mok := managed[k].(map[string]any)
		switch {
		case uok && mok && len(mm) > 0:
			if p := conflict(um, mm, here); p != "" {
				return p
			}
		case !same(u, managed[k]):
			return strings.Join(here, ".")
		}
	}
	return ""
}

// over lays b on a; maps are merged, everything else is replaced. Neither is changed.
func over(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]any{}
	}
	for k, v := range b {
		am, aok := out[k].(map[string]any)
		bm, bok := v.(map[string]any)
		if bok {
			if !aok {
				am = nil
			}
			out[k] = over(am, bm)
			continue
		}
		out[k] = v
	}
	return out
}

// same compares two values as they are after being stored: numbers by value, whatever their Go type.
func same(a, b any) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plain(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plain(e)
		}
		return out
	case int:
		return float64(v)
	case int64:
		return float64(v)
	}
	return v
}

// differing lists the dotted paths at which two trees of values differ, sorted. Only names are given: the
// values may be secret.
func differing(a, b map[string]any) []string {
	var out []string
	var walk func(a, b map[string]any, path string)
	walk = func(a, b map[string]any, path string) {
		keys := maps.Clone(a)
		if keys == nil {
			keys = map[string]any{}
		}
		maps.Copy(keys, b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			here := strings.TrimPrefix(path+"."+k, ".")
			am, aok := a[k].(map[string]any)
			bm, bok := b[k].(map[string]any)
			_, ina := a[k]
			_, inb := b[k]
			switch {
			case aok && bok, aok && !inb && len(am) > 0, bok && !ina && len(bm) > 0:
				walk(am, bm, here)
			case ina != inb || !same(a[k], b[k]):
				out = append(out, here)
			}
		}
	}
	walk(a, b, "")
	return out
}
