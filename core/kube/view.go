package kube

import (
	"context"
	"strconv"
	"time"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// view is what one namespace looked like at one moment.
type view struct {
	ns          string
	deployments map[string]apps.Deployment
	sets        []apps.ReplicaSet
	stateful    map[string]apps.StatefulSet
	daemons     map[string]apps.DaemonSet
	jobs        map[string]batch.Job
	pods        []core.Pod
	events      []core.Event // only after loadEvents
}

// look reads what the kinds of workload need to be judged.
func (c *Client) look(ctx context.Context, ns string, kinds ...Kind) (*view, error) {
	v := &view{ns: ns, deployments: map[string]apps.Deployment{}, stateful: map[string]apps.StatefulSet{},
		daemons: map[string]apps.DaemonSet{}, jobs: map[string]batch.Job{}}
	read := func(what string, f func(context.Context) error) error {
		cctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		return c.explain(ctx, f(cctx), "list its "+what, callTimeout)
	}
	var none meta.ListOptions
	for _, k := range kinds {
		var err error
		switch k {
		case Deployment:
			err = read("deployments", func(ctx context.Context) error {
				l, err := c.apps.Deployments(ns).List(ctx, none)
				return index(v.deployments, l, err, func(l *apps.DeploymentList) []apps.Deployment { return l.Items },
					func(d apps.Deployment) string { return d.Name })
			})
			if err == nil {
				err = read("replica sets", func(ctx context.Context) error {
					l, err := c.apps.ReplicaSets(ns).List(ctx, none)
					if err == nil {
						v.sets = l.Items
					}
					return err
				})
			}
		case StatefulSet:
			err = read("stateful sets", func(ctx context.Context) error {
				l, err := c.apps.StatefulSets(ns).List(ctx, none)
				return index(v.stateful, l, err, func(l *apps.StatefulSetList) []apps.StatefulSet { return l.Items },
					func(s apps.StatefulSet) string { return s.Name })
			})
		case DaemonSet:
			err = read("daemon sets", func(ctx context.Context) error {
				l, err := c.apps.DaemonSets(ns).List(ctx, none)
				return index(v.daemons, l, err, func(l *apps.DaemonSetList) []apps.DaemonSet { return l.Items },
					func(s apps.DaemonSet) string { return s.Name })
			})
		case Job:
			err = read("jobs", func(ctx context.Context) error {
				l, err := c.batch.Jobs(ns).List(ctx, none)
				return index(v.jobs, l, err, func(l *batch.JobList) []batch.Job { return l.Items },
					func(j batch.Job) string { return j.Name })
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return v, read("pods", func(ctx context.Context) error {
		l, err := c.core.Pods(ns).List(ctx, none)
		if err == nil {
			v.pods = l.Items
		}
		return err
	})
}

func index[L, T any](to map[string]T, list L, err error, items func(L) []T, name func(T) string) error {
	if err != nil {
		return err
	}
	for _, x := range items(list) {
		to[name(x)] = x
	}
	return nil
}

// loadEvents reads the namespace's events; they explain what the status of pods does not say.
func (v *view) loadEvents(ctx context.Context, c *Client) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	l, err := c.core.Events(v.ns).List(ctx, meta.ListOptions{Limit: 1000})
	if err != nil {
		return err
	}
	v.events = l.Items
	return nil
}

// found is a workload with its newest pods: those that its latest specification made.
type found struct {
	WorkloadStatus
	uid    types.UID
	setUID types.UID // Deployment: the newest replica set
	pods   []core.Pod
	failed string // Job: why it gave up
}

// find judges one workload. Pods whose containers ran before since are not counted as ready: after a restart of
// the node the API shows what was true before, until the kubelet has looked.
func (v *view) find(w Workload, since time.Time) found {
	f := found{WorkloadStatus: WorkloadStatus{Workload: w}}
	settled := false
	switch w.Kind {
	case Deployment:
		d, ok := v.deployments[w.Name]
		if !ok {
			f.Missing = true
			return f
		}
		f.uid, f.Total = d.UID, replicas(d.Spec.Replicas)
		set := v.newest(d.UID)
		f.setUID = set
		f.pods = v.owned(set)
		s := d.Status
		settled = s.ObservedGeneration >= d.Generation && int(s.UpdatedReplicas) >= f.Total &&
			s.Replicas <= s.UpdatedReplicas && int(s.AvailableReplicas) >= f.Total
	case StatefulSet:
		d, ok := v.stateful[w.Name]
		if !ok {
			f.Missing = true
			return f
		}
		f.uid, f.Total = d.UID, replicas(d.Spec.Replicas)
		for _, p := range v.owned(d.UID) {
			if rev := p.Labels[apps.StatefulSetRevisionLabel]; d.Status.UpdateRevision == "" || rev == d.Status.UpdateRevision {
				f.pods = append(f.pods, p)
			}
		}
		s := d.Status
		settled = s.ObservedGeneration >= d.Generation && int(s.UpdatedReplicas) >= f.Total && int(s.AvailableReplicas) >= f.Total
		if d.Spec.UpdateStrategy.Type == apps.OnDeleteStatefulSetStrategyType {
			f.pods = v.owned(d.UID)
			settled = s.ObservedGeneration >= d.Generation && int(s.AvailableReplicas) >= f.Total
		}
	case DaemonSet:
		d, ok := v.daemons[w.Name]
		if !ok {
			f.Missing = true
			return f
		}
		s := d.Status
		f.uid, f.Total, f.pods = d.UID, int(s.DesiredNumberScheduled), v.owned(d.UID)
		settled = s.ObservedGeneration >= d.Generation && int(s.NumberAvailable) >= f.Total &&
			(int(s.UpdatedNumberScheduled) >= f.Total || d.Spec.UpdateStrategy.Type == apps.OnDeleteDaemonSetStrategyType)
	case Job:
		return v.findJob(f)
	}
	for _, p := range f.pods {
		if p.DeletionTimestamp == nil && podReady(p) && fresh(p, since) {
			f.Ready++
		}
	}
	f.Ready = min(f.Ready, f.Total)
	f.OK = settled && f.Ready >= f.Total
	return f
}

func (v *view) findJob(f found) found {
	j, ok := v.jobs[f.Name]
	if !ok {
		f.Missing = true
		return f
	}
	f.uid, f.Total, f.Ready, f.pods = j.UID, 1, int(j.Status.Succeeded), v.owned(j.UID)
	if j.Spec.Completions != nil {
		f.Total = int(*j.Spec.Completions)
	}
	for _, c := range j.Status.Conditions {
		if c.Status != core.ConditionTrue {
			continue
		}
		switch c.Type {
		case batch.JobComplete:
			f.OK, f.Ready = true, f.Total
		case batch.JobFailed:
			f.failed = c.Reason + ": " + c.Message
		}
	}
	return f
}

func replicas(n *int32) int {
	if n == nil {
		return 1 // the API's default
	}
	return int(*n)
}

// newest is the replica set that a deployment's latest specification made.
func (v *view) newest(deployment types.UID) types.UID {
	best, uid := -1, types.UID("")
	for _, s := range v.sets {
		if !ownedBy(s.OwnerReferences, deployment) {
			continue
		}
		// A set without a readable revision is the very first.
		rev, _ := strconv.Atoi(s.Annotations["deployment.kubernetes.io/revision"])
		if rev > best {
			best, uid = rev, s.UID
		}
	}
	return uid
}

func (v *view) owned(owner types.UID) []core.Pod {
	var pods []core.Pod
	for _, p := range v.pods {
		if owner != "" && ownedBy(p.OwnerReferences, owner) {
			pods = append(pods, p)
		}
	}
	return pods
}

func ownedBy(refs []meta.OwnerReference, uid types.UID) bool {
	for _, r := range refs {
		if r.UID == uid {
			return true
		}
	}
	return false
}

func podReady(p core.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == core.PodReady {
			return c.Status == core.ConditionTrue
		}
	}
	return false
}

// fresh reports whether no container of a pod claims to run since before a moment. The API counts in seconds.
func fresh(p core.Pod, since time.Time) bool {
	since = since.Truncate(time.Second)
	for _, s := range p.Status.ContainerStatuses {
		if s.State.Running != nil && s.State.Running.StartedAt.Time.Before(since) {
			return false
		}
	}
	return true
}

// score grows with everything that advances towards ready and with nothing else, so that a wait can tell slow
// from stuck.
func score(p core.Pod) int {
	n := 1
	if p.Spec.NodeName != "" {
		n++
	}
	for _, s := range p.Status.InitContainerStatuses {
		if s.ImageID != "" {
			n++
		}
		if s.Ready || (s.State.Terminated != nil && s.State.Terminated.ExitCode == 0) {
			n++
		}
	}
	for _, s := range p.Status.ContainerStatuses {
		if s.ImageID != "" {
			n++
		}
		if s.State.Running != nil {
			n++
		}
	}
	if podReady(p) {
		n += 2
	}
	return n
}

// refs make a reason's values of a workload and one of its pods.
func (f found) refs(o WaitOptions, pod *core.Pod) []string {
	values := []string{"workload", f.Name, "namespace", f.Namespace, "context", o.Context, "path", o.DataDir, "pod", ""}
	if pod != nil {
		values[len(values)-1] = pod.Name
	}
	return values
}
