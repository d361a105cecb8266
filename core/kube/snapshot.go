package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
)

// Snapshot asks everything at once, so that it takes as long as the slowest answer. The error is set when the
// API does not answer at all; what only one question did not bring is unknown.
func (c *Client) Snapshot(ctx context.Context, node string, since time.Time) (Snapshot, error) {
	var (
		s       Snapshot
		wg      sync.WaitGroup
		version string
		n       *Node
		all     []WorkloadStatus
		errs    [3]error
	)
	wg.Go(func() { version, errs[0] = c.version(ctx) })
	wg.Go(func() { n, errs[1] = c.node(ctx, node, since) })
	wg.Go(func() { all, errs[2] = c.coreStatus(ctx, since) })
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return s, context.Cause(ctx)
	}
	if errs[0] != nil && errs[1] != nil && errs[2] != nil {
		return s, errs[0]
	}
	s.Version = known(version, errs[0])
	s.Core = known(all, errs[2])
	switch {
	case errs[1] != nil:
		s.Node = known(Node{}, errs[1])
	case n == nil:
		s.Node = facts.None[Node]()
	default:
		s.Node = facts.Of(*n)
	}
	return s, nil
}

// known is a fact whose why is the reason's sentence.
func known[T any](v T, err error) facts.Fact[T] {
	var e *reason.Error
	if errors.As(err, &e) {
		return facts.Not[T](e.Reason.Text)
	}
	return facts.From(v, err)
}

func (c *Client) version(ctx context.Context) (string, error) {
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	b, err := c.raw(cctx, "/version")
	if err != nil {
		return "", c.explain(ctx, err, "say its version", callTimeout)
	}
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return "", fmt.Errorf("read the version of the cluster: %w", err)
	}
	return v.GitVersion, nil
}

// coreStatus is the state of the cluster's own workloads.
func (c *Client) coreStatus(ctx context.Context, since time.Time) ([]WorkloadStatus, error) {
	v, err := c.look(ctx, systemNamespace, Deployment)
	if err != nil {
		return nil, err
	}
	var out []WorkloadStatus
	for _, w := range coreWorkloads(v) {
		out = append(out, v.find(w, since).WorkloadStatus)
	}
	return out, nil
}

// sorted orders workloads by namespace and name; maps have none.
func sorted(ws []Workload) []Workload {
	slices.SortFunc(ws, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	})
	return ws
}
