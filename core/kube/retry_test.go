package kube

import (
	"testing"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// C9: a run that comes after the cause was mended does not wait for the end of an old back-off, and touches no
// pod that is well or on its way.
func TestC9_RetryStartsFailedPodsAgain(t *testing.T) {
	waiting := func(reason string) core.ContainerStatus {
		return core.ContainerStatus{Name: "c", State: core.ContainerState{Waiting: &core.ContainerStateWaiting{Reason: reason}}}
	}
	ended := func(code int32) core.ContainerStatus {
		return core.ContainerStatus{Name: "c", State: core.ContainerState{Terminated: &core.ContainerStateTerminated{ExitCode: code}}}
	}
	for name, c := range map[string]struct {
		status core.PodStatus
		gone   bool
	}{
		"running":              {core.PodStatus{Phase: core.PodRunning, ContainerStatuses: []core.ContainerStatus{{State: core.ContainerState{Running: &core.ContainerStateRunning{}}}}}, false},
		"not scheduled":        {core.PodStatus{Phase: core.PodPending}, false},
		"creating":             {core.PodStatus{ContainerStatuses: []core.ContainerStatus{waiting("ContainerCreating")}}, false},
		"init container done":  {core.PodStatus{InitContainerStatuses: []core.ContainerStatus{ended(0)}, ContainerStatuses: []core.ContainerStatus{waiting("PodInitializing")}}, false},
		"init container fails": {core.PodStatus{InitContainerStatuses: []core.ContainerStatus{ended(1)}, ContainerStatuses: []core.ContainerStatus{waiting("PodInitializing")}}, true},
		"crash loop":           {core.PodStatus{ContainerStatuses: []core.ContainerStatus{waiting("CrashLoopBackOff")}}, true},
		"image":                {core.PodStatus{ContainerStatuses: []core.ContainerStatus{waiting("ImagePullBackOff")}}, true},
		"evicted":              {core.PodStatus{Phase: core.PodFailed, Reason: "Evicted"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newCluster(t)
			k.deploy("demo", "web", false)
			p := pod("demo", "web", "1", false)
			p.Status = c.status
			k.pod(p)
			if err := k.c.Retry(t.Context(), []Workload{{Deployment, "demo", "web"}}); err != nil {
				t.Fatal(err)
			}
			_, err := k.f.CoreV1().Pods("demo").Get(t.Context(), p.Name, meta.GetOptions{})
			if (err != nil) != c.gone {
				t.Errorf("gone: %v, want %v", err != nil, c.gone)
			}
		})
	}
}
