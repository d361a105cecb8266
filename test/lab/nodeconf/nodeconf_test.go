package nodeconf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func quiet(string, string, ...any) {}

func TestParseFlags(t *testing.T) {
	for name, c := range map[string]struct {
		args  string
		flag  string
		want  string // values joined by |
		fails string
	}{
		"equals":            {args: "--node-name=x", flag: "node-name", want: "x"},
		"apart":             {args: "--node-name x", flag: "node-name", want: "x"},
		"short":             {args: "-t secret", flag: "token", want: "secret"},
		"one dash":          {args: "-node-name=x", flag: "node-name", want: "x"},
		"list":              {args: "--disable=a --disable b,c", flag: "disable", want: "a|b,c"},
		"switch":            {args: "--debug --node-name=x", flag: "debug", want: "true"},
		"switch off":        {args: "--tls-san-security=false", flag: "tls-san-security", want: "false"},
		"value with equals": {args: "--kubelet-arg=fail-cgroupv1=false", flag: "kubelet-arg", want: "fail-cgroupv1=false"},
		"unknown":           {args: "--bogus=1", fails: "flag provided but not defined: -bogus"},
		"no value":          {args: "--node-name", fails: "flag needs an argument: -node-name"},
		"no number":         {args: "--https-listen-port=a", fails: `invalid value "a" for flag -https-listen-port: parse error`},
		"no duration":       {args: "--etcd-s3-timeout=a", fails: "invalid value"},
		"no boolean":        {args: "--debug=maybe", fails: "invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ParseFlags(ServerFlags, nil, strings.Fields(c.args))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(o.All(c.flag), "|"); got != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFlagsGoBeforeEnvironment(t *testing.T) {
	t.Setenv("K3S_NODE_NAME", "from-env")
	o, err := ParseFlags(ServerFlags, nil, nil)
	if err != nil || o.Get("node-name", "") != "from-env" {
		t.Errorf("%q %v", o.Get("node-name", ""), err)
	}
	o, err = ParseFlags(ServerFlags, []string{"--node-name=from-file"}, []string{"--node-name=from-line"})
	if err != nil || o.Get("node-name", "") != "from-line" {
		t.Errorf("%q %v", o.Get("node-name", ""), err)
	}
}

func TestMergeReplacesByName(t *testing.T) {
	got := strings.Join(Merge(map[string]string{"a": "1", "b": "2"}, []string{"b=3", "--c=4", "d"}), " ")
	if got != "--a=1 --b=3 --c=4 --d=true" {
		t.Error(got)
	}
}

func TestConfigFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	os.MkdirAll(file+".d", 0o755)
	os.WriteFile(file, []byte("node-name: x\ndisable: [a, b]\ndebug: true\nunknown: 1\n"), 0o644)
	os.WriteFile(filepath.Join(file+".d", "1.yaml"), []byte("disable+: [c]\nnode-name: y\n"), 0o644)
	warned := ""
	args, err := ConfigArgs(ServerFlags, []string{"--config", file}, func(level, _ string, a ...any) { warned = level })
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(args, " "); got != "--debug=true --disable=a --disable=b --disable=c --node-name=y" || warned != "warning" {
		t.Errorf("got %q, %q", got, warned)
	}
	if _, err := ConfigArgs(ServerFlags, []string{"--config=" + file + ".missing"}, quiet); err == nil {
		t.Error("a missing file that was named is no error")
	}
}

func TestRegistries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "registries.yaml")
	os.WriteFile(file, []byte(`
mirrors:
  docker.io:
    endpoint: ["http://10.0.0.1:5001", "https://m.example/v2/proxy", "bare.example", "ftp://no"]
  "*":
    endpoint: ["https://all.example"]
configs:
  10.0.0.1:5001:
    auth: {username: u, password: p}
  bare.example:
    tls: {ca_file: /ca, insecure_skip_verify: true}
  own.example:
    tls: {cert_file: /c, key_file: /k}
`), 0o644)
	r, err := ReadRegistries(file, quiet)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.HostFiles(false)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"docker.io": `server = "https://registry-1.docker.io/v2"

[host."http://10.0.0.1:5001/v2"]
  capabilities = ["pull", "resolve"]

[host."https://m.example/v2/proxy"]
  capabilities = ["pull", "resolve"]
  override_path = true

[host."https://bare.example/v2"]
  capabilities = ["pull", "resolve"]
  skip_verify = true
  ca = ["/ca"]
`,
		"_default": `
[host."https://all.example/v2"]
  capabilities = ["pull", "resolve"]
`,
		"own.example": `server = "https://own.example/v2"

[host."https://own.example/v2"]
  capabilities = ["pull", "resolve"]
  client = [["/c", "/k"]]
`,
	} {
		if files[host] != want {
			t.Errorf("%s:\n%s", host, files[host])
		}
	}
	if files, _ := r.HostFiles(true); strings.Contains(files["docker.io"], "registry-1") {
		t.Error("the default endpoint is there though it is disabled")
	}
	if a := r.Auth(); len(a) != 1 || a[0].Host != "10.0.0.1:5001" || a[0].Password != "p" {
		t.Errorf("credentials %+v", a)
	}
	if empty, err := ReadRegistries(file+".missing", quiet); err != nil || len(empty.Mirrors) != 0 {
		t.Errorf("missing file: %v", err)
	}
}

func TestNodePasswordIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node", "password")
	first, err := NodePassword(file)
	if err != nil || len(first) != 32 {
		t.Fatalf("%q %v", first, err)
	}
	if again, err := NodePassword(file); err != nil || again != first {
		t.Errorf("%q, then %q (%v)", first, again, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
}

func TestPasswordHash(t *testing.T) {
	h, err := PasswordHash("right", []byte("12345678"))
	if err != nil || !strings.HasPrefix(h, "$1:3132333435363738:15:8:1:") {
		t.Fatalf("%q %v", h, err)
	}
	if err := VerifyHash([]byte(h), "right"); err != nil {
		t.Error(err)
	}
	if err := VerifyHash([]byte(h), "wrong"); !errors.Is(err, ErrHash) {
		t.Errorf("error %v", err)
	}
	if err := VerifyHash([]byte("nonsense"), "right"); err == nil || errors.Is(err, ErrHash) {
		t.Errorf("error %v", err)
	}
}

func TestResolvConf(t *testing.T) {
	dir := t.TempDir()
	os.MkdirAll(filepath.Join(dir, "agent/etc"), 0o755)
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		os.WriteFile(p, []byte(text), 0o644)
		return p
	}
	good := file("good", "search x\nnameserver 10.0.0.1\n")
	engine := file("engine", "nameserver 127.0.0.11\n")
	empty := file("empty", "search x\n")
	own := filepath.Join(dir, "agent/etc/resolv.conf")
	for name, c := range map[string]struct {
		given string
		from  []string
		want  string
	}{
		"given":          {"/x", []string{good}, "/x"},
		"first good one": {"", []string{engine, empty, good}, good},
		"none":           {"", []string{engine, "/missing"}, own},
	} {
		if got := ResolvConf(c.given, dir, quiet, c.from...); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
