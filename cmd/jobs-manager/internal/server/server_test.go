package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/cmd/jobs-manager/internal/jobs"
)

type fake struct{ err error }

func (f fake) Create(_ context.Context, r jobs.Request) (jobs.Job, error) {
	return jobs.Job{Name: r.Name, Phase: jobs.Pending}, f.err
}
func (f fake) Get(_ context.Context, name string) (jobs.Job, error) {
	return jobs.Job{Name: name}, f.err
}
func (f fake) List(context.Context) ([]jobs.Job, error) { return []jobs.Job{}, f.err }

func TestServer_Answers(t *testing.T) {
	s := New(Options{Jobs: fake{}, Reach: func(context.Context) error { return nil }, Version: "1.2.3", Go: "go1"})
	busy := New(Options{Jobs: fake{&jobs.Problem{Status: 409, Field: "name", Message: "exists"}}})
	tests := map[string]struct {
		s            *Server
		method, path string
		body         string
		status       int
		want         string
	}{
		"health":      {s, "GET", "/healthz", "", 200, "ok"},
		"ready":       {s, "GET", "/readyz", "", 200, "ok"},
		"create":      {s, "POST", "/v1/jobs", `{"name":"a","image":"app:1","command":["x"]}`, 201, `"name":"a"`},
		"unknown":     {s, "POST", "/v1/jobs", `{"nam":"a"}`, 400, `{"error":{"field":"nam","message":`},
		"too large":   {s, "POST", "/v1/jobs", `{"name":"` + strings.Repeat("a", jobs.MaxBody) + `"}`, 413, "larger than 1048576"},
		"exists":      {busy, "POST", "/v1/jobs", `{}`, 409, `"field":"name"`},
		"list":        {s, "GET", "/v1/jobs", "", 200, `{"jobs":[]}`},
		"get":         {s, "GET", "/v1/jobs/b", "", 200, `"name":"b"`},
		"not here":    {s, "GET", "/v2", "", 404, `{"error":{"message":"/v2 is not here`},
		"not allowed": {s, "DELETE", "/v1/jobs/b", "", 405, `{"error":{"message":"DELETE`},
		"metrics":     {s, "GET", "/metrics", "", 200, `jobs_manager_build_info{go="go1",version="1.2.3"} 1`},
	}
	for _, name := range []string{"health", "ready", "create", "unknown", "too large", "exists", "list", "get", "not here", "not allowed", "metrics"} {
		tt := tests[name]
		w := httptest.NewRecorder()
		tt.s.handler.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if name == "metrics" {
			for _, want := range []string{`jobs_manager_requests_total{code="201",route="/v1/jobs"} 1`, `jobs_manager_requests_total{code="413",route="/v1/jobs"} 1`, "jobs_manager_jobs_created_total 1"} {
				if !strings.Contains(w.Body.String(), want) {
					t.Errorf("no %s", want)
				}
			}
		}
	}
}

func TestReady_IsBoundedAndAskedOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	asked := 0
	var err error
	s := New(Options{Jobs: fake{}, Now: func() time.Time { return now }, Reach: func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the question has no deadline")
		}
		asked++
		return err
	}})
	get := func() int {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
		return w.Code
	}
	if first, second := get(), get(); first != 200 || second != 200 || asked != 1 {
		t.Errorf("%d, then %d, asked %d times", first, second, asked)
	}
	err = errors.New("refused")
	now = now.Add(fresh)
	if get() != 503 || asked != 2 {
		t.Error("an old answer was given")
	}
}

func TestServe_StopsGracefully(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, leave := make(chan struct{}), make(chan struct{})
	s := New(Options{Jobs: slow{inside: inside, leave: leave}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	answered := make(chan string, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String() + "/v1/jobs")
		if err != nil {
			answered <- err.Error()
			return
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		answered <- string(b)
	}()
	<-inside
	cancel()
	close(leave)
	if got := <-answered; !json.Valid([]byte(got)) {
		t.Errorf("the request on the way was cut off: %s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

type slow struct {
	fake
	inside, leave chan struct{}
}

func (s slow) List(context.Context) ([]jobs.Job, error) {
	close(s.inside)
	<-s.leave
	return nil, nil
}

func TestParseFlags(t *testing.T) {
	if l, err := ParseFlags([]string{"--listen", ":9"}, ":1", io.Discard); err != nil || l != ":9" {
		t.Error(l, err)
	}
	if l, err := ParseFlags(nil, "", io.Discard); err != nil || l != ":8080" {
		t.Error(l, err)
	}
	for _, args := range [][]string{{"--listen", "8080"}, {"x"}, {"--port", "1"}} {
		if _, err := ParseFlags(args, "", io.Discard); err == nil {
			t.Errorf("%v", args)
		}
	}
}
