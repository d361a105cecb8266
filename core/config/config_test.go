package config

import (
	"errors"
	"io/fs"
	"net/netip"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"rigup.dev/rigup/core/reason"
)

// world is an environment of three maps.
type world struct {
	flags map[string][]string
	env   map[string]string
	files map[string]string
}

var (
	home    = filepath.Join(root, "home", "ada")
	work    = filepath.Join(root, "work")
	confDir = filepath.Join(home, ".config")
	own     = filepath.Join(confDir, "rigup", "rigup.yaml")
)

func (w world) load() (Config, error) {
	return Load(Input{
		Flags: w.flags,
		Env:   func(k string) string { return w.env[k] },
		ReadFile: func(p string) ([]byte, error) {
			b, ok := w.files[p]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(b), nil
		},
		UserHome: home, ConfigDir: confDir, WorkDir: work,
	})
}

func must(t *testing.T, w world) Config {
	t.Helper()
	c, err := w.load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c := must(t, world{})
	dir := filepath.Join(home, ".rigup", "clusters", "rigup")
	if c.Cluster.Value != "rigup" || c.Output.Value != "text" || c.GPU.Value != GPUAuto || c.Timeout.Value != time.Hour ||
		c.APIPort.Value != (Ports{6550, 6599}) || c.Dir() != dir || c.DataDir.Value != filepath.Join(dir, "data") {
		t.Errorf("%+v", c)
	}
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if s, ok := v.Field(i).Interface().(interface{ Set() bool }); ok && s.Set() {
			t.Errorf("%s counts as asked for", v.Type().Field(i).Name)
		}
	}
}

// Flags go before the environment, that before the file, that before the defaults.
func TestPrecedence(t *testing.T) {
	w := world{map[string][]string{}, map[string]string{}, map[string]string{}}
	check := func(value string, from Source) {
		t.Helper()
		c := must(t, w)
		if c.Namespace != (Setting[string]{value, from}) {
			t.Errorf("%+v, want %s from %s", c.Namespace, value, from)
		}
	}
	check("rigup", Default)
	w.files[own] = "namespace: of-file\n"
	check("of-file", File)
	w.env["RIGUP_NAMESPACE"] = "of-env"
	check("of-env", Env)
	w.flags["namespace"] = []string{"first", "of-flag"}
	check("of-flag", Flag)
}

func TestFile(t *testing.T) {
	named := filepath.Join(work, "sub", "site.yaml")
	c := must(t, world{
		map[string][]string{"config": {filepath.Join("sub", "site.yaml")}}, nil,
		map[string]string{own: "cluster: unused", named: `
# of the team
cluster: lab
api-port: 7000
gpu: off
yes: true
data-dir: data
chart: ~/charts/mine
subnet: 10.123.0.0/24
values: [one.yaml, /two.yaml]
set:
  - a=1,2
  - b=x y
registry-mirror:
  docker.io: https://mirror.test
  ghcr.io: http://10.0.0.1:5000/ghcr
load-image: app:dev
engine:
`},
	})
	sub := filepath.Join(work, "sub")
	if c.File != named || c.Cluster.Value != "lab" || c.APIPort.Value != (Ports{7000, 7000}) || c.GPU.Value != GPUOff ||
		!c.Yes.Value || c.DataDir.Value != filepath.Join(sub, "data") || c.Chart.Value != filepath.Join(home, "charts", "mine") ||
		c.Subnet.Value != netip.MustParsePrefix("10.123.0.0/24") || c.Engine.Set() {
		t.Errorf("%+v", c)
	}
	for _, x := range []struct{ got, want any }{
		{c.SetValues.Value, []string{"a=1,2", "b=x y"}},
		{c.Mirrors.Value, []Mirror{{"docker.io", "https://mirror.test"}, {"ghcr.io", "http://10.0.0.1:5000/ghcr"}}},
		{c.LoadImages.Value, []string{"app:dev"}},
		{c.Values.Value[0], filepath.Join(sub, "one.yaml")},
	} {
		if !reflect.DeepEqual(x.got, x.want) {
			t.Errorf("got %q, want %q", x.got, x.want)
		}
	}
}

