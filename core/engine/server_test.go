package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rigup.dev/rigup/core/reason"
)

// server is an engine that answers what the test says; the path's version is cut off.
type server struct {
	mu      sync.Mutex
	api     string
	handler map[string]http.HandlerFunc // by "METHOD /path"
}

// on sets what a request is answered with.
func (s *server) on(request string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler[request] = h
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if strings.HasPrefix(path, "/v1.") {
		path = "/" + strings.SplitN(path, "/", 3)[2]
	}
	w.Header().Set("Api-Version", s.api)
	w.Header().Set("Ostype", "linux")
	s.mu.Lock()
	h, ok := s.handler[r.Method+" "+path]
	s.mu.Unlock()
	if ok {
		h(w, r)
		return
	}
	switch path {
	case "/_ping":
	case "/version":
		answer(w, 200, map[string]string{"ApiVersion": s.api})
	default:
		answer(w, 404, map[string]string{"message": "page not found: " + r.Method + " " + path})
	}
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, code, map[string]string{"message": text}) }
}

// listen serves the engine on a socket and returns its path.
func listen(t *testing.T, s *server) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "e") // a socket's path is limited, and the test's directory may be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Skip("skipped: no unix sockets here: " + err.Error())
	}
	h := httptest.NewUnstartedServer(s)
	h.Listener.Close()
	h.Listener = l
	h.Start()
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	return sock
}

// surroundings are a machine with these variables and files and nothing else.
func surroundings(env map[string]string, files map[string]string) Surroundings {
	return Surroundings{
		GOOS: "linux", Home: "/home/u",
		Env: func(n string) string { return env[n] },
		Exists: func(p string) bool {
			if _, ok := files[p]; ok {
				return true
			}
			_, err := os.Lstat(p)
			return err == nil && strings.HasPrefix(p, os.TempDir())
		},
		ReadFile: func(p string) ([]byte, error) {
			if f, ok := files[p]; ok {
				return []byte(f), nil
			}
			return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
		},
		LookPath: func(p string) (string, error) {
			if _, ok := files["/bin/"+p]; ok {
				return "/bin/" + p, nil
			}
			return "", errors.New("not found")
		},
	}
}

