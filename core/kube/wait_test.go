package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// cluster is a simulated one that comes up step by step on the bubble's clock.
type cluster struct {
	t *testing.T
	c *Client
	f *fake.Clientset
	// api is what the API says to /readyz.
	api error
}

func newCluster(t *testing.T) *cluster {
	k := &cluster{t: t}
	k.c, k.f = simulated()
	k.c.raw = func(context.Context, string) ([]byte, error) { return []byte("ok"), k.api }
	return k
}

func (k *cluster) node(ready core.ConditionStatus, message string, heartbeat time.Time) {
	n := &core.Node{ObjectMeta: meta.ObjectMeta{Name: "node"}, Status: core.NodeStatus{Conditions: []core.NodeCondition{
		{Type: core.NodeReady, Status: ready, Reason: "KubeletNotReady", Message: message, LastHeartbeatTime: meta.NewTime(heartbeat)}}}}
	if err := k.f.Tracker().Add(n); err != nil {
		if err := k.f.Tracker().Update(core.SchemeGroupVersion.WithResource("nodes"), n, ""); err != nil {
			k.t.Error(err)
		}
	}
}

func (k *cluster) account() {
	if err := k.f.Tracker().Add(&core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: "default", Namespace: "default"}}); err != nil {
		k.t.Error(err)
	}
}

func (k *cluster) deploy(ns, name string, ready bool) {
	for gvr, o := range map[string]interface {
		meta.Object
	}{"deployments": deployment(ns, name, ready), "replicasets": set(ns, name, "1")} {
		var err error
		switch o := o.(type) {
		case *apps.Deployment:
			if err = k.f.Tracker().Add(o); err != nil {
				err = k.f.Tracker().Update(apps.SchemeGroupVersion.WithResource(gvr), o, ns)
			}
		case *apps.ReplicaSet:
			if err = k.f.Tracker().Add(o); err != nil {
				err = k.f.Tracker().Update(apps.SchemeGroupVersion.WithResource(gvr), o, ns)
			}
		}
		if err != nil {
			k.t.Error(err)
		}
	}
	k.pod(pod(ns, name, "1", ready))
}

func (k *cluster) pod(p *core.Pod) {
	if k.f.Tracker().Add(p) != nil {
		if err := k.f.Tracker().Update(core.SchemeGroupVersion.WithResource("pods"), p, p.Namespace); err != nil {
			k.t.Error(err)
		}
	}
}

// at runs steps at moments after now.
func at(after time.Duration, step func()) { time.AfterFunc(after, step) }

// TestReady_InOrder brings a cluster up link by link and holds that ready is noticed at once.
func TestReady_InOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		k.api = errors.New("connection refused")
		at(2*time.Second, func() { k.api = nil })
		at(3*time.Second, func() { k.node(core.ConditionFalse, "cni plugin not initialized", time.Now()) })
		at(4*time.Second, func() { k.node(core.ConditionTrue, "", time.Now()) })
		at(5*time.Second, func() { k.account() })
		at(6*time.Second, func() { k.deploy(systemNamespace, dns, false) })
		at(7*time.Second, func() { k.deploy(systemNamespace, "local-path-provisioner", false) })
		at(7*time.Second, func() { k.deploy(systemNamespace, metrics, false) })
		at(8*time.Second, func() { k.deploy(systemNamespace, dns, true) })
		at(9*time.Second, func() { k.deploy(systemNamespace, "local-path-provisioner", true) })
		began := time.Now()
		var seen []event.Progress
		if err := k.c.Ready(t.Context(), ReadyOptions{Node: "node"}, func(p event.Progress) { seen = append(seen, p) }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 9*time.Second || took > 9*time.Second+lastPoll {
			t.Errorf("took %s", took)
		}
		last := seen[len(seen)-1]
		if last.Unit != event.Pods || last.Done != 2 || last.Total != 2 {
			t.Errorf("last progress %+v", last)
		}
		for _, p := range seen {
			if p.Total == 0 {
				t.Errorf("progress out of nothing: %+v", p)
			}
		}
	})
}