// The folder that one happens to be in decides nothing.
func TestNoFileOfTheWorkingDirectory(t *testing.T) {
	c := must(t, world{files: map[string]string{filepath.Join(work, "rigup.yaml"): "cluster: trap"}})
	if c.Cluster.Value != "rigup" || c.File != "" {
		t.Errorf("%+v", c.Cluster)
	}
}

func TestEnvironment(t *testing.T) {
	c := must(t, world{env: map[string]string{
		"RIGUP_HOME": "~/elsewhere", "RIGUP_SET": "a=1,2\n\n b=x y \n", "RIGUP_RECREATE": "1", "RIGUP_GPU": "",
	}})
	if !reflect.DeepEqual(c.SetValues.Value, []string{"a=1,2", "b=x y"}) || !c.Recreate.Value || c.GPU.Set() ||
		c.Home != filepath.Join(home, "elsewhere") {
		t.Errorf("%+v", c)
	}
}

// Every mistake names where it is, the value and what is allowed, and ends with exit code 2.
func TestMistakesAreNamed(t *testing.T) {
	flag := func(name, v string) world { return world{flags: map[string][]string{name: {v}}} }
	file := func(s string) world { return world{files: map[string]string{own: s}} }
	for _, x := range []struct {
		name string
		in   world
		id   reason.ID
		want []string
	}{
		{"cluster", flag("cluster", "My_Lab"), reason.UsageValue, []string{"--cluster", "My_Lab", "lower-case"}},
		{"empty", flag("cluster", ""), reason.UsageValue, []string{"--cluster cannot be empty"}},
		{"long", flag("cluster", strings.Repeat("a", 33)), reason.UsageValue, []string{"up to 32"}},
		{"gpu", flag("gpu", "maybe"), reason.UsageValue, []string{"--gpu", "maybe", "auto, off or require"}},
		{"port", flag("api-port", "80"), reason.UsageValue, []string{"--api-port", "80", "1024 to 65535"}},
		{"ports", flag("api-port", "7000-6000"), reason.UsageValue, []string{"6000-7000"}},
		{"subnet", flag("subnet", "10.1.2.3/24"), reason.UsageValue, []string{"10.1.2.0/24"}},
		{"public", flag("subnet", "8.8.8.0/24"), reason.UsageValue, []string{"private"}},
		{"engine", flag("engine", "docker.sock"), reason.UsageValue, []string{"unix://PATH"}},
		{"timeout", flag("timeout", "-1s"), reason.UsageValue, []string{"20m"}},
		{"set", flag("set", "novalue"), reason.UsageValue, []string{"KEY=VALUE"}},
		{"mirror", flag("registry-mirror", "docker.io"), reason.UsageValue, []string{"HOST=URL"}},
		{"node image", flag("node-image", "registry.test/k3s:latest"), reason.ImageMovingTag, []string{"latest"}},
		{"env", world{env: map[string]string{"RIGUP_GPU": "x"}}, reason.UsageValue, []string{"RIGUP_GPU", "x", "auto, off or require"}},
		{"env list", world{env: map[string]string{"RIGUP_SET": "a=1\nb"}}, reason.UsageValue, []string{"RIGUP_SET", "cannot be b"}},
		{"bool", flag("yes", "maybe"), reason.UsageValue, []string{"--yes", "maybe", "true or false"}},
		{"unknown key", file("a: 1\n"), reason.UsageConfig, []string{own, "line 1", "no setting a", "flags of rigup install"}},
		{"near key", file("\nnamspace: x\n"), reason.UsageConfig, []string{own, "line 2", "namspace", "nearest is namespace"}},
		{"underscore", file("data_dir: x"), reason.UsageConfig, []string{"nearest is data-dir"}},
		{"once", file("recreate: true"), reason.UsageConfig, []string{"--recreate"}},
		{"twice", file("gpu: off\ngpu: auto\n"), reason.UsageConfig, []string{"line 2", "already stands on line 1"}},
		{"list for text", file("cluster: [a]"), reason.UsageConfig, []string{"cluster is text", "not a list"}},
		{"bool for text", file("cluster: true"), reason.UsageConfig, []string{"cluster is text", "not true"}},
		{"text for bool", file("yes: maybe"), reason.UsageConfig, []string{"yes is true or false", "maybe"}},
		{"group", file("values: {a: b}"), reason.UsageConfig, []string{"values is a list of FILE", "group"}},
		{"value", file("gpu: maybe"), reason.UsageConfig, []string{own, "line 1", "gpu cannot be maybe", "auto, off or require"}},
		{"no yaml", file("a: b: c"), reason.UsageConfig, []string{own, "not valid YAML"}},
		{"no mapping", file("- a"), reason.UsageConfig, []string{own, "key: value"}},
		{"no file", flag("config", "none.yaml"), reason.UsageConfig, []string{filepath.Join(work, "none.yaml"), "does not exist"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := x.in.load()
			if err == nil {
				t.Fatal("no error")
			}
			r := reason.Of(err)
			if r.ID != x.id || r.Exit() != reason.ExitUsage {
				t.Errorf("%s, exit %d: %s", r.ID, r.Exit(), r.Text)
			}
			for _, w := range x.want {
				if !strings.Contains(r.Text, w) {
					t.Errorf("no %q in %q", w, r.Text)
				}
			}
		})
	}
}

