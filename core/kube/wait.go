package kube

import (
	"context"
	"errors"
	"slices"
	"time"

	core "k8s.io/api/core/v1"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// WaitWorkloads waits until all workloads are as their latest specification asks. It ends early where waiting
// cannot help (an image that no registry has, a container that keeps crashing); otherwise it goes on as long as
// anything advances. progress, which may be nil, counts ready pods. A failure carries a workload.* reason.
func (c *Client) WaitWorkloads(ctx context.Context, ws []Workload, o WaitOptions, progress func(event.Progress)) error {
	p, base := newPoll(o.Stall, o.Limit), baseline{}
	tell := teller(progress)
	var lost error // why the last look failed
	var asked time.Time
	for {
		views, err := c.lookAll(ctx, ws)
		switch {
		case ctx.Err() != nil:
			return c.interrupted(ctx)
		case err != nil:
			// The API may be away for a moment; if it stays away, that is the reason.
			lost = err
			if permanent(err) && p.steady("api") >= settle {
				return err
			}
			if o.Alive != nil && time.Since(asked) >= alivePause {
				if err := o.Alive(ctx); err != nil {
					return err
				}
				asked = time.Now()
			}
		default:
			lost = nil
			all, n := judge(views, ws, o.Since)
			p.advance(n)
			tell(podsProgress(all))
			bad, v, done := c.worst(ctx, views, all, base)
			if done && (!unprobed(all) || p.steady("ready") >= unprobedTime) {
				return nil
			}
			if done {
				break // it lasts, or it does not
			}
			limit, over := p.over()
			if steady := p.steady(bad.Name + v.key()); over || (v.after != never && steady >= v.after) {
				return &reason.Error{Reason: c.reason(ctx, bad, v, o, limit)}
			}
		}
		if _, over := p.over(); over && lost != nil {
			return lost
		}
		if err := p.sleep(ctx); err != nil {
			return c.interrupted(ctx)
		}
	}
}

// unprobedTime is how long a container without a readiness probe must stay up: the cluster calls it ready the
// moment it starts, also one that ends right away.
const unprobedTime = 3 * time.Second

// unprobed reports whether the readiness of any pod says no more than that a container was started just now.
func unprobed(all []found) bool {
	for _, f := range all {
		for _, p := range f.pods {
			for _, k := range p.Spec.Containers {
				if f.Kind != Job && k.ReadinessProbe == nil && startedJustNow(p, k.Name) {
					return true
				}
			}
		}
	}
	return false
}

func startedJustNow(p core.Pod, container string) bool {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container && s.State.Running != nil {
			return time.Since(s.State.Running.StartedAt.Time) < time.Minute
		}
	}
	return true
}

// interrupted says how a wait was ended from outside: a deadline of the caller is one of the cluster's API for
// nobody, so it is passed on as it is.
func (c *Client) interrupted(ctx context.Context) error { return context.Cause(ctx) }

// permanent reports whether an error of the API will not go away by itself.
func permanent(err error) bool {
	var e *reason.Error
	return errors.As(err, &e) && (e.Reason.ID == reason.KubeOther || e.Reason.ID == reason.KubeRefused)
}

// lookAll looks at every namespace of the workloads.
func (c *Client) lookAll(ctx context.Context, ws []Workload) (map[string]*view, error) {
	kinds := map[string][]Kind{}
	for _, w := range ws {
		if !slices.Contains(kinds[w.Namespace], w.Kind) {
			kinds[w.Namespace] = append(kinds[w.Namespace], w.Kind)
		}
	}
	views := make(map[string]*view, len(kinds))
	for ns, ks := range kinds {
		v, err := c.look(ctx, ns, ks...)
		if err != nil {
			return nil, err
		}
		views[ns] = v
	}
	return views, nil
}

// judge finds each workload and adds up how far all are.
func judge(views map[string]*view, ws []Workload, since time.Time) (all []found, total int) {
	for _, w := range ws {
		f := views[w.Namespace].find(w, since)
		if !f.Missing {
			total++
		}
		if f.OK {
			total += 100 // so that a finished job's pods, when they are cleared away, are no step back
		}
		for _, p := range f.pods {
			total += score(p)
		}
		all = append(all, f)
	}
	return all, total
}

// worst picks the workload to blame: the first one that cannot get ready, else the first that is not.
func (c *Client) worst(ctx context.Context, views map[string]*view, all []found, base baseline) (found, verdict, bool) {
	var blame found
	var why verdict
	done := true
	for _, f := range all {
		if f.OK {
			continue
		}
		v := c.diagnose(ctx, views[f.Namespace], f, base)
		if done || (why.class == stillStarting && v.class != stillStarting) || (v.after != never && (why.after == never || v.after < why.after)) {
			blame, why = f, v
		}
		done = false
	}
	return blame, why, done
}

// PodsSummary says how far the workloads are at this moment, and why not further as far as that shows.
func (c *Client) PodsSummary(ctx context.Context, ws []Workload, o WaitOptions) ([]WorkloadStatus, error) {
	views, err := c.lookAll(ctx, ws)
	if err != nil {
		return nil, err
	}
	all, _ := judge(views, ws, o.Since)
	out := make([]WorkloadStatus, 0, len(all))
	for _, f := range all {
		if !f.OK && !f.Missing {
			v := c.diagnose(ctx, views[f.Namespace], f, baseline{})
			r := c.reason(ctx, f, v, o, 0)
			if v.class == stillStarting {
				r = reason.New(reason.WorkloadStarting, append(f.refs(o, nil), "limit", "its last start")...).With(c.evidence(ctx, v)...)
			}
			f.Reason = &r
			f.Failed = f.Kind != Job && slices.ContainsFunc(f.pods, backedOff)
		}
		out = append(out, f.WorkloadStatus)
	}
	return out, nil
}

func podsProgress(all []found) event.Progress {
	p := event.Progress{Unit: event.Pods}
	for _, f := range all {
		p.Done += int64(f.Ready)
		p.Total += int64(f.Total)
		if f.Missing {
			p.Total++ // at least one pod is to come
		}
		if p.What == "" && !f.OK {
			p.What = f.Name
		}
	}
	return p
}

// teller passes progress on when it is news.
func teller(progress func(event.Progress)) func(event.Progress) {
	var last event.Progress
	return func(p event.Progress) {
		if progress != nil && p != last {
			last = p
			progress(p)
		}
	}
}
