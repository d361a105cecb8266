// Package kubefake is a cluster that answers as it was told to, for tests of what uses core/kube.
package kubefake

import (
	"context"
	"sync"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/kube"
)

// API answers each call with the function of the same name, or with success and nothing when there is none.
type API struct {
	OnReady       func(context.Context, kube.ReadyOptions, func(event.Progress)) error
	OnSnapshot    func(context.Context, string, time.Time) (kube.Snapshot, error)
	OnWait        func(context.Context, []kube.Workload, kube.WaitOptions, func(event.Progress)) error
	OnRetry       func(context.Context, []kube.Workload) error
	OnPodsSummary func(context.Context, []kube.Workload, kube.WaitOptions) ([]kube.WorkloadStatus, error)

	mu    sync.Mutex
	calls []string
}

var _ kube.API = (*API)(nil)

func (a *API) called(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, name)
}

// Calls are the names of the methods that were called, in order.
func (a *API) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.calls...)
}

// Ready implements kube.API.
func (a *API) Ready(ctx context.Context, o kube.ReadyOptions, progress func(event.Progress)) error {
	a.called("Ready")
	if a.OnReady == nil {
		return ctx.Err()
	}
	return a.OnReady(ctx, o, progress)
}

// Snapshot implements kube.API.
func (a *API) Snapshot(ctx context.Context, node string, since time.Time) (kube.Snapshot, error) {
	a.called("Snapshot")
	if a.OnSnapshot == nil {
		return kube.Snapshot{}, ctx.Err()
	}
	return a.OnSnapshot(ctx, node, since)
}

// WaitWorkloads implements kube.API.
func (a *API) WaitWorkloads(ctx context.Context, ws []kube.Workload, o kube.WaitOptions, progress func(event.Progress)) error {
	a.called("WaitWorkloads")
	if a.OnWait == nil {
		return ctx.Err()
	}
	return a.OnWait(ctx, ws, o, progress)
}

// Retry implements kube.API.
func (a *API) Retry(ctx context.Context, ws []kube.Workload) error {
	a.called("Retry")
	if a.OnRetry == nil {
		return ctx.Err()
	}
	return a.OnRetry(ctx, ws)
}

// PodsSummary implements kube.API.
func (a *API) PodsSummary(ctx context.Context, ws []kube.Workload, o kube.WaitOptions) ([]kube.WorkloadStatus, error) {
	a.called("PodsSummary")
	if a.OnPodsSummary == nil {
		return nil, ctx.Err()
	}
	return a.OnPodsSummary(ctx, ws, o)
}
