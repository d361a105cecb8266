package nodeconf

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Log writes one line of the given level.
type Log func(level, format string, a ...any)

const defaultConfigFile = "/etc/rancher/k3s/config.yaml"

// ConfigArgs turns the configuration file and its drop-ins into arguments. A
// missing file is an error only where it was named.
func ConfigArgs(defs map[string]Flag, args []string, log Log) ([]string, error) {
	file, named := defaultConfigFile, false
	if v := os.Getenv("K3S_CONFIG_FILE"); v != "" {
		file, named = v, true
	}
	for i, a := range args {
		name, val, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if !strings.HasPrefix(a, "-") || (name != "config" && name != "c") {
			continue
		}
		if !has && i+1 < len(args) {
			val = args[i+1]
		}
		file, named = val, true
	}
	dropIns, _ := filepath.Glob(file + ".d/*.y*ml")
	sort.Strings(dropIns)
	values, order := map[string][]string{}, []string{}
	for _, f := range append([]string{file}, dropIns...) {
		b, err := os.ReadFile(f)
		if os.IsNotExist(err) && !(named && f == file) {
			continue
		}
		if err != nil {
			return nil, err
		}
		doc := map[string]any{}
		if err := yaml.Unmarshal(b, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for k, v := range doc {
			name := strings.TrimSuffix(k, "+")
			if _, ok := defs[name]; !ok {
				log("warning", "Unknown flag --%s found in config.yaml, skipping\n", name)
				continue
			}
			if _, ok := values[name]; !ok {
				order = append(order, name)
			}
			if !strings.HasSuffix(k, "+") {
				values[name] = nil
			}
			values[name] = append(values[name], scalars(v)...)
		}
	}
	sort.Strings(order)
	var out []string
	for _, n := range order {
		for _, v := range values[n] {
			out = append(out, "--"+n+"="+v)
		}
	}
	return out, nil
}

func scalars(v any) []string {
	l, ok := v.([]any)
	if !ok {
		return []string{fmt.Sprint(v)}
	}
	var out []string
	for _, x := range l {
		out = append(out, fmt.Sprint(x))
	}
	return out
}