// TestG4_WhichLinkIsMissing holds that the reason names the link, and what it says.
func TestG4_WhichLinkIsMissing(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(*cluster)
		id    reason.ID
		says  string
		after time.Duration
	}{
		{"the API", func(k *cluster) { k.api = errors.New("connection refused") }, reason.ClusterNotReady, "its API did not come up", time.Minute},
		{"the node", func(k *cluster) {}, reason.ClusterNotReady, "its node node did not join", time.Minute},
		{"the node is not ready", func(k *cluster) { k.node(core.ConditionFalse, "cni plugin not initialized", time.Now()) },
			reason.ClusterNotReady, "cni plugin not initialized", time.Minute},
		{"the account", func(k *cluster) { k.node(core.ConditionTrue, "", time.Now()) }, reason.ClusterNotReady, "default account", time.Minute},
		{"no DNS", func(k *cluster) { k.node(core.ConditionTrue, "", time.Now()); k.account() }, reason.ClusterNotReady, "it has no coredns", time.Minute},
		{"DNS is starting", func(k *cluster) {
			k.node(core.ConditionTrue, "", time.Now())
			k.account()
			k.deploy(systemNamespace, dns, false)
		}, reason.ClusterNotReady, "coredns is still starting", time.Minute},
		{"DNS has no image", func(k *cluster) {
			k.node(core.ConditionTrue, "", time.Now())
			k.account()
			k.deploy(systemNamespace, dns, false)
			p := pod(systemNamespace, dns, "1", false)
			p.Status.ContainerStatuses = []core.ContainerStatus{{Name: "coredns", Image: "registry.test/coredns:1", State: core.ContainerState{
				Waiting: &core.ContainerStateWaiting{Reason: "ErrImagePull", Message: "failed to do request: tls: failed to verify certificate: x509: certificate signed by unknown authority"}}}}
			k.pod(p)
		}, reason.ImageUntrusted, "registry.test", time.Minute},
		{"DNS may not be pulled", func(k *cluster) {
			k.node(core.ConditionTrue, "", time.Now())
			k.account()
			k.deploy(systemNamespace, dns, false)
			p := pod(systemNamespace, dns, "1", false)
			p.Status.ContainerStatuses = []core.ContainerStatus{{Name: "coredns", Image: "registry.test/coredns:1", State: core.ContainerState{
				Waiting: &core.ContainerStateWaiting{Reason: "ErrImageNeverPull", Message: "not present"}}}}
			k.pod(p)
		}, reason.ImagePull, "registry.test/coredns:1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newCluster(t)
				c.setup(k)
				began := time.Now()
				err := k.c.Ready(t.Context(), ReadyOptions{Node: "node", Container: "rigup-demo", Stall: time.Minute}, nil)
				r := wantReason(t, err, c.id)
				if all := r.Text + strings.Join(r.Evidence, " "); !strings.Contains(all, c.says) {
					t.Errorf("%q does not say %q", all, c.says)
				}
				if took := time.Since(began); took < c.after || took > c.after+time.Second {
					t.Errorf("after %s, want %s", took, c.after)
				}
			})
		})
	}
}

// TestReady_NotWhatWasBefore holds that after a restart the old state is not believed.
func TestReady_NotWhatWasBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		started := time.Now().Add(time.Hour)
		k.node(core.ConditionTrue, "", time.Now())
		k.account()
		k.deploy(systemNamespace, dns, true)
		old := pod(systemNamespace, dns, "1", true)
		old.Status.ContainerStatuses = []core.ContainerStatus{{Name: "coredns", State: core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: meta.Now()}}}}
		k.pod(old)
		time.Sleep(time.Hour)
		at(3*time.Second, func() { k.node(core.ConditionTrue, "", time.Now()) })
		at(5*time.Second, func() {
			p := old.DeepCopy()
			p.Status.ContainerStatuses[0].State.Running.StartedAt = meta.Now()
			k.pod(p)
		})
		if err := k.c.Ready(t.Context(), ReadyOptions{Node: "node", Since: started}, nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(started); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("took %s", took)
		}
		if s, err := k.c.Snapshot(t.Context(), "node", started); err != nil || !s.Ready() {
			t.Errorf("%+v %v", s, err)
		}
		if s, _ := k.c.Snapshot(t.Context(), "node", started.Add(time.Hour)); s.Ready() {
			t.Error("an old state was believed")
		}
	})
}

// TestReady_SlowIsNotStuck holds that a wait goes on while anything advances, and ends at the limit all the same.
func TestReady_SlowIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		k.node(core.ConditionTrue, "", time.Now())
		k.account()
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			at(time.Duration(i+1)*50*time.Second, func() { k.deploy(systemNamespace, name, true) })
		}
		began := time.Now()
		err := k.c.Ready(t.Context(), ReadyOptions{Node: "node", Stall: time.Minute, Limit: 20 * time.Minute}, nil)
		wantReason(t, err, reason.ClusterNotReady)
		if took := time.Since(began); took < 310*time.Second || took > 312*time.Second {
			t.Errorf("took %s", took)
		}
		began = time.Now()
		_ = k.c.Ready(t.Context(), ReadyOptions{Node: "node", Stall: time.Hour, Limit: 2 * time.Minute}, nil)
		if took := time.Since(began); took < 2*time.Minute || took > 2*time.Minute+time.Second {
			t.Errorf("the limit ended it after %s", took)
		}
	})
}

