package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// fresh is how long an answer about readiness holds: probes come from several sides, the API is asked once.
const fresh = 3 * time.Second

// reachLimit bounds the question, whatever the one who answers does.
const reachLimit = 2 * time.Second

type readiness struct {
	reach func(context.Context) error
	now   func() time.Time

	mu  sync.Mutex
	at  time.Time
	err error
}

func (r *readiness) serve(w http.ResponseWriter, req *http.Request) {
	if err := r.check(req.Context()); err != nil {
		http.Error(w, fmt.Sprintf("the cluster's API cannot be used: %v", err), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (r *readiness) check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && r.now().Sub(r.at) < fresh {
		return r.err
	}
	// Whoever asked may go away; the answer is for all.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reachLimit)
	defer cancel()
	r.err = r.reach(ctx)
	r.at = r.now()
	return r.err
}
