package cluster

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/reason"
)

func TestMirrors(t *testing.T) {
	m := AddMirror(AddMirror(AddMirror(nil, "docker.io", "https://a.test/"), "docker.io", "https://b.test"), "ghcr.io", "http://c.test")
	if len(m) != 2 || !slices.Equal(m[0].URLs, []string{"https://a.test", "https://b.test"}) {
		t.Errorf("%+v", m)
	}
	if got := CredentialHosts(m, "owner/name:1", "registry.test/a:1", "docker.io/x:1", ""); strings.Join(got, " ") != "docker.io registry.test a.test b.test ghcr.io c.test" {
		t.Errorf("%v", got)
	}
	all := WithEngineMirrors(m, []string{"http://127.0.0.1:5000/", "http://localhost:5000", "https://b.test/", "http://10.1.2.3:5000/", "http://[::1]:5000"})
	if !slices.Equal(all[0].URLs, []string{"https://a.test", "https://b.test", "http://10.1.2.3:5000"}) || len(m[0].URLs) != 2 {
		t.Errorf("%+v", all)
	}
}

func TestRegistriesFile(t *testing.T) {
	f := Files{Mirrors: []Mirror{{"docker.io", []string{"https://m.test"}}}, Credentials: map[string]engine.Credentials{
		"docker.io": {Username: "u", Password: "p: #'\""}, "ghcr.test": {IdentityToken: "tok"}}}
	b, err := f.registries(false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `configs:
  docker.io:
    auth:
      password: 'p: #''"'
      username: u
  ghcr.test:
    auth:
      identity_token: tok
  index.docker.io:
    auth:
      password: 'p: #''"'
      username: u
  registry-1.docker.io:
    auth:
      password: 'p: #''"'
      username: u
mirrors:
  docker.io:
    endpoint:
    - https://m.test
`
	if string(b) != want {
		t.Errorf("%s", b)
	}
}

// What the engine reaches without trust or encryption, the node must reach too.
func TestInsecureRegistriesOfTheEngineAreTheNodesToo(t *testing.T) {
	f := Files{
		Mirrors:     []Mirror{{"b.test", []string{"https://m.test"}}},
		Insecure:    []string{"127.0.0.0/8", "a.test:5000", "b.test"},
		Credentials: map[string]engine.Credentials{"a.test:5000": {Username: "u", Password: "p"}},
	}
	b, err := f.registries(false)
	if err != nil {
		t.Fatal(err)
	}
	const want = `configs:
  a.test:5000:
    auth:
      password: p
      username: u
    tls:
      insecure_skip_verify: true
  b.test:
    tls:
      insecure_skip_verify: true
mirrors:
  a.test:5000:
    endpoint:
    - http://a.test:5000
  b.test:
    endpoint:
    - https://m.test
`
	if string(b) != want {
		t.Errorf("%s", b)
	}
}

func TestProxyOf(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(n string) string { return m[n] } }
	for _, c := range []struct {
		name   string
		engine string
		env    map[string]string
		want   string
	}{
		{"none", "", nil, ""},
		{"the engine's", "http://p.test:3128", map[string]string{"HTTP_PROXY": "http://q.test"}, "http://p.test:3128"},
		{"the environment's", "", map[string]string{"http_proxy": "q.test:80"}, "http://q.test:80"},
		{"loopback", "http://127.0.0.1:3128", nil, ""},
		{"hidden password, known here", "http://xxxxx:xxxxx@p.test:3128", map[string]string{"HTTP_PROXY": "http://u:s@p.test:3128"}, "http://u:s@p.test:3128"},
		{"hidden password, unknown", "http://xxxxx:xxxxx@p.test:3128", map[string]string{"HTTP_PROXY": "http://u:s@q.test:3128"}, "http://p.test:3128"},
	} {
		if got := ProxyOf(engine.Info{HTTPProxy: c.engine}, env(c.env)).HTTP; got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestProxyFile(t *testing.T) {
	p := Proxy{HTTP: "http://u:it's@p.test:3128", No: "corp.test, localhost"}
	got := string(p.env("node-0", netip.MustParsePrefix("172.30.250.0/24"), false))
	for _, want := range []string{`'http://u:it'\''s@p.test:3128'`, "export NO_PROXY='localhost,127.0.0.0/8,0.0.0.0,10.42.0.0/16,10.43.0.0/16,172.30.250.0/24,.svc,.cluster.local,node-0,corp.test' no_proxy="} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if strings.Contains(got, "HTTPS_PROXY") {
		t.Error(got)
	}
	if b := (Proxy{No: "x"}).env("n", netip.Prefix{}, false); b != nil {
		t.Errorf("%s", b)
	}
}

func TestCAMustBeCertificates(t *testing.T) {
	_, _, err := Files{CA: []byte("hello")}.render("n", netip.Prefix{})
	wantReason(t, err, reason.UsageValue, "--ca-file")
}

// The boot script with real shells: the drop-ins run, a failing one stops nothing, the proxy is exported.
func TestN5_BootSurvivesDropIns(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("skipped: this machine has no sh")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("proxy.env", "export HTTP_PROXY='http://p.test'\n")
	write("k3d-entrypoint-a.sh", "echo a; exit 7\n")
	write("k3d-entrypoint-b.sh", "echo b $HTTP_PROXY\n")
	write("k3s", "#!"+sh+"\necho k3s \"$@\" $HTTP_PROXY\n")
	script := strings.NewReplacer(proxyPath, filepath.Join(dir, "proxy.env"), "/bin/k3d-", dir+"/k3d-", "exec /bin/k3s", "exec "+dir+"/k3s", "/bin/sh", sh).Replace(boot)
	var errs strings.Builder
	cmd := exec.Command(sh, "-c", script, "k3s", "server", "--node-name=x")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || string(out) != "a\nb http://p.test\nk3s server --node-name=x http://p.test\n" || !strings.Contains(errs.String(), "ended with 7") {
		t.Errorf("%q %q %v", out, errs.String(), err)
	}
}

func TestRoutes(t *testing.T) {
	got, err := routes(fstest.MapFS{"proc/net/route": {Data: []byte(`Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0101A8C0	0003	0	0	0	00000000	0	0	0
eth0	0001A8C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
tun0	0000000A	00000000	0001	0	0	0	000000FF	0	0	0
`)}})
	if err != nil || len(got) != 3 || got[0].Bits() != 0 || got[1].String() != "192.168.1.0/24" || got[2].String() != "10.0.0.0/8" {
		t.Errorf("%v %v", got, err)
	}
	if got, err := routes(fstest.MapFS{}); err != nil || got != nil {
		t.Errorf("%v %v", got, err)
	}
}

// containerd is the part of a node's containerd that loading uses.
type containerd struct {
	down   int // how many commands find it not up yet
	images map[string]string
	reads  int
	fails  string
}

func (d *containerd) run(_ *enginefake.Container, o engine.ExecOptions) (int, error) {
	if d.down > 0 {
		d.down--
		_, _ = io.WriteString(o.Stderr, "ctr: cannot access socket /run/k3s/containerd/containerd.sock: no such file or directory\n")
		return 1, nil
	}
	cmd := strings.Join(o.Cmd, " ")
	switch {
	case !strings.HasPrefix(cmd, "ctr -a /run/k3s/containerd/containerd.sock -n k8s.io images "):
		return 127, nil
	case strings.Contains(cmd, " ls -q name=="):
		name, label, _ := strings.Cut(o.Cmd[len(o.Cmd)-1][len("name=="):], ",")
		if id, ok := d.images[name]; ok && (label == "" || label == `labels."dev.rigup.image"==`+id) {
			_, _ = io.WriteString(o.Stdout, name+"\n")
		}
	case strings.Contains(cmd, " import "):
		d.reads++
		if _, err := io.ReadAll(o.Stdin); err != nil {
			return 1, nil
		}
		if d.fails != "" {
			_, _ = io.WriteString(o.Stderr, d.fails)
			return 1, nil
		}
	case strings.Contains(cmd, " label "):
		d.images[o.Cmd[7]] = strings.TrimPrefix(o.Cmd[8], "dev.rigup.image=")
	}
	return 0, nil
}

func TestLoadFromEngine(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	d := &containerd{images: map[string]string{}, down: 3}
	r.e.Run = d.run
	r.e.Images["app:1"] = engine.Image{ID: "sha256:one", OS: "linux", Arch: "amd64"}
	for i, want := range []bool{true, false, false} {
		if did, err := r.LoadFromEngine(t.Context(), st, "app:1"); err != nil || did != want {
			t.Fatalf("%d: %v %v", i, did, err)
		}
	}
	if d.images["docker.io/library/app:1"] != "sha256:one" || d.reads != 1 {
		t.Errorf("%+v", d)
	}
	// The same name with other content is another image.
	r.e.Images["app:1"] = engine.Image{ID: "sha256:two", OS: "linux", Arch: "amd64"}
	if did, err := r.LoadFromEngine(t.Context(), st, "app:1"); err != nil || !did {
		t.Errorf("%v %v", did, err)
	}
	_, err := r.LoadFromEngine(t.Context(), st, "none:1")
	wantReason(t, err, reason.ImageNotPresent, "none:1")
	_, err = r.LoadFromEngine(t.Context(), st, "app@sha256:"+strings.Repeat("0", 64))
	wantReason(t, err, reason.UsageValue, "by its tag")

	d.fails = "ctr: no space left on device"
	r.e.Images["app:1"] = engine.Image{ID: "sha256:three"}
	_, err = r.LoadFromEngine(t.Context(), st, "app:1")
	wantReason(t, err, reason.ImageLoad, "no space left")
}

func TestLoadReportsABrokenSource(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	r.e.Run = (&containerd{images: map[string]string{}}).run
	broken := errors.New("the engine hung up")
	err := r.LoadImage(t.Context(), st, "app:1", "x", func() (io.ReadCloser, error) {
		pr, pw := io.Pipe()
		go pw.CloseWithError(broken)
		return pr, nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestE1_LoadGivesUpOnANodeThatIsNotUp(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	r.e.Run = (&containerd{down: 1 << 30}).run
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := r.HasImage(ctx, st, "app:1", "")
	wantReason(t, err, reason.ClusterNotReady)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	r.node(t).State = "exited"
	_, err = r.HasImage(t.Context(), st, "app:1", "")
	wantReason(t, err, reason.ClusterCrashed)
}

func TestC2_RemoveDataFollowsNoLink(t *testing.T) {
	base := t.TempDir()
	outside := filepath.Join(base, "outside")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(outside, 0o755))
	must(os.WriteFile(filepath.Join(outside, "precious"), nil, 0o644))
	r := newRig(t)
	dir := filepath.Join(base, "data")
	if own, err := ClaimData(dir, "t"); err != nil || !own {
		t.Fatal(own, err)
	}
	if own, err := ClaimData(dir, "t"); err != nil || !own {
		t.Fatal("again", own, err)
	}
	must(os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755))
	if err := os.Symlink(outside, filepath.Join(dir, "a", "link")); err != nil {
		t.Skip("skipped: links cannot be made here: " + err.Error())
	}
	must(os.Symlink(filepath.Join(outside, "precious"), filepath.Join(dir, "file")))

	link := filepath.Join(base, "to-data")
	must(os.Symlink(dir, link))
	wantReason(t, r.RemoveData(t.Context(), link, "t", ""), reason.DataPlace, "it is a link")
	wantReason(t, r.RemoveData(t.Context(), dir, "other", ""), reason.DataPlace, "belongs to cluster t")
	wantReason(t, r.RemoveData(t.Context(), outside, "t", ""), reason.DataPlace, "not made by rigup")
	wantReason(t, r.RemoveData(t.Context(), "data", "t", ""), reason.DataPlace, "absolute")
	if own, err := ClaimData(outside, "t"); err != nil || own {
		t.Errorf("somebody's directory was claimed: %v", err)
	}

	must(r.RemoveData(t.Context(), dir, "t", ""))
	if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory is still there")
	}
	if _, err := os.Stat(filepath.Join(outside, "precious")); err != nil {
		t.Error("what a link points to was deleted")
	}
	must(r.RemoveData(t.Context(), dir, "t", "")) // gone already
}