// TestC9_StopsAtOnce holds that a wait ends with its context, and when the node is gone.
func TestC9_StopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		k.api = errors.New("connection refused")
		ctx, cancel := context.WithCancel(t.Context())
		at(time.Second, cancel)
		began := time.Now()
		if err := k.c.Ready(ctx, ReadyOptions{Node: "node"}, nil); !errors.Is(err, context.Canceled) || time.Since(began) != time.Second {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		gone := reason.Fail(reason.New(reason.ClusterCrashed, "cluster", "demo", "node", "n"), nil)
		n := 0
		err := k.c.Ready(t.Context(), ReadyOptions{Node: "node", Alive: func(context.Context) error {
			if n++; n > 3 {
				return gone
			}
			return nil
		}}, nil)
		if !errors.Is(err, gone) {
			t.Error(err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		at(time.Second, cancel)
		if err := k.c.WaitWorkloads(ctx, []Workload{{Deployment, "demo", "app"}}, WaitOptions{}, nil); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestWait_NewestOnly holds that an upgrade is judged by the pods of the latest specification.
func TestWait_NewestOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		k.deploy("demo", "app", true) // the old one is ready
		d := deployment("demo", "app", true)
		d.Generation = 2 // a new specification that the controller has not seen
		update := func(d *apps.Deployment) {
			if err := k.f.Tracker().Update(apps.SchemeGroupVersion.WithResource("deployments"), d, "demo"); err != nil {
				t.Error(err)
			}
		}
		update(d.DeepCopy())
		at(time.Second, func() {
			d.Status.ObservedGeneration, d.Status.UpdatedReplicas, d.Status.Replicas = 2, 1, 2
			update(d.DeepCopy())
			if err := k.f.Tracker().Add(set("demo", "app", "2")); err != nil {
				t.Error(err)
			}
			k.pod(pod("demo", "app", "2", false))
		})
		at(4*time.Second, func() {
			d.Status.Replicas = 1
			update(d.DeepCopy())
			k.pod(pod("demo", "app", "2", true))
		})
		began := time.Now()
		var last event.Progress
		if err := k.c.WaitWorkloads(t.Context(), []Workload{{Deployment, "demo", "app"}}, WaitOptions{}, func(p event.Progress) { last = p }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 4*time.Second || took > 5*time.Second {
			t.Errorf("took %s", took)
		}
		if last != (event.Progress{Unit: event.Pods, Done: 1, Total: 1}) {
			t.Errorf("%+v", last)
		}
	})
}

// TestG4_StartedIsNotReady holds that a container without a probe that ends right away is not called ready.
func TestG4_StartedIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		state := func(ready bool, s core.ContainerStatus) {
			k.deploy("demo", "app", ready)
			p := pod("demo", "app", "1", ready)
			p.Spec.Containers = []core.Container{{Name: "app"}}
			s.Name = "app"
			p.Status.ContainerStatuses = []core.ContainerStatus{s}
			k.pod(p)
		}
		state(true, core.ContainerStatus{})
		ended := &core.ContainerStateTerminated{ExitCode: 1}
		for n := range int32(5) {
			at(time.Duration(n)*20*time.Second+time.Second, func() {
				state(false, core.ContainerStatus{RestartCount: n, State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
					LastTerminationState: core.ContainerState{Terminated: ended}})
			})
			at(time.Duration(n)*20*time.Second+20*time.Second, func() { state(true, core.ContainerStatus{RestartCount: n + 1}) })
		}
		err := k.c.WaitWorkloads(t.Context(), []Workload{{Deployment, "demo", "app"}}, WaitOptions{}, nil)
		wantReason(t, err, reason.WorkloadCrash)
	})
}

