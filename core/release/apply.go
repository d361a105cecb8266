package release

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"rigup.dev/rigup/core/reason"
)

// history is how many revisions Helm keeps, for people who look back or roll back by hand.
const history = 5

// Apply carries out a plan within limit, and returns the release as it is then. It does not wait until pods
// are ready; that is the next stage's work. A plan that says nothing to do changes nothing.
//
// The caller holds the cluster's install lock. That is why a release that is pending is taken to be cut off,
// however young its record is: the process that wrote it cannot be running.
//
// When ctx ends, requests on the way are aborted, the record is marked failed, and Apply returns; a later
// run continues. Errors carry chart.install, chart.timeout, chart.render, kube.* or run.interrupted.
func (c *Client) Apply(ctx context.Context, p *Plan, limit time.Duration) (Status, error) {
	if p.Action == Nothing {
		return p.Status, nil
	}
	opctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if end, ok := opctx.Deadline(); ok {
		limit = time.Until(end) // the caller's own deadline may be nearer
	}
	s, err := c.connect(opctx)
	if err != nil {
		return Status{}, err
	}
	// What is there now decides, not what was there when the plan was made.
	st, err := c.status(opctx, s)
	if err != nil {
		return Status{}, err
	}
	if st.State == Foreign {
		return Status{}, reason.Fail(reason.New(reason.ReleaseForeign, "release", c.release, "namespace", c.namespace), nil)
	}
	if err := c.settle(opctx, s, st); err != nil {
		return Status{}, err
	}
	freed, err := s.reclaim(p.Rendered.Objects)
	if err != nil {
		return Status{}, c.failure(opctx, "free the release's volumes", err)
	}
	if len(freed) > 0 {
		c.log("volumes freed for their new claims: %s", strings.Join(freed, ", "))
	}
	err = c.within(opctx, func() error { return c.run(s, p, st, limit) })
	if err != nil {
		return Status{}, c.applyFailure(ctx, opctx, p, limit, err)
	}
	return c.status(opctx, s)
}

// settle puts a release in order that Helm would refuse to upgrade: cut off in the middle, or uninstalled
// with its history kept. Nothing in the cluster is touched; only the record is marked failed, so that the
// upgrade that follows makes, changes and removes objects as needed. Uninstalling and starting anew would
// end the same way, but would take the users' data with it (C5).
func (c *Client) settle(ctx context.Context, s *session, st Status) error {
	if st.last == nil {
		return nil
	}
	switch st.last.Info.Status {
	case helmrelease.StatusDeployed, helmrelease.StatusFailed, helmrelease.StatusSuperseded:
		return nil
	}
	c.log("release %s was left %s: marking revision %d failed", c.release, st.Helm, st.Revision)
	st.last.SetStatus(helmrelease.StatusFailed, "cut off while "+st.Helm+"; continued by rigup")
	if err := s.config.Releases.Update(st.last); err != nil {
		return c.failure(ctx, "mark the release "+c.release+" as cut off", err)
	}
	return nil
}

func (c *Client) run(s *session, p *Plan, st Status, limit time.Duration) error {
	chart, err := p.chart.fresh()
	if err != nil {
		return err
	}
	// Helm writes into the values.
	values := over(nil, p.values)
	labels := map[string]string{managedLabel: "true", inputsLabel: p.Rendered.Inputs + "-" + strconv.Itoa(st.Revision+1)}
	if st.State == None {
		in := action.NewInstall(s.config)
		in.ReleaseName, in.Namespace, in.CreateNamespace = c.release, c.namespace, true
		in.Timeout = limit
		in.Labels = labels
		_, err = in.Run(chart, values)
		return err
	}
	up := action.NewUpgrade(s.config)
	up.Namespace = c.namespace
	up.Timeout = limit
	up.MaxHistory = history
	up.Labels = labels
	// All values are given every time: a value that is no longer wanted must not linger.
	up.ResetValues = true
	_, err = up.Run(c.release, chart, values)
	return err
}

// within runs Helm, which takes no context. Its requests end with ctx, so it normally ends by itself; what it
// waits for in other ways (hooks) is left behind after the grace.
func (c *Client) within(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace + time.Second)
	defer timer.Stop()
	select {
	case err := <-done:
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case <-timer.C:
		return context.Cause(ctx)
	}
}

func (c *Client) applyFailure(ctx, opctx context.Context, p *Plan, limit time.Duration, err error) error {
	chart := p.chart.Source()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return reason.Fail(reason.New(reason.Interrupted), fmt.Errorf("install the chart %s: %w", chart, context.Canceled))
	case opctx.Err() != nil:
		return reason.Fail(reason.New(reason.ChartTimeout, "chart", chart, "limit", limit.Round(time.Millisecond).String()), tidy(err))
	case strings.Contains(err.Error(), "invalid ownership metadata"):
		return reason.Fail(reason.New(reason.ChartInstall, "chart", chart).
			Do("an object of the same name belongs to somebody else: remove it, or choose another namespace: rigup install --namespace NAME"), tidy(err))
	case unreachable(err) || errors.Is(err, errCallLimit):
		return reason.Fail(reason.New(reason.KubeUnreachable, "address", c.address), tidy(err))
	}
	return reason.Fail(reason.New(reason.ChartInstall, "chart", chart), tidy(err))
}

// Uninstall removes the release within limit. keepData leaves its volumes and claims in the cluster;
// otherwise they go too, whatever the chart's resource policy says about them. A release that does not exist
// is no error. One of others is refused.
func (c *Client) Uninstall(ctx context.Context, keep bool, limit time.Duration) error {
	opctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := c.connect(opctx)
	if err != nil {
		return err
	}
	st, err := c.status(opctx, s)
	if err != nil {
		return err
	}
	switch st.State {
	case None:
		return nil
	case Foreign:
		return reason.Fail(reason.New(reason.ReleaseForeign, "release", c.release, "namespace", c.namespace), nil)
	}
	edit := releaseData
	if keep {
		edit = keepData
	}
	manifest, err := edit(st.last.Manifest)
	if err != nil {
		return c.failure(opctx, "read the release "+c.release, err)
	}
	if manifest != st.last.Manifest {
		st.last.Manifest = manifest
		if err := s.config.Releases.Update(st.last); err != nil {
			return c.failure(opctx, "prepare the removal of release "+c.release, err)
		}
	}
	un := action.NewUninstall(s.config)
	un.Timeout = limit
	un.DeletionPropagation = "background"
	err = c.within(opctx, func() error { _, err := un.Run(c.release); return err })
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil
	}
	if err != nil {
		return c.failure(opctx, "remove the release "+c.release, err)
	}
	return nil
}
