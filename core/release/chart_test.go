package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"

	"rigup.dev/rigup/core/contract"
	"rigup.dev/rigup/core/reason"
)

var update = flag.Bool("update", false, "write golden files")

const repo = "../.."

// builtin loads the program's own chart as the program does.
func builtin(t *testing.T) *Chart {
	t.Helper()
	c, err := Load(context.Background(), "", LoadOptions{Embedded: os.DirFS(repo)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type gpus struct{}

func (gpus) Available() bool        { return true }
func (gpus) Request() (string, int) { return "vendor.test/gpu", 1 }

// managed is what the contract of the built-in chart writes.
func managed(t *testing.T, c *Chart, capability contract.Capability) map[string]any {
	t.Helper()
	b, ok := c.File(contract.File)
	if !ok {
		t.Fatal("no contract")
	}
	parsed, err := contract.Parse(c.Name(), b)
	if err != nil {
		t.Fatal(err)
	}
	v, err := parsed.Values(capability, contract.Env{Release: "demo", SingleNode: true, RuntimeClass: "vendor", DataDir: "/data/in/node",
		Images: map[string]string{"jobs-manager": "rigup.local/jobs-manager:0123456789ab"}})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var target = Target{Release: "demo", Namespace: "space", KubeVersion: "v1.36.0"}

// text renders all of a chart to one text, for golden files.
func text(t *testing.T, c *Chart, values map[string]any) string {
	t.Helper()
	if _, err := Render(c, values, target); err != nil {
		t.Fatalf("%v %q", err, reason.Of(err).Evidence)
	}
	chart, err := c.fresh()
	if err != nil {
		t.Fatal(err)
	}
	caps := chartutil.DefaultCapabilities
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: target.Release, Namespace: target.Namespace}, caps)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for n := range files {
		names = append(names, n)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, n := range names {
		if body := strings.TrimSpace(files[n]); body != "" {
			out.WriteString("# " + n + "\n" + body + "\n")
		}
	}
	return out.String()
}

func TestChart_Golden(t *testing.T) {
	c := builtin(t)
	for name, capability := range map[string]contract.Capability{"cpu": nil, "gpu": gpus{}} {
		t.Run(name, func(t *testing.T) {
			got := text(t, c, managed(t, c, capability))
			file := filepath.Join("testdata", "chart-"+name+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs; go test -update writes it\n%s", file, got)
			}
		})
	}
}

// A key that an older release does not have may not break the chart: every optional key is taken away, alone
// and all together, as reset-then-reuse and reuse-values would leave them.
func TestC7_MissingKeysAreNilSafe(t *testing.T) {
	c := builtin(t)
	b, _ := c.File("values.yaml")
	var defaults map[string]any
	if err := yaml.Unmarshal(b, &defaults); err != nil {
		t.Fatal(err)
	}
	var paths [][]string
	var walk func(m map[string]any, at []string)
	walk = func(m map[string]any, at []string) {
		for k, v := range m {
			here := append(slices.Clone(at), k)
			paths = append(paths, here)
			if mm, ok := v.(map[string]any); ok {
				walk(mm, here)
			}
		}
	}
	walk(defaults, nil)
	if len(paths) < 30 {
		t.Fatalf("only %d keys", len(paths))
	}
	full := text(t, c, map[string]any{})
	for _, p := range append(paths, nil) {
		t.Run(strings.Join(p, "."), func(t *testing.T) {
			var cut map[string]any
			if err := yaml.Unmarshal(b, &cut); err != nil {
				t.Fatal(err)
			}
			if p == nil {
				cut = map[string]any{}
			} else {
				m := cut
				for _, k := range p[:len(p)-1] {
					m = m[k].(map[string]any)
				}
				delete(m, p[len(p)-1])
			}
			old := *c
			old.files = slices.Clone(c.files)
			for i, f := range old.files {
				if f.Name == "values.yaml" {
					y, _ := yaml.Marshal(cut)
					g := *f
					g.Data = y
					old.files[i] = &g
				}
			}
			got := text(t, &old, map[string]any{})
			// Except for what is a matter of the chart's user, the defaults in the template are those of the file.
			if p != nil && p[0] != "env" && len(p) < 3 && got != full {
				t.Errorf("renders differently without its default")
			}
		})
	}
}

// An explicit empty value and a missing one are different things to a chart (G7).
func TestG7_ExplicitEmptyIsPassedThrough(t *testing.T) {
	c := builtin(t)
	cpu := text(t, c, managed(t, c, nil))
	for _, key := range []string{"GPU_REQUESTS", "GPU_LIMITS", "RUNTIME_CLASS_NAME", "GPU_VISIBLE_DEVICES"} {
		if !strings.Contains(cpu, "- name: "+key+"\n              value: \"\"") {
			t.Errorf("%s is not written empty", key)
		}
	}
	if !strings.Contains(cpu, "- name: SINGLE_NODE\n              value: \"true\"") {
		t.Error("SINGLE_NODE is missing")
	}
}

func TestChart_SchemaNamesTheValue(t *testing.T) {
	c := builtin(t)
	tests := map[string]struct{ set, want string }{
		"N4 latest":   {"image.tag=latest", "image.tag: "},
		"typo":        {"imagee.tag=1", "values: unknown: imagee"},
		"nested typo": {"jobs.ttl=1", "jobs: unknown: ttl"},
		"type":        {"service.port=http", "service.port: got string, want integer"},
		"range":       {"user.uid=0", "user.uid: "},
		"env value":   {"env.X=1", "env.X: "},
		"gpu text":    {"env.GPU_LIMITS=gpu", "env.GPU_LIMITS: "},
		"path":        {"hostPath.basePath=relative", "hostPath.basePath: "},
		"cidr":        {"networkPolicy.allowedCIDRs={host}", "networkPolicy.allowedCIDRs.0: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := Merge(Input{Set: []string{tt.set}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = Render(c, v, target)
			r := reason.Of(err)
			if r.ID != reason.ChartValues || !strings.Contains(strings.Join(r.Evidence, "\n"), tt.want) {
				t.Errorf("%s %q", r.ID, r.Evidence)
			}
		})
	}
}

func TestLoad_SourcesAndMistakes(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	write := func(name, content string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	write("good/Chart.yaml", "apiVersion: v2\nname: good\nversion: 1.2.3\n")
	write("good/templates/a.yaml", "kind: A\n")
	write("good/.helmignore", "*.bak\n")
	write("good/x.bak", "x")
	write("bad/Chart.yaml", "apiVersion: v2\nname: bad\n")
	write("library/Chart.yaml", "apiVersion: v2\nname: l\nversion: 1.0.0\ntype: library\n")
	write("needs/Chart.yaml", "apiVersion: v2\nname: n\nversion: 1.0.0\ndependencies: [{name: d, version: 1.0.0, repository: \"file://../d\"}]\n")
	write("empty/readme", "")
	text := write("text.tgz", "no archive")
	tgz := filepath.Join(dir, "good.tgz")
	if err := os.WriteFile(tgz, archive(t, map[string]string{"good/Chart.yaml": "apiVersion: v2\nname: good\nversion: 1.2.3\n"}), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, source := range []string{filepath.Join(dir, "good"), tgz} {
		c, err := Load(ctx, source, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Name() != "good" || c.Version() != "1.2.3" || c.Embedded() || len(c.Digest()) != 64 {
			t.Errorf("%+v", c)
		}
		if _, ok := c.File("x.bak"); ok {
			t.Error("an ignored file was read")
		}
	}
	for source, want := range map[string]reason.ID{
		filepath.Join(dir, "nowhere"): reason.ChartNotFound,
		filepath.Join(dir, "empty"):   reason.ChartNotFound,
		filepath.Join(dir, "bad"):     reason.ChartInvalid,
		filepath.Join(dir, "library"): reason.ChartInvalid,
		filepath.Join(dir, "needs"):   reason.ChartInvalid,
		text:                          reason.ChartInvalid,
		"https://registry.test/c.tgz": reason.ChartNotFound,
		"oci://registry.test/c":       reason.UsageValue,
	} {
		_, err := Load(ctx, source, LoadOptions{})
		if got := reason.Of(err).ID; got != want {
			t.Errorf("%s: %s, want %s (%v)", source, got, want, err)
		}
	}
}

func archive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for n, c := range files {
		if err := w.WriteHeader(&tar.Header{Name: n, Mode: 0o644, Size: int64(len(c))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(c)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	z.Close()
	return b.Bytes()
}
