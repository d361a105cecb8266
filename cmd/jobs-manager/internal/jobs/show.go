package jobs

import (
	"fmt"
	"time"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Phase is where a job is.
type Phase string

// The phases.
const (
	Pending   Phase = "pending"   // no pod of it runs yet
	Running   Phase = "running"   // a pod runs
	Succeeded Phase = "succeeded" // it ended well
	Failed    Phase = "failed"    // it ended, and not well
)

// Job is a job as it is shown.
type Job struct {
	Name    string `json:"name"`
	Phase   Phase  `json:"phase"`
	Image   string `json:"image"`
	GPU     int64  `json:"gpu,omitempty"`
	Created string `json:"created"` // all times are RFC 3339 in UTC
	Started string `json:"started,omitempty"`
	// Finished is when it succeeded or failed.
	Finished string `json:"finished,omitempty"`
	Counts   Counts `json:"counts"`
	// Why says what a pending job waits for, or why one failed.
	Why *Why `json:"why,omitempty"`
}

// Counts is how many of its pods are in which state.
type Counts struct {
	Active    int32 `json:"active"`
	Ready     int32 `json:"ready"`
	Succeeded int32 `json:"succeeded"`
	Failed    int32 `json:"failed"`
}

// Why is Kubernetes' own word and message.
type Why struct {
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Pod     string `json:"pod,omitempty"`
}

// show reads the state of a job. Pods may be nil when they are not known.
func show(j *batch.Job, pods []core.Pod) Job {
	out := Job{Name: j.Name, Phase: Pending, Created: stamp(&j.CreationTimestamp), Started: stamp(j.Status.StartTime), Finished: stamp(j.Status.CompletionTime),
		Counts: Counts{Active: j.Status.Active, Succeeded: j.Status.Succeeded, Failed: j.Status.Failed}}
	if j.Status.Ready != nil {
		out.Counts.Ready = *j.Status.Ready
	}
	for _, c := range j.Spec.Template.Spec.Containers {
		out.Image = c.Image
		for name, q := range c.Resources.Limits {
			if name != core.ResourceCPU && name != core.ResourceMemory {
				out.GPU += q.Value()
			}
		}
	}
	for _, c := range j.Status.Conditions {
		if c.Status != core.ConditionTrue {
			continue
		}
		switch c.Type {
		case batch.JobComplete:
			out.Phase = Succeeded
			return out
		case batch.JobFailed:
			out.Phase, out.Finished = Failed, stamp(&c.LastTransitionTime)
			out.Why = failure(pods)
			if out.Why == nil || c.Reason != "BackoffLimitExceeded" {
				out.Why = &Why{Reason: c.Reason, Message: c.Message}
			}
			return out
		}
	}
	for i := range pods {
		switch pods[i].Status.Phase {
		case core.PodRunning:
			out.Phase, out.Why = Running, nil
			return out
		case core.PodPending:
			out.Why = waiting(&pods[i])
		}
	}
	if len(pods) == 0 && out.Counts.Ready > 0 {
		out.Phase = Running
	}
	return out
}

// waiting says why a pod does not run: the state of a container is more specific than the pod's conditions.
func waiting(p *core.Pod) *Why {
	for _, list := range [][]core.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			if w := c.State.Waiting; w != nil && w.Reason != "" && (w.Reason != "ContainerCreating" || w.Message != "") {
				return &Why{Reason: w.Reason, Message: w.Message, Pod: p.Name}
			}
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Status == core.ConditionFalse && c.Type == core.PodScheduled {
			return &Why{Reason: c.Reason, Message: c.Message, Pod: p.Name}
		}
	}
	if len(p.Status.ContainerStatuses) > 0 {
		return &Why{Reason: "ContainerCreating", Pod: p.Name}
	}
	return nil
}

// failure says how the last failed pod ended.
func failure(pods []core.Pod) *Why {
	var last *Why
	var at time.Time
	for i := range pods {
		p := &pods[i]
		if p.Status.Phase != core.PodFailed || p.CreationTimestamp.Time.Before(at) {
			continue
		}
		at = p.CreationTimestamp.Time
		last = &Why{Reason: p.Status.Reason, Message: p.Status.Message, Pod: p.Name}
		for _, c := range p.Status.ContainerStatuses {
			if t := c.State.Terminated; t != nil {
				last.Reason, last.Message = t.Reason, fmt.Sprintf("the command ended with exit code %d", t.ExitCode)
				if t.Message != "" {
					last.Message += ": " + t.Message
				}
			}
		}
	}
	return last
}

func stamp(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
