package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

const (
	systemNamespace = "kube-system"
	// dns must be there; whatever else the distribution runs as a Deployment must only be ready.
	dns = "coredns"
	// metrics is not waited for: it needs a full scrape of the node before it is ready, and nothing needs it.
	metrics = "metrics-server"

	// readyTimeout limits one question whether the API is up; a new one is cheap.
	readyTimeout = 2 * time.Second
	// otherGrace is how long another certificate may be seen before it counts: a node whose data was kept may
	// show one from before while it starts.
	otherGrace = 5 * time.Second
	// alivePause is the time between two questions whether the node's container still runs.
	alivePause = time.Second
)

// link is one thing that a ready cluster consists of, in the order in which they come up.
type link int

const (
	linkAPI link = iota
	linkNode
	linkAccount
	linkCore
	linkDone
)

// look is what Ready saw last.
type readyLook struct {
	link  link
	err   error
	node  *Node
	views map[string]*view
	all   []found
	score int
}

// Ready waits until the API is up, the node is ready, pods are accepted (the default ServiceAccount exists) and
// the cluster's own workloads are available. It goes on as long as anything advances, up to the limit. progress,
// which may be nil, counts seconds until the node is ready and pods after that. A failure's reason says which
// link is missing.
func (c *Client) Ready(ctx context.Context, o ReadyOptions, progress func(event.Progress)) error {
	p, base := newPoll(o.Stall, o.Limit), baseline{}
	tell := teller(progress)
	var asked time.Time
	up := false
	for {
		l := c.readyLook(ctx, o, up)
		if ctx.Err() != nil {
			return c.interrupted(ctx)
		}
		if l.link == linkDone {
			tell(podsProgress(l.all))
			return nil
		}
		up = up && l.err == nil || l.link > linkAPI
		p.advance(int(l.link)*1000 + l.score)
		tell(l.progress(p))
		if l.err != nil && o.Alive != nil && time.Since(asked) >= alivePause {
			if err := o.Alive(ctx); err != nil {
				return err
			}
			asked = time.Now()
		}
		if err := c.giveUp(ctx, p, l, o, base); err != nil {
			return err
		}
		if err := p.sleep(ctx); err != nil {
			return c.interrupted(ctx)
		}
	}
}

// readyLook goes along the links until one is missing.
func (c *Client) readyLook(ctx context.Context, o ReadyOptions, up bool) readyLook {
	var l readyLook
	if !up {
		cctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		if _, err := c.raw(cctx, "/readyz"); err != nil {
			l.err = c.explain(ctx, err, "say that it is ready", readyTimeout)
			return l
		}
	}
	l.link = linkNode
	if l.node, l.err = c.node(ctx, o.Node, o.Since); l.err != nil || l.node == nil || !l.node.Ready {
		if l.node != nil {
			l.score = 1
		}
		return l
	}
	l.link = linkAccount
	cctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := c.core.ServiceAccounts("default").Get(cctx, "default", meta.GetOptions{}); err != nil {
		if !apierrors.IsNotFound(err) {
			l.err = c.explain(ctx, err, "show its accounts", callTimeout)
		}
		return l
	}
	l.link = linkCore
	var v *view
	if v, l.err = c.look(ctx, systemNamespace, Deployment); l.err != nil {
		return l
	}
	l.views = map[string]*view{systemNamespace: v}
	l.all, l.score = judge(l.views, coreWorkloads(v), o.Since)
	for _, f := range l.all {
		if !f.OK {
			return l
		}
	}
	l.link = linkDone
	return l
}

// coreWorkloads are the workloads that a cluster must have or has of its own.
func coreWorkloads(v *view) []Workload {
	ws := []Workload{{Deployment, systemNamespace, dns}}
	for name := range v.deployments {
		if name != dns && name != metrics {
			ws = append(ws, Workload{Deployment, systemNamespace, name})
		}
	}
	return sorted(ws)
}

func (l readyLook) progress(p *poll) event.Progress {
	if l.link == linkCore && len(l.all) > 0 {
		return podsProgress(l.all)
	}
	what := map[link]string{linkAPI: "waiting for the cluster's API", linkNode: "waiting for the node", linkAccount: "waiting for the cluster's accounts", linkCore: "waiting for the cluster's own pods"}[l.link]
	return event.Progress{Unit: event.Seconds, Done: int64(time.Since(p.began).Seconds()), Total: int64(p.stall.Seconds()), What: what}
}

// giveUp is the failure when waiting longer makes no sense, or nil.
func (c *Client) giveUp(ctx context.Context, p *poll, l readyLook, o ReadyOptions, base baseline) error {
	limit, over := p.over()
	notReady := func(what string, evidence ...string) error {
		return c.fail(reason.New(reason.ClusterNotReady, "what", what, "node", o.Container), evidence...)
	}
	if l.err != nil {
		steady := p.steady("api " + string(reason.Of(l.err).ID))
		if over || (reason.Of(l.err).ID == reason.KubeOther && steady >= otherGrace) {
			if reason.Of(l.err).ID == reason.KubeOther {
				return l.err
			}
			return notReady(fmt.Sprintf("its API did not come up within %s", limit), reason.Of(l.err).Evidence...)
		}
		return nil
	}
	switch l.link {
	case linkNode:
		p.steady("node")
		switch {
		case !over:
			return nil
		case l.node == nil:
			return notReady("its node " + o.Node + " did not join within " + limit.String())
		}
		return notReady("its node is not ready", l.node.Why)
	case linkAccount:
		p.steady("account")
		if over {
			return notReady("it accepts no pods yet: the default account is missing after " + limit.String())
		}
		return nil
	}
	bad, v, _ := c.worst(ctx, l.views, l.all, base)
	if l.node.DiskPressure && v.class == stillStarting {
		v.class, v.after, v.evidence = diskFull, settle, []string{l.node.Why}
	}
	if steady := p.steady(bad.Name + v.key()); !over && (v.after == never || steady < v.after) {
		return nil
	}
	return &reason.Error{Reason: c.coreReason(ctx, bad, v, o, limit)}
}

// coreReason says why a part of the cluster itself does not start.
func (c *Client) coreReason(ctx context.Context, f found, v verdict, o ReadyOptions, limit time.Duration) reason.Reason {
	what := fmt.Sprintf("%s is still starting after %s", f.Name, limit)
	switch {
	case f.Missing:
		what = "it has no " + f.Name
	case v.class == crash, v.class == memory:
		what = f.Name + " starts and ends again"
	case v.class == unscheduled:
		what = f.Name + " does not fit on this machine"
	case v.class == volume:
		what = f.Name + " waits for its storage"
	case v.class != stillStarting:
		what = f.Name + " cannot start"
	}
	values := []string{"what", what, "node", o.Container, "image", v.image, "host", ""}
	if v.image != "" {
		values[len(values)-1] = registryHost(v.image)
	}
	return reason.New(v.class.coreReason(), values...).With(c.evidence(ctx, v)...)
}