// TestWait_AJobMayTryAgain holds that a failed pod of a job is no failure until the job gives up.
func TestWait_AJobMayTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		j := &batch.Job{ObjectMeta: meta.ObjectMeta{Name: "x", Namespace: "demo", UID: "x"}, Status: batch.JobStatus{Failed: 1}}
		p := &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "x-1", Namespace: "demo", UID: "p", OwnerReferences: []meta.OwnerReference{{UID: "x"}}},
			Spec: core.PodSpec{RestartPolicy: core.RestartPolicyNever}, Status: core.PodStatus{Phase: core.PodFailed, ContainerStatuses: []core.ContainerStatus{
				{Name: "app", State: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 4}}}}}}
		if err := errors.Join(k.f.Tracker().Add(j), k.f.Tracker().Add(p)); err != nil {
			t.Fatal(err)
		}
		at(50*time.Second, func() {
			j := j.DeepCopy()
			j.Status.Conditions = []batch.JobCondition{{Type: batch.JobFailed, Status: core.ConditionTrue, Reason: "BackoffLimitExceeded"}}
			if err := k.f.Tracker().Update(batch.SchemeGroupVersion.WithResource("jobs"), j, "demo"); err != nil {
				t.Error(err)
			}
		})
		began := time.Now()
		r := wantReason(t, k.c.WaitWorkloads(t.Context(), []Workload{{Job, "demo", "x"}}, WaitOptions{Context: "c"}, nil), reason.WorkloadCrash)
		if took := time.Since(began); took < 50*time.Second || took > 51*time.Second {
			t.Errorf("after %s", took)
		}
		if len(r.Remedy) != 1 || !strings.HasSuffix(r.Remedy[0], "logs x-1 -c app shows why") {
			t.Errorf("%q", r.Remedy)
		}
	})
}

// TestG4_OldPodsAreNotBlamed holds that a crash of the version before is not taken for one of the new version.
func TestG4_OldPodsAreNotBlamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newCluster(t)
		k.deploy("demo", "app", false)
		old := pod("demo", "app", "1", false)
		old.Status.ContainerStatuses = []core.ContainerStatus{{Name: "app", RestartCount: 9, State: core.ContainerState{
			Waiting: &core.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off 5m0s restarting failed container=app"}},
			LastTerminationState: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: 1}}}}
		k.pod(old)
		if err := k.f.Tracker().Add(set("demo", "app", "2")); err != nil {
			t.Fatal(err)
		}
		k.pod(pod("demo", "app", "2", false))
		err := k.c.WaitWorkloads(t.Context(), []Workload{{Deployment, "demo", "app"}}, WaitOptions{Stall: time.Minute}, nil)
		wantReason(t, err, reason.WorkloadStarting)
	})
}

// TestWait_FailsFast holds the time after which a hopeless wait ends: at once, or when it lasts.
func TestWait_FailsFast(t *testing.T) {
	waiting := func(why, message string) func(*cluster) {
		return func(k *cluster) {
			k.deploy("demo", "app", false)
			p := pod("demo", "app", "1", false)
			p.Spec.Containers = []core.Container{{Name: "app", Image: "registry.test/app:1"}}
			p.Status.ContainerStatuses = []core.ContainerStatus{{Name: "app", State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: why, Message: message}}}}
			k.pod(p)
		}
	}
	for _, c := range []struct {
		name  string
		setup func(*cluster)
		id    reason.ID
		after time.Duration
	}{
		{"never pulled", waiting("ErrImageNeverPull", "not present"), reason.WorkloadImage, 0},
		{"a missing secret", waiting("CreateContainerConfigError", `secret "x" not found`), reason.WorkloadConfig, settle},
		{"no network", waiting("ErrImagePull", "dial tcp: i/o timeout"), reason.WorkloadNetwork, 2 * time.Minute},
		{"not there", func(*cluster) {}, reason.WorkloadStarting, 2 * time.Minute},
		{"pods are not accepted", func(k *cluster) {
			k.deploy("demo", "app", false)
			_ = k.f.Tracker().Delete(core.SchemeGroupVersion.WithResource("pods"), "demo", "app-1-x")
			if err := k.f.Tracker().Add(&core.Event{ObjectMeta: meta.ObjectMeta{Name: "e", Namespace: "demo"}, Reason: "FailedCreate",
				InvolvedObject: core.ObjectReference{UID: uid("set", "app1")}, Message: `pods "app-" is forbidden: violates PodSecurity "restricted:latest"`}); err != nil {
				k.t.Error(err)
			}
		}, reason.WorkloadNotCreated, settle},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newCluster(t)
				c.setup(k)
				began := time.Now()
				err := k.c.WaitWorkloads(t.Context(), []Workload{{Deployment, "demo", "app"}}, WaitOptions{Stall: 2 * time.Minute}, nil)
				wantReason(t, err, c.id)
				if took := time.Since(began); took < c.after || took > c.after+time.Second {
					t.Errorf("after %s, want %s", took, c.after)
				}
			})
		})
	}
}