// E2: an address with a password is refused, and the password is not repeated.
func TestE2_NoPasswordInErrors(t *testing.T) {
	for _, in := range []world{
		{flags: map[string][]string{"registry-mirror": {"docker.io=https://ada:planted@mirror.test"}}},
		{env: map[string]string{"RIGUP_REGISTRY_MIRROR": "docker.io=https://ada:planted@mirror.test"}},
		{files: map[string]string{own: "registry-mirror: {docker.io: 'https://ada:planted@mirror.test'}"}},
		{flags: map[string][]string{"engine": {"bad://ada:planted@host"}}},
	} {
		_, err := in.load()
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%v", err)
		}
	}
}

func TestUnreadableFileIsNotAbsent(t *testing.T) {
	_, err := Load(Input{Env: func(string) string { return "" }, UserHome: home, ConfigDir: confDir, WorkDir: work,
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrPermission }})
	if reason.Of(err).ID != reason.UsageConfig || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}

func TestEverySettingIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range Defs() {
		if d.Usage == "" || seen[d.Name] {
			t.Errorf("%+v", d)
		}
		seen[d.Name] = true
	}
	if n := reflect.TypeFor[Config]().NumField() - 2; n != len(Defs()) {
		t.Errorf("%d settings in Config, %d described", n, len(Defs()))
	}
}

func TestNearest(t *testing.T) {
	known := []string{"install", "plan", "status", "uninstall", "version"}
	for in, want := range map[string]string{"instal": "install", "stauts": "status", "plna": "plan", "xyzzy": "", "stat": "status", "": ""} {
		if got := Nearest(in, known); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever stands in the file, reading it ends in settings or in a reason, never in a crash.
func TestAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.SampledFrom([]string{"cluster", "set", "yes", "values", "registry-mirror", "api-port"}), rapid.String()).Draw(t, "key")
		text := key + ": " + rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"[a, [b]]", "{a: {b: c}}", "&x [*x]", "~", "!!binary aa", "? x", "|\n  a"})).Draw(t, "value")
		_, err := world{files: map[string]string{own: text}}.load()
		if err != nil && reason.Of(err).ID == reason.Internal {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
