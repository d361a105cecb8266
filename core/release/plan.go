package release

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"rigup.dev/rigup/core/reason"
)

// Action is what has to be done with a release.
type Action string

// The actions.
const (
	Nothing Action = "nothing"
	Install Action = "install"
	Upgrade Action = "upgrade"
)

// Plan is what would be done, and why.
type Plan struct {
	Action Action
	// Why lists what differs, for people. It names values but never shows them.
	Why []string
	// Recovers is set when an operation that was cut off is put in order first (C5).
	Recovers *reason.Reason
	Status   Status
	Rendered *Rendered

	chart  *Chart
	values map[string]any
}

// Workloads are the objects of the release that run pods and can be awaited, after the plan was applied.
func (p *Plan) Workloads() []Object { return p.Rendered.Workloads() }

// Preview plans the first install, without a cluster. kubeVersion is the version the cluster will have.
func Preview(c *Chart, values map[string]any, t Target) (*Plan, error) {
	r, err := Render(c, values, t)
	if err != nil {
		return nil, err
	}
	return decide(Status{State: None, Release: t.Release, Namespace: t.Namespace}, c, values, r, nil)
}

// Plan compares a chart and its values with the cluster. Same inputs and all objects there: nothing to do.
// A release of others is refused with release.foreign; an unreadable state is an error.
func (c *Client) Plan(ctx context.Context, chart *Chart, values map[string]any) (*Plan, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	version, err := s.version()
	if err != nil {
		return nil, c.failure(ctx, "ask for the cluster's version", err)
	}
	r, err := Render(chart, values, Target{Release: c.release, Namespace: c.namespace, KubeVersion: version})
	if err != nil {
		return nil, err
	}
	st, err := c.status(ctx, s)
	if err != nil {
		return nil, err
	}
	var gone []Object
	if st.State == Deployed && st.inputs == r.Inputs {
		// The record says how the cluster was left, not how it is: what somebody deleted since is made again.
		if gone, err = s.exists(st.Objects); err != nil {
			return nil, c.failure(ctx, "look for the release's objects", err)
		}
	}
	return decide(st, chart, values, r, gone)
}

// decide is the whole decision, without a cluster.
func decide(st Status, c *Chart, values map[string]any, r *Rendered, gone []Object) (*Plan, error) {
	p := &Plan{Status: st, Rendered: r, chart: c, values: values, Action: Upgrade}
	switch st.State {
	case None:
		p.Action = Install
		p.Why = []string{fmt.Sprintf("chart %s %s", c.Name(), c.Version())}
		return p, nil
	case Foreign:
		return nil, reason.Fail(reason.New(reason.ReleaseForeign, "release", st.Release, "namespace", st.Namespace), nil)
	case Stuck:
		why := reason.New(reason.ReleaseStuck, "release", st.Release, "status", st.Helm)
		p.Recovers = &why
		p.Why = []string{"it was left " + st.Helm}
	case Failed:
		p.Why = []string{"the last attempt failed: " + firstLine(st.Message)}
	case Removed:
		p.Why = []string{"it was uninstalled"}
	case Deployed:
		p.Why = differences(st, c, values, r, gone)
		if len(p.Why) == 0 {
			p.Action = Nothing
		}
	default:
		return nil, fmt.Errorf("release %s is in no known state: %q", st.Release, st.State)
	}
	return p, nil
}

// maxListed keeps a list of differences to one screen.
const maxListed = 8

func differences(st Status, c *Chart, values map[string]any, r *Rendered, gone []Object) []string {
	var why []string
	if st.inputs != r.Inputs {
		switch {
		case st.Chart != c.Name():
			why = append(why, fmt.Sprintf("chart %s %s instead of %s %s", c.Name(), c.Version(), st.Chart, st.ChartVersion))
		case st.ChartVersion != c.Version():
			why = append(why, fmt.Sprintf("chart %s %s instead of %s", c.Name(), c.Version(), st.ChartVersion))
		}
		for _, path := range differing(st.Values, values) {
			why = append(why, "value "+path)
		}
		if len(why) == 0 {
			why = append(why, "the chart's content, the cluster's version, or a change made by others")
		}
	}
	for _, o := range gone {
		why = append(why, fmt.Sprintf("%s is gone", o))
	}
	if n := len(why) - maxListed; n > 0 {
		why = append(slices.Clone(why[:maxListed]), fmt.Sprintf("and %d more", n))
	}
	return why
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + "..."
	}
	return s
}
