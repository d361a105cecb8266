package hookstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// published is a hook with signature and key, as a publisher has it.
func (k *kit) published(version string) Artifact {
	m := manifest("mtgpu " + version)
	b := module(m)
	return Artifact{Module: b, Signature: signed(k.key, b, SignedComment(m)), Key: []byte(k.key.Text)}
}

// add reviews what was fetched and approves it.
func (k *kit) add(a Artifact) Done {
	k.t.Helper()
	r, err := k.ReviewFetched(a, Options{})
	must(k.t, err)
	done, err := k.Approve(k.t.Context(), r, r.Accepts())
	must(k.t, err)
	return done
}

func TestAddUpdates(t *testing.T) {
	k := newKit(t)
	a := k.published("1.0.0")
	a.Source = "https://example.com/mtgpu.wasm"
	if e := k.add(a).Entry; e.File != "mtgpu-1.0.0.wasm" || e.Source != a.Source {
		t.Errorf("%+v", e)
	}
	next := k.published("1.1.0")
	done := k.add(next)
	if strings.Join(done.Removed, " ") != "mtgpu-1.0.0.wasm" {
		t.Errorf("%+v", done)
	}
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
	// A rebuild of a version lies beside it until it is approved.
	m := manifest("mtgpu 1.1.0")
	m.Title = "rebuilt"
	re := Artifact{Module: module(m), Signature: signed(k.key, module(m), SignedComment(m))}
	done = k.add(re)
	if !strings.HasPrefix(done.Entry.File, "mtgpu-") || done.Entry.File == "mtgpu-1.1.0.wasm" || len(done.Removed) != 1 {
		t.Errorf("%+v", done)
	}
	k.one()
	if done := k.add(re); done.Entry.File == "" || len(done.Removed) != 0 {
		t.Errorf("the same again: %+v", done)
	}
}

// What was approved and is missing, or was damaged, is put back by the same add, without a question.
func TestAddPutsBack(t *testing.T) {
	k := newKit(t)
	a := k.published("1.0.0")
	file := k.add(a).Entry.File
	k.rewrite(func(l *lock) { l.Hooks[0].Grant = sdk.Permissions{} })
	for name, harm := range map[string]func() error{
		"removed": func() error { return os.Remove(k.path(file)) },
		"damaged": func() error { return os.WriteFile(k.path(file), []byte("x"), 0o600) },
	} {
		must(t, harm())
		k.wantUsable(builtIns)
		r, err := k.ReviewFetched(a, Options{})
		must(t, err)
		done, err := k.Approve(t.Context(), r, Accepted{})
		if err != nil || r.Same || len(r.Questions) > 0 || !grant.Empty(done.Entry.Grant) {
			t.Errorf("%s: %v %+v", name, err, r)
		}
		k.wantUsable(builtIns + ", mtgpu 1.0.0")
		file = done.Entry.File
	}
	if r, err := k.ReviewFetched(a, Options{}); err != nil || !r.Same {
		t.Errorf("%v %+v", err, r)
	}
}

// What a person put into the folder is theirs, also when a newer version was added.
func TestAddLeavesDroppedFiles(t *testing.T) {
	k := newKit(t)
	k.drop("mine.wasm", manifest("mtgpu 1.0.0"), k.key)
	k.approve("mtgpu", Options{})
	if done := k.add(k.published("1.1.0")); len(done.Removed) != 0 {
		t.Errorf("%+v", done)
	}
	k.state("mine.wasm", Pending, reason.HookDowngrade)
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
}