func open(t *testing.T, s *server, limits Timeouts) *Engine {
	t.Helper()
	if s.api == "" {
		s.api = "1.41"
	}
	if s.handler == nil {
		s.handler = map[string]http.HandlerFunc{}
	}
	e, err := Open(t.Context(), Options{Host: "unix://" + listen(t, s), MinAPI: "1.41", Surroundings: surroundings(nil, nil), Timeouts: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func wantReason(t *testing.T, err error, id reason.ID, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", id)
	}
	r := reason.Of(err)
	if r.ID != id {
		t.Fatalf("reason %s (%v), want %s", r.ID, err, id)
	}
	text := strings.Join(append(append([]string{r.Text}, r.Remedy...), r.Evidence...), "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, text)
		}
	}
}

func TestOpenNegotiates(t *testing.T) {
	for api, want := range map[string]string{"1.41": "1.41", "1.44": "1.44", "1.99": "1.51"} {
		if e := open(t, &server{api: api}, Timeouts{}); e.API() != want {
			t.Errorf("engine %s: %s, want %s", api, e.API(), want)
		}
	}
}

func TestOpenTooOldAndTooNew(t *testing.T) {
	try := func(s *server) error {
		_, err := Open(t.Context(), Options{Host: listen(t, s), MinAPI: "1.41", Surroundings: surroundings(nil, nil)})
		return err
	}
	wantReason(t, try(&server{api: "1.39"}), reason.EngineTooOld, "1.39", "1.41")
	wantReason(t, try(&server{api: ""}), reason.EngineTooOld, "1.23 or earlier")
	wantReason(t, try(&server{api: "1.80", handler: map[string]http.HandlerFunc{
		"GET /version": refuse(400, "client version 1.51 is too old. Minimum supported API version is 1.60, please upgrade your client to a newer version")}}),
		reason.EngineTooNew, "1.60", "1.51")
	wantReason(t, try(&server{api: "1.45", handler: map[string]http.HandlerFunc{
		"GET /version": refuse(400, "client version 1.45 is too new. Maximum supported API version is 1.40")}}), reason.EngineTooOld, "1.40", "1.41")
}

func TestOpenNothingAnswers(t *testing.T) {
	_, err := Open(t.Context(), Options{MinAPI: "1.41", Surroundings: surroundings(map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, map[string]string{"/bin/dockerd": "", "/run/systemd/system": ""})})
	wantReason(t, err, reason.EngineUnreachable, "sudo systemctl start docker", "unix:///var/run/docker.sock (default): no such file", "unix:///run/user/7/docker.sock",
		"/home/u/.docker/desktop/docker.sock", "/home/u/.colima/default/docker.sock", "/home/u/.orbstack/run/docker.sock", "/home/u/.rd/docker.sock")

	_, err = Open(t.Context(), Options{MinAPI: "1.41", Surroundings: surroundings(nil, nil)})
	wantReason(t, err, reason.EngineUnreachable, "install Docker: https://")

	// A socket that nobody serves any more.
	s := &server{api: "1.41"}
	sock := listen(t, s)
	dead := filepath.Join(filepath.Dir(sock), "dead")
	l, lerr := net.Listen("unix", dead)
	if lerr != nil {
		t.Fatal(lerr)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	_, err = Open(t.Context(), Options{MinAPI: "1.41", Surroundings: surroundings(map[string]string{"DOCKER_HOST": "unix://" + dead}, nil)})
	wantReason(t, err, reason.EngineUnreachable, dead+" (DOCKER_HOST): connect: connection refused")
	// Another candidate that answers is used, unless the user named one.
	e, err := Open(t.Context(), Options{MinAPI: "1.41", Surroundings: surroundings(map[string]string{"XDG_RUNTIME_DIR": filepath.Dir(sock)}, nil)})
	if err == nil {
		e.Close()
		t.Error("a socket of another name was used")
	}
}

func TestOpenDenied(t *testing.T) {
	if os.Getuid() == 0 {
		// root is never denied; the classification is what is tested.
		err := (&Engine{}).classify(t.Context(), nil, &Error{Kind: Denied, What: "reach it", Err: fs.ErrPermission}, 0, "")
		if KindOf(err) != Denied {
			t.Error(err)
		}
		return
	}
	sock := listen(t, &server{api: "1.41"})
	if err := os.Chmod(sock, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{Host: sock, MinAPI: "1.41", Surroundings: surroundings(nil, nil)})
	wantReason(t, err, reason.EngineDenied, sock, "sudo usermod -aG docker $USER, then log in again")
}

func TestG6_OpenTimesOut(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	s := &server{api: "1.41", handler: map[string]http.HandlerFunc{}}
	s.on("HEAD /_ping", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	_, err := Open(t.Context(), Options{Host: listen(t, s), MinAPI: "1.41", Surroundings: surroundings(nil, nil), Timeouts: Timeouts{Ping: 20 * time.Millisecond}})
	wantReason(t, err, reason.EngineTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = Open(ctx, Options{Host: listen(t, s), MinAPI: "1.41", Surroundings: surroundings(nil, nil)})
	wantReason(t, err, reason.Interrupted)
}

func TestG6_AnswersAreTold(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	s := &server{}
	e := open(t, s, Timeouts{Query: 250 * time.Millisecond})
	for _, c := range []struct {
		name string
		h    http.HandlerFunc
		kind Kind
		id   reason.ID
	}{
		{"not found", refuse(404, "No such container: x"), NotFound, reason.EngineFailed},
		{"conflict", refuse(409, "name in use"), Conflict, reason.EngineFailed},
		{"denied", refuse(403, "authorization denied by plugin"), Denied, reason.EngineFailed},
		{"refused", refuse(500, "server error"), Refused, reason.EngineFailed},
		{"late", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		}, Timeout, reason.EngineTimeout},
		{"hung up", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Close()
		}, Unreachable, reason.EngineUnreachable},
	} {
		s.on("GET /containers/x/json", c.h)
		_, err := e.Container(t.Context(), "x")
		if KindOf(err) != c.kind || reason.Of(err).ID != c.id {
			t.Errorf("%s: kind %q, reason %s: %v", c.name, KindOf(err), reason.Of(err).ID, err)
		}
	}
	wantReason(t, func() error {
		s.on("GET /networks", func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
		})
		_, err := e.Networks(t.Context())
		return err
	}(), reason.EngineTimeout, "250ms", "list networks")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Networks(ctx); KindOf(err) != Canceled || !errors.Is(err, context.Canceled) || reason.Of(err).ID != reason.Interrupted {
		t.Error(err)
	}
}

func TestProxyIsNotAsked(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	open(t, &server{}, Timeouts{})
	for _, host := range []string{"unix:///x", "tcp://127.0.0.1:2375"} {
		tr, err := transport(Endpoint{Host: host})
		if err != nil || tr.TLSClientConfig != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestInfo(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	s.on("GET /info", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"Name":"m","ServerVersion":"20.10.24","OSType":"linux","Architecture":"aarch64","OperatingSystem":"Debian","NCPU":4,"MemTotal":1024,
"DockerRootDir":"/var/snap/docker/common/var-lib-docker","SecurityOptions":["name=seccomp,profile=default","name=rootless"],
"RegistryConfig":{"InsecureRegistryCIDRs":["127.0.0.0/8"],"IndexConfigs":{"docker.io":{"Secure":true},"r.test:5000":{"Secure":false}},"Mirrors":["https://m.test/"]},
"Runtimes":{"runc":{"path":"runc"},"nvidia":{"path":"x"}},"DefaultRuntime":"runc","HttpProxy":"http://p.test","CDISpecDirs":["/etc/cdi"],"DiscoveredDevices":[{"Source":"cdi","ID":"a/b=0"}]}`))
	})
	in, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if in.Arch != "arm64" || !in.Snap || !in.Rootless || in.CgroupVersion != "1" || strings.Join(in.Insecure, " ") != "127.0.0.0/8 r.test:5000" ||
		in.Mirrors[0] != "https://m.test/" || strings.Join(in.Runtimes, " ") != "nvidia runc" || in.CDIDevices[0] != "a/b=0" || in.HTTPProxy != "http://p.test" {
		t.Errorf("%+v", in)
	}
}