// TestWait_Kinds holds when each kind counts as ready.
func TestWait_Kinds(t *testing.T) {
	o := meta.ObjectMeta{Name: "x", Namespace: "demo", UID: "x", Generation: 2}
	ready := core.PodStatus{Conditions: []core.PodCondition{{Type: core.PodReady, Status: core.ConditionTrue}}}
	owned := func(labels map[string]string) *core.Pod {
		return &core.Pod{ObjectMeta: meta.ObjectMeta{Name: "x-0", Namespace: "demo", UID: "p", Labels: labels, OwnerReferences: []meta.OwnerReference{{UID: "x"}}}, Status: ready}
	}
	done := []batch.JobCondition{{Type: batch.JobComplete, Status: core.ConditionTrue}}
	failed := []batch.JobCondition{{Type: batch.JobFailed, Status: core.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "Job has reached the specified backoff limit"}}
	for _, c := range []struct {
		name string
		kind Kind
		add  []any
		ok   bool
	}{
		{"a stateful set", StatefulSet, []any{&apps.StatefulSet{ObjectMeta: o, Status: apps.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 1, UpdateRevision: "r2"}},
			owned(map[string]string{"controller-revision-hash": "r2"})}, true},
		{"its pod is of the version before", StatefulSet, []any{&apps.StatefulSet{ObjectMeta: o, Status: apps.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 1, AvailableReplicas: 1, UpdateRevision: "r2"}},
			owned(map[string]string{"controller-revision-hash": "r1"})}, false},
		{"not seen yet", StatefulSet, []any{&apps.StatefulSet{ObjectMeta: o, Status: apps.StatefulSetStatus{ObservedGeneration: 1, UpdatedReplicas: 1, AvailableReplicas: 1}}, owned(nil)}, false},
		{"a daemon set", DaemonSet, []any{&apps.DaemonSet{ObjectMeta: o, Status: apps.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 1, UpdatedNumberScheduled: 1, NumberAvailable: 1}}, owned(nil)}, true},
		{"a daemon set that was never seen", DaemonSet, []any{&apps.DaemonSet{ObjectMeta: o}}, false},
		{"a daemon set for no node", DaemonSet, []any{&apps.DaemonSet{ObjectMeta: o, Status: apps.DaemonSetStatus{ObservedGeneration: 2}}}, true},
		{"a job that is done", Job, []any{&batch.Job{ObjectMeta: o, Status: batch.JobStatus{Succeeded: 1, Conditions: done}}}, true},
		{"a job that runs", Job, []any{&batch.Job{ObjectMeta: o, Status: batch.JobStatus{Active: 1}}, owned(nil)}, false},
		{"a job that failed", Job, []any{&batch.Job{ObjectMeta: o, Status: batch.JobStatus{Failed: 7, Conditions: failed}}}, false},
		{"a deployment of none", Deployment, []any{&apps.Deployment{ObjectMeta: o, Spec: apps.DeploymentSpec{Replicas: ptr(int32(0))}, Status: apps.DeploymentStatus{ObservedGeneration: 2}}}, true},
		{"none of that name", Deployment, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCluster(t)
			for _, x := range c.add {
				var err error
				switch x := x.(type) {
				case *apps.StatefulSet:
					err = k.f.Tracker().Add(x)
				case *apps.DaemonSet:
					err = k.f.Tracker().Add(x)
				case *apps.Deployment:
					err = k.f.Tracker().Add(x)
				case *batch.Job:
					err = k.f.Tracker().Add(x)
				case *core.Pod:
					err = k.f.Tracker().Add(x)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			got, err := k.c.PodsSummary(t.Context(), []Workload{{c.kind, "demo", "x"}}, WaitOptions{})
			if err != nil || len(got) != 1 || got[0].OK != c.ok {
				t.Fatalf("%+v %v", got, err)
			}
			if got[0].OK != (got[0].Reason == nil && !got[0].Missing) {
				t.Errorf("the reason does not fit: %+v", got[0])
			}
			if c.name == "a job that failed" && (got[0].Reason.ID != reason.WorkloadCrash || !strings.Contains(got[0].Reason.Evidence[0], "BackoffLimitExceeded")) {
				t.Errorf("%+v", got[0].Reason)
			}
		})
	}
}
