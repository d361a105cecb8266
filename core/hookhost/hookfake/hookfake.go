// Package hookfake is a hook host made of Go functions, for tests of what asks hooks.
package hookfake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

// Runner asks Go functions in the place of modules. Requests and responses go through JSON and through the checks of
// the real host, so that a hook gets nothing else, and gets away with nothing else, than under it.
type Runner struct {
	// Hooks are the hooks, by the id in the request.
	Hooks map[string]sdk.Hook
	// Raw are hooks that write whatever they want, by id. They go before Hooks.
	Raw map[string]func(request []byte) []byte
	// Failures are hooks that fail, by id. They go before the others.
	Failures map[string]*hookhost.Failure

	mu     sync.Mutex
	asked  []sdk.Request
	closed bool
}

var _ hookhost.Runner = (*Runner)(nil)

// Ask asks the hook that the request names.
func (r *Runner) Ask(ctx context.Context, m hookhost.Module, req sdk.Request) (hookhost.Answer, error) {
	if err := ctx.Err(); err != nil {
		return hookhost.Answer{}, err
	}
	r.mu.Lock()
	r.asked = append(r.asked, req)
	r.mu.Unlock()
	if f := r.Failures[req.Hook]; f != nil {
		return hookhost.Answer{Log: f.Log}, f
	}
	request, err := json.Marshal(req)
	if err != nil {
		return hookhost.Answer{}, failure(hookhost.Unable, err)
	}
	raw := r.Raw[req.Hook]
	if raw == nil {
		raw = func(b []byte) []byte {
			var out bytes.Buffer
			if err = sdk.Serve(bytes.NewReader(b), &out, r.named(req.Hook)); err != nil {
				return nil
			}
			return out.Bytes()
		}
	}
	out := raw(request)
	if err != nil {
		return hookhost.Answer{}, failure(hookhost.Crashed, fmt.Errorf("ended with exit code 1: %w", err))
	}
	resp, err := hookhost.CheckResponse(req, out)
	return hookhost.Answer{Response: resp}, err
}

// named keeps Serve from asking the only hook there is under any name.
func (r *Runner) named(id string) map[string]sdk.Hook {
	if h, ok := r.Hooks[id]; ok {
		return map[string]sdk.Hook{id: h}
	}
	return nil
}

func failure(c hookhost.Cause, err error) *hookhost.Failure {
	return &hookhost.Failure{Cause: c, Text: err.Error()}
}

// Asked returns the requests so far, in their order.
func (r *Runner) Asked() []sdk.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// Close notes that the runner was closed.
func (r *Runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}

// Closed reports whether Close was called.
func (r *Runner) Closed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}
