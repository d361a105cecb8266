package engine

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/reason"
)

func TestPullErrorsCorpus(t *testing.T) {
	f, err := os.Open("testdata/pull-errors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		id, text, ok := strings.Cut(lines.Text(), "\t")
		if strings.HasPrefix(id, "#") {
			continue
		}
		if !ok {
			t.Fatalf("no tab in %q", lines.Text())
		}
		seen++
		r := pullReason(text, PullOptions{Ref: "registry.test/a:9", OS: "linux", Arch: "arm64"}, "registry.test")
		if string(r.ID) != id || len(r.Evidence) != 1 {
			t.Errorf("%s: %s", r.ID, text)
		}
	}
	if seen < 30 {
		t.Errorf("only %d texts", seen)
	}
}

func TestG4_PullRemedies(t *testing.T) {
	r := pullReason("manifest unknown", PullOptions{Ref: "a/b:1"}, dockerHub)
	if strings.Contains(strings.Join(r.Remedy, " "), "mirror") {
		t.Errorf("a mirror is spoken of where there is none: %v", r.Remedy)
	}
	r = pullReason("manifest unknown", PullOptions{Ref: "a/b:1", Mirrors: []string{"https://m.test"}}, dockerHub)
	if !strings.Contains(strings.Join(r.Remedy, " "), "https://m.test") {
		t.Errorf("%v", r.Remedy)
	}
}

func stream(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, strings.Join(lines, "\n")) }
}

func TestPullProgressAndErrors(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	s.on("POST /images/create", stream(
		`{"status":"Pulling from a","id":"1"}`,
		`{"status":"Already exists","id":"have"}`,
		`{"status":"Pulling fs layer","id":"x"}`,
		`{"status":"Downloading","progressDetail":{"current":10,"total":100},"id":"x"}`,
		`{"status":"Downloading","progressDetail":{"current":5,"total":50},"id":"y"}`,
		`{"status":"Downloading","progressDetail":{"current":8,"total":100},"id":"x"}`,
		`{"status":"Download complete","id":"x"}`,
		`{"status":"Extracting","progressDetail":{"current":1,"total":999},"id":"x"}`,
		`{"status":"Extracting","progressDetail":{"current":3,"units":"s"},"id":"y"}`,
		`{"status":"Pull complete","id":"y"}`))
	var got []Progress
	if err := e.Pull(t.Context(), PullOptions{Ref: "registry.test/a:1", Progress: func(p Progress) { got = append(got, p) }}); err != nil {
		t.Fatal(err)
	}
	want := []Progress{{10, 100}, {15, 150}, {105, 150}, {150, 150}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}

	s.on("POST /images/create", stream(`{"status":"Pulling"}`, `{"errorDetail":{"message":"toomanyrequests: slow down"},"error":"toomanyrequests: slow down"}`))
	wantReason(t, e.Pull(t.Context(), PullOptions{Ref: "a:1"}), reason.ImageRateLimit, "docker login docker.io", "toomanyrequests")
	s.on("POST /images/create", refuse(404, "manifest for a:1 not found: manifest unknown"))
	err := e.Pull(t.Context(), PullOptions{Ref: "a:1"})
	wantReason(t, err, reason.ImageNotFound)
	if KindOf(err) != NotFound {
		t.Error(KindOf(err))
	}
	// A stream that is cut off is not one that is done.
	s.on("POST /images/create", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"Pull`))
		w.(http.Flusher).Flush()
		conn, _, _ := http.NewResponseController(w).Hijack()
		conn.Close()
	})
	wantReason(t, e.Pull(t.Context(), PullOptions{Ref: "a:1"}), reason.ImageNetwork)
}

