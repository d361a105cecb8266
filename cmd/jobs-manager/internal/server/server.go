// Package server answers HTTP: jobs, health and metrics.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"rigup.dev/rigup/cmd/jobs-manager/internal/jobs"
)

// Jobs is what the server offers.
type Jobs interface {
	Create(ctx context.Context, r jobs.Request) (jobs.Job, error)
	Get(ctx context.Context, name string) (jobs.Job, error)
	List(ctx context.Context) ([]jobs.Job, error)
}

// Options is what a server is made of.
type Options struct {
	Jobs Jobs
	// Reach answers nil when the cluster's API can be used; it bounds itself.
	Reach   func(context.Context) error
	Version string
	Go      string
	Log     io.Writer
	// Now is the clock of the readiness cache; nil is the real one.
	Now func() time.Time
}

// Server serves.
type Server struct {
	handler http.Handler
	log     *log.Logger
}

// The bounds on connections. A request is small and answered by a few calls to the API.
const (
	headerLimit   = 5 * time.Second
	requestLimit  = 30 * time.Second
	idleLimit     = 60 * time.Second
	shutdownLimit = 15 * time.Second
)

// ParseFlags reads the arguments of serve. listen is used when no flag says otherwise.
func ParseFlags(args []string, listen string, stderr io.Writer) (string, error) {
	if listen == "" {
		listen = ":8080"
	}
	set := flag.NewFlagSet("serve", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&listen, "listen", listen, "`ADDRESS` to listen on")
	if err := set.Parse(args); err != nil {
		return "", err
	}
	if set.NArg() > 0 {
		return "", fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	if _, _, err := net.SplitHostPort(listen); err != nil {
		return "", fmt.Errorf("--listen cannot be %q: HOST:PORT or :PORT is allowed", listen)
	}
	return listen, nil
}

// New makes a server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	m := newMetrics(o.Version, o.Go)
	ready := &readiness{reach: o.Reach, now: o.Now}
	mux := http.NewServeMux()
	route := func(pattern, name string, h http.HandlerFunc) { mux.Handle(pattern, m.count(name, h)) }
	route("GET /healthz", "/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	route("GET /readyz", "/readyz", ready.serve)
	route("POST /v1/jobs", "/v1/jobs", create(o.Jobs, m))
	route("GET /v1/jobs", "/v1/jobs", func(w http.ResponseWriter, r *http.Request) {
		all, err := o.Jobs.List(r.Context())
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, map[string]any{"jobs": all})
	})
	route("GET /v1/jobs/{name}", "/v1/jobs/{name}", func(w http.ResponseWriter, r *http.Request) {
		j, err := o.Jobs.Get(r.Context(), r.PathValue("name"))
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, j)
	})
	mux.Handle("GET /metrics", m.handler())
	// The mux answers what it does not know in plain text; ours is JSON like everything else.
	known := m.count("other", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, &jobs.Problem{Status: 404, Message: r.URL.Path + " is not here; there are /v1/jobs, /v1/jobs/NAME, /healthz, /readyz and /metrics"})
	})
	mux.Handle("/", known)
	for _, path := range []string{"/v1/jobs", "/v1/jobs/{name}"} {
		mux.Handle(path, m.count(path, func(w http.ResponseWriter, r *http.Request) {
			refuse(w, &jobs.Problem{Status: 405, Message: r.Method + " is not possible here"})
		}))
	}
	return &Server{handler: mux, log: log.New(o.Log, "jobs-manager: ", log.LstdFlags|log.LUTC|log.Lmsgprefix)}
}

func create(j Jobs, m *metrics) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := jobs.Decode(http.MaxBytesReader(w, r.Body, jobs.MaxBody))
		if err != nil {
			refuse(w, err)
			return
		}
		made, err := j.Create(r.Context(), req)
		if err != nil {
			refuse(w, err)
			return
		}
		m.created.Inc()
		w.Header().Set("Location", "/v1/jobs/"+made.Name)
		answer(w, http.StatusCreated, made)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n'))
}

func refuse(w http.ResponseWriter, err error) {
	var p *jobs.Problem
	if !errors.As(err, &p) {
		p = &jobs.Problem{Status: http.StatusInternalServerError, Message: err.Error()}
	}
	answer(w, p.Status, map[string]any{"error": p})
}

// Run serves until ctx ends, then lets requests on the way finish.
func (s *Server) Run(ctx context.Context, listen string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	return s.Serve(ctx, l)
}

// Serve is Run on a listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.handler, ErrorLog: s.log,
		ReadHeaderTimeout: headerLimit, ReadTimeout: requestLimit, WriteTimeout: requestLimit, IdleTimeout: idleLimit,
		MaxHeaderBytes: 64 << 10,
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	s.log.Printf("listening on %s", l.Addr())
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	s.log.Print("stopping")
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownLimit)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}