// Whatever moment an add is cut off at, there is a usable hook, and the same add again completes.
func TestAddThatWasCutOff(t *testing.T) {
	k := newKit(t)
	k.add(k.published("1.0.0"))
	next, err := k.ReviewFetched(k.published("1.1.0"), Options{})
	must(t, err)

	k.put(tempPrefix+"123", []byte("half a module"))
	k.put("mtgpu-1.1.0.wasm"+signatureSuffix, []byte("half")) // what stands beside is written first
	k.wantUsable(builtIns + ", mtgpu 1.0.0")

	_, err = k.place(next.candidate) // cut off before the lock was written
	must(t, err)
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
	k.state("mtgpu-1.1.0.wasm", Update, reason.HookPending)

	k.add(k.published("1.1.0"))
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
	if _, err := os.Stat(k.path(tempPrefix + "123")); !absent(err) {
		t.Error("what was cut off is left")
	}
	k.one()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := k.ReviewFetched(k.published("1.2.0"), Options{})
	must(t, err)
	if _, err := k.Approve(ctx, r, r.Accepts()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	k.wantUsable(builtIns + ", mtgpu 1.1.0")
}

func TestKeepForLater(t *testing.T) {
	k := newKit(t)
	a := k.published("1.0.0")
	a.Source = "oci://registry.test/hooks/mtgpu:1.0.0@sha256:0"
	r, err := k.ReviewFetched(a, Options{})
	must(t, err)
	r, err = k.Keep(t.Context(), r)
	must(t, err)
	why := wantReason(t, r.Unanswered(), reason.HookApproval)
	if why.Remedy[1] != "rigup hooks approve mtgpu-1.0.0.wasm --accept "+r.Digest()+" --key "+k.key.Text {
		t.Errorf("%q", why.Remedy)
	}
	if h := k.state("mtgpu-1.0.0.wasm", Pending, reason.HookPending); h.Source != a.Source {
		t.Errorf("it came from %q", h.Source)
	}
	if e := k.approve("mtgpu", Options{}); e.Source != a.Source {
		t.Errorf("%+v", e)
	}
	if l, err := k.readLock(); err != nil || len(l.Fetched) != 0 {
		t.Errorf("%+v %v", l, err)
	}
	k.wantUsable(builtIns + ", mtgpu 1.0.0")
	// It was rigup that put the file there, so the next version takes its place.
	if done := k.add(k.published("1.1.0")); len(done.Removed) != 1 {
		t.Errorf("%+v", done)
	}
	for i := range maxFetched + 3 {
		a := k.published(fmt.Sprintf("2.0.%d", i))
		a.Source = "file x.wasm"
		r, err := k.ReviewFetched(a, Options{})
		must(t, err)
		_, err = k.Keep(t.Context(), r)
		must(t, err)
	}
	if l, err := k.readLock(); err != nil || len(l.Fetched) != maxFetched {
		t.Errorf("%d remembered, %v", len(l.Fetched), err)
	}
}

func TestFetchFile(t *testing.T) {
	k := newKit(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "vendor.wasm")
	a := k.published("1.0.0")
	must(t, firstError(os.WriteFile(file, a.Module, 0o600), os.WriteFile(file+signatureSuffix, a.Signature, 0o600), os.WriteFile(file+keySuffix, a.Key, 0o600)))
	got, err := Fetcher{}.Fetch(t.Context(), file)
	must(t, err)
	if got.Source != "file vendor.wasm" || got.Again != file || !bytes.Equal(got.Signature, a.Signature) || !bytes.Equal(got.Key, a.Key) {
		t.Errorf("%+v", got)
	}
	big := filepath.Join(dir, "big.wasm")
	must(t, firstError(os.WriteFile(big, nil, 0o600), os.Truncate(big, maxModule+1)))
	for source, says := range map[string]string{
		filepath.Join(dir, "none.wasm"): "no such file", dir: "a folder", big: "larger than 16 MiB",
	} {
		_, err := Fetcher{}.Fetch(t.Context(), source)
		if why := reason.Of(err); why.ID != reason.HookFetch || !strings.Contains(why.Text, says) {
			t.Errorf("%s: %+v", source, why)
		}
	}
	for _, source := range []string{"http://example.com/a.wasm", "ftp://x/y", "https://u:planted@example.com/a.wasm", "https:///x", "oci://", "oci://x", "oci://UPPER/x y:1"} {
		_, err := Fetcher{}.Fetch(t.Context(), source)
		if why := reason.Of(err); why.ID != reason.UsageValue || strings.Contains(why.Text, "planted") {
			t.Errorf("%s: %+v", source, why)
		}
	}
}

func TestFetchHTTPS(t *testing.T) {
	k := newKit(t)
	a := k.published("1.0.0")
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(a.Module) }))
	defer plain.Close()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mtgpu.wasm":
			w.Write(a.Module)
		case "/mtgpu.wasm.minisig":
			w.Write(a.Signature)
		case "/mtgpu.wasm.pub":
			w.Write(a.Key)
		case "/moved.wasm", "/moved.wasm.minisig", "/moved.wasm.pub":
			http.Redirect(w, r, strings.Replace(r.URL.Path, "moved", "mtgpu", 1), http.StatusFound)
		case "/plain.wasm":
			http.Redirect(w, r, plain.URL, http.StatusFound)
		case "/round.wasm":
			http.Redirect(w, r, "/round.wasm", http.StatusFound)
		case "/unsigned.wasm":
			w.Write(a.Module)
		case "/half.wasm", "/half.wasm.pub":
			w.Write(a.Module)
		case "/half.wasm.minisig":
			w.WriteHeader(http.StatusBadGateway)
		case "/forbidden.wasm":
			w.WriteHeader(http.StatusForbidden)
		case "/huge.wasm":
			w.Header().Set("Content-Length", "99999999")
		case "/endless.wasm":
			for range 20 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the client that does not trust it
	srv.StartTLS()
	defer srv.Close()
	f := Fetcher{Transport: srv.Client().Transport}
	for _, path := range []string{"/mtgpu.wasm", "/moved.wasm", "/mtgpu.wasm?token=planted"} {
		got, err := f.Fetch(t.Context(), srv.URL+path)
		must(t, err)
		if !bytes.Equal(got.Module, a.Module) || !bytes.Equal(got.Signature, a.Signature) || !bytes.Equal(got.Key, a.Key) {
			t.Errorf("%s: %d %q %q", path, len(got.Module), got.Signature, got.Key)
		}
		if strings.Contains(got.Source+got.Again, "planted") {
			t.Errorf("E2: %q %q", got.Source, got.Again)
		}
	}
	if got, err := f.Fetch(t.Context(), srv.URL+"/unsigned.wasm"); err != nil || got.Signature != nil || got.Key != nil {
		t.Errorf("%v %q", err, got.Signature)
	}
	for path, says := range map[string]string{
		"/none.wasm?token=planted": "does not have it", "/plain.wasm": "did not give it", "/round.wasm": "did not give it",
		"/huge.wasm": "larger than 16 MiB", "/endless.wasm": "larger than 16 MiB", "/half.wasm": "did not give it",
		"/forbidden.wasm": "refuses",
	} {
		_, err := f.Fetch(t.Context(), srv.URL+path)
		why := wantReason(t, err, reason.HookFetch)
		if !strings.Contains(why.Text, says) || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := Fetcher{}.Fetch(t.Context(), srv.URL+"/mtgpu.wasm")
	if why := wantReason(t, err, reason.HookFetch); !strings.Contains(why.Text, "certificate") || !strings.Contains(why.Remedy[0], "--ca-file") {
		t.Errorf("%+v", why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Fetch(ctx, srv.URL+"/mtgpu.wasm"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// privateRegistry wants the account u with a planted secret.
func privateRegistry(t *testing.T) (host string, account Fetcher) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "planted-secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	host = strings.TrimPrefix(srv.URL, "http://")
	return host, Fetcher{Credentials: func(_ context.Context, h string) (engine.Credentials, error) {
		if h != host {
			return engine.Credentials{}, errors.New("asked for " + h)
		}
		return engine.Credentials{Username: "u", Password: "planted-secret"}, nil
	}}
}

func TestRegistry(t *testing.T) {
	k := newKit(t)
	host, f := privateRegistry(t)
	a := k.published("1.0.0")
	ref := "oci://" + host + "/hooks/mtgpu:1.0.0"
	pushed, err := f.Push(t.Context(), ref, a)
	must(t, err)
	again, err := f.Push(t.Context(), ref, a)
	if err != nil || again != pushed || !strings.HasPrefix(pushed, ref+"@sha256:") {
		t.Errorf("%s then %s: %v", pushed, again, err)
	}
	got, err := f.Fetch(t.Context(), ref)
	must(t, err)
	if got.Source != pushed || !bytes.Equal(got.Module, a.Module) || !bytes.Equal(got.Signature, a.Signature) || strings.TrimSpace(string(got.Key)) != k.key.Text {
		t.Errorf("%q %q %q", got.Source, got.Signature, got.Key)
	}
	k.add(got)
	if e := k.one().Entry; e.Source != pushed || e.KeyFrom != KeyBeside {
		t.Errorf("%+v", e)
	}
	// A digest is taken at its word.
	_, digest, _ := strings.Cut(pushed, "@")
	got, err = f.Fetch(t.Context(), "oci://"+host+"/hooks/mtgpu@"+digest)
	must(t, err)
	if got.Source != "oci://"+host+"/hooks/mtgpu@"+digest {
		t.Error(got.Source)
	}
	if _, err := f.Fetch(t.Context(), ref+"@"+digest); err != nil {
		t.Error(err)
	}
	_, err = f.Fetch(t.Context(), ref+"@sha256:"+strings.Repeat("0", 64))
	wantReason(t, err, reason.HookFetch)

	unsigned := a
	unsigned.Signature, unsigned.Key = nil, nil
	_, err = f.Push(t.Context(), "oci://"+host+"/hooks/unsigned", unsigned) // latest
	must(t, err)
	if got, err := f.Fetch(t.Context(), "oci://"+host+"/hooks/unsigned"); err != nil || got.Signature != nil || got.Key != nil {
		t.Errorf("%v %+v", err, got)
	}
	_, err = f.Push(t.Context(), "oci://"+host+"/hooks/x:1", Artifact{Module: []byte("x")})
	wantReason(t, err, reason.HookInvalid)
	_, err = f.Push(t.Context(), "oci://"+host+"/hooks/x@"+digest, a)
	wantReason(t, err, reason.UsageValue)
}

func TestRegistryThatRefuses(t *testing.T) {
	k := newKit(t)
	host, f := privateRegistry(t)
	_, err := f.Push(t.Context(), "oci://"+host+"/hooks/mtgpu:1.0.0", k.published("1.0.0"))
	must(t, err)
	wrong := Fetcher{Credentials: func(context.Context, string) (engine.Credentials, error) {
		return engine.Credentials{Username: "u", Password: "other-secret"}, nil
	}}
	broken := Fetcher{Credentials: func(context.Context, string) (engine.Credentials, error) {
		return engine.Credentials{}, errors.New("the keychain is locked")
	}}
	for who, f := range map[string]Fetcher{"nobody": {}, "a wrong password": wrong, "a broken keychain": broken} {
		_, err := f.Fetch(t.Context(), "oci://"+host+"/hooks/mtgpu:1.0.0")
		why := wantReason(t, err, reason.HookDenied)
		if why.Remedy[0] != "docker login "+host || strings.Contains(err.Error(), "secret") {
			t.Errorf("E2: %s: %v", who, err)
		}
	}
	_, err = Fetcher{}.Push(t.Context(), "oci://"+host+"/hooks/mtgpu:1.0.1", k.published("1.0.1"))
	if why := wantReason(t, err, reason.HookDenied); !strings.Contains(strings.Join(why.Remedy, " "), "may write there") {
		t.Errorf("%+v", why)
	}
	open := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer open.Close()
	other := strings.TrimPrefix(open.URL, "http://")
	img, err := name.NewTag(other+"/hooks/image:1", name.Insecure)
	must(t, err)
	must(t, remote.Write(img, empty.Image))
	for source, says := range map[string]string{
		"oci://" + host + "/hooks/mtgpu:2.0.0":   "does not have it",
		"oci://" + host + "/hooks/none:1":        "does not have it",
		"oci://" + other + "/hooks/image:1":      "no hook",
		"oci://127.0.0.1:1/hooks/mtgpu:1.0.0":    "did not give it",
		"oci://no.such.invalid/hooks/mtgpu:1.0.": "did not give it",
	} {
		_, err := f.Fetch(t.Context(), source)
		if why := reason.Of(err); why.ID != reason.HookFetch && why.ID != reason.UsageValue || why.ID == reason.HookFetch && !strings.Contains(why.Text, says) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// A registry elsewhere is reached with TLS, unless the lab says otherwise.
func TestPlainHTTPIsForThisMachine(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:5000": true, "127.0.0.1:5000": true, "127.9.9.9": true, "[::1]:5000": true,
		"registry.example.com": false, "localhost.example.com": false, "10.0.0.1:5000": false, "127.0.0.1.nip.io": false,
	} {
		if loopback(host) != want {
			t.Errorf("%s: %v", host, !want)
		}
		repo, err := (Fetcher{}).repository("oci://" + host + "/a/b:1")
		if err == nil && repo.PlainHTTP != want {
			t.Errorf("%s is reached with plain %v", host, repo.PlainHTTP)
		}
		if repo, err := (Fetcher{PlainHTTP: true}).repository("oci://" + host + "/a/b:1"); err == nil && !repo.PlainHTTP {
			t.Errorf("%s", host)
		}
	}
}

// TestWhatIsPushedIsNotCalledFetched: a publisher reads what failed, and that it is the registry that has no TLS.
func TestWhatIsPushedIsNotCalledFetched(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	to := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, plain.Listener.Addr().String())
	}}
	_, err := Fetcher{Transport: to}.Push(t.Context(), "oci://registry.example.com/hooks/mtgpu:1.0.0", newKit(t).published("1.0.0"))
	why := wantReason(t, err, reason.HookPush)
	if !strings.Contains(why.Text, "could not be pushed to oci://registry.example.com") || !strings.Contains(why.Text, "does not speak TLS") {
		t.Errorf("%+v", why)
	}
}