func TestE1_StalledPull(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	s := &server{}
	e := open(t, s, Timeouts{Stall: 40 * time.Millisecond})
	s.on("POST /images/create", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"status":"Waiting","id":"x"}` + "\n"))
		w.(http.Flusher).Flush()
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	wantReason(t, e.Pull(t.Context(), PullOptions{Ref: "a:1"}), reason.ImageTimeout, "40ms")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(5*time.Millisecond, cancel)
	wantReason(t, e.Pull(ctx, PullOptions{Ref: "a:1"}), reason.Interrupted)
}

func TestE2_CredentialsTravelInTheHeader(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	var header, url string
	s.on("POST /images/create", func(_ http.ResponseWriter, r *http.Request) {
		header, url = r.Header.Get("X-Registry-Auth"), r.URL.String()
	})
	c := Credentials{Username: "u", Password: "planted-secret"}
	if err := e.Pull(t.Context(), PullOptions{Ref: "owner/name:1", Credentials: c}); err != nil {
		t.Fatal(err)
	}
	b, err := base64.URLEncoding.DecodeString(header)
	if err != nil || !strings.Contains(string(b), "planted-secret") || !strings.Contains(string(b), "index.docker.io") || strings.Contains(url, "planted") {
		t.Errorf("%s %s %v", b, url, err)
	}
	for _, f := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(f, PullOptions{Credentials: c}); strings.Contains(s, "planted") {
			t.Errorf("%s: %s", f, s)
		}
	}
}

func TestN3_RegistryHost(t *testing.T) {
	for ref, want := range map[string]string{
		"owner/name:1": "docker.io", "name:1": "docker.io", "docker.io/a/b:1": "docker.io", "index.docker.io/a/b:1": "docker.io",
		"registry.test/a:1": "registry.test", "localhost:5000/a:1": "localhost:5000", "ghcr.io/a/b@sha256:" + strings.Repeat("0", 64): "ghcr.io",
	} {
		if got, err := RegistryHost(ref); err != nil || got != want {
			t.Errorf("%s: %s %v", ref, got, err)
		}
	}
}

func TestKeychain(t *testing.T) {
	auth := base64.StdEncoding.EncodeToString([]byte("user:pa:ss"))
	files := map[string]string{"/c/config.json": `{"auths":{"https://index.docker.io/v1/":{"auth":"` + auth + `"},"https://registry.test/v2":{"identitytoken":"tok"},"bad.test":{"auth":"!"}},
"credHelpers":{"helped.test":"x","slow.test":"slow"}}`}
	k := Keychain{Dir: "/c", Override: map[string]Credentials{"mine.test": {Username: "me", Password: "p"}},
		ReadFile: func(p string) ([]byte, error) {
			if f, ok := files[p]; ok {
				return []byte(f), nil
			}
			return nil, fs.ErrNotExist
		},
		Helper: func(_ context.Context, helper, key string) ([]byte, error) {
			switch {
			case helper == "slow":
				return nil, context.DeadlineExceeded
			case key == "helped.test":
				return []byte(`{"ServerURL":"helped.test","Username":"<token>","Secret":"t"}`), nil
			}
			return []byte("credentials not found in native keychain\n"), errors.New("exit status 1")
		}}
	for host, want := range map[string]Credentials{
		"docker.io": {Username: "user", Password: "pa:ss"}, "index.docker.io": {Username: "user", Password: "pa:ss"}, "registry.test": {IdentityToken: "tok"},
		"helped.test": {IdentityToken: "t"}, "mine.test": {Username: "me", Password: "p"}, "none.test": {},
	} {
		if got, err := k.For(t.Context(), host); err != nil || got != want {
			t.Errorf("%s: wrong credentials, %v", host, err)
		}
	}
	for _, host := range []string{"bad.test", "slow.test"} {
		if _, err := k.For(t.Context(), host); err == nil {
			t.Errorf("%s: no error", host)
		}
	}
	files["/c/config.json"] = `{"credsStore":"s"}`
	if got, err := k.For(t.Context(), "none.test"); err != nil || !got.Empty() {
		t.Errorf("%v", err)
	}
	files["/c/config.json"] = `{"auths": "planted-secret"`
	if _, err := k.For(t.Context(), "x.test"); err == nil || strings.Contains(err.Error(), "planted") {
		t.Error(err)
	}
	k.Dir = ""
	if got, err := k.For(t.Context(), "docker.io"); err != nil || !got.Empty() {
		t.Error(err)
	}
}
