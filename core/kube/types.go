package kube

import (
	"context"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
)

// API is what a Client does, for those who need to replace it (see kubefake).
type API interface {
	// Ready waits until the cluster can take work.
	Ready(ctx context.Context, o ReadyOptions, progress func(event.Progress)) error
	// Snapshot says what the cluster looks like now, in one quick set of calls. What it says about the time
	// before since is not believed (see ReadyOptions.Since).
	Snapshot(ctx context.Context, node string, since time.Time) (Snapshot, error)
	// WaitWorkloads waits until the workloads are ready.
	WaitWorkloads(ctx context.Context, ws []Workload, o WaitOptions, progress func(event.Progress)) error
	// Retry starts failed pods of the workloads anew.
	Retry(ctx context.Context, ws []Workload) error
	// PodsSummary says how far the workloads are now, and why not further.
	PodsSummary(ctx context.Context, ws []Workload, o WaitOptions) ([]WorkloadStatus, error)
}

// ReadyOptions says what Ready waits for and how long.
type ReadyOptions struct {
	// Node is the name of the Kubernetes node that must be ready.
	Node string
	// Container is the name of the node's container, for remedies.
	Container string
	// Stall is how long nothing may advance; 0 means DefaultStall.
	Stall time.Duration
	// Limit is how long the whole wait may take, advancing or not; 0 means DefaultLimit.
	Limit time.Duration
	// Since is when the node's container was started, by the engine's clock. What the API says about the time
	// before is not believed: after a restart it shows the old state until the kubelet has looked. Zero: believe it.
	Since time.Time
	// Alive, if set, is asked now and then while the API does not answer; its error ends the wait at once. It
	// is how a node that has stopped is noticed early.
	Alive func(context.Context) error
}

// WaitOptions says how WaitWorkloads waits, and what it needs for its reasons.
type WaitOptions struct {
	// Stall is how long nothing may advance; 0 means DefaultStall.
	Stall time.Duration
	// Limit is how long the whole wait may take, advancing or not; 0 means DefaultLimit.
	Limit time.Duration
	// Since is when the node's container was started, by the engine's clock. What the API says about the time
	// before is not believed: after a restart it shows the old state until the kubelet has looked. Zero: believe it.
	Since time.Time
	// Context is the kubeconfig context, for remedies with kubectl.
	Context string
	// Alive, if set, is asked now and then while the API does not answer; its error ends the wait at once.
	Alive func(context.Context) error
	// DataDir is the data directory on the machine, named when a workload cannot write to it.
	DataDir string
}

// The limits of a wait.
const (
	// DefaultStall allows for one large image over a slow line: a pull inside the node shows no progress.
	DefaultStall = 5 * time.Minute
	DefaultLimit = 20 * time.Minute
)

// Kind is the kind of a workload.
type Kind string

// The kinds that are waited for.
const (
	Deployment  Kind = "Deployment"
	StatefulSet Kind = "StatefulSet"
	DaemonSet   Kind = "DaemonSet"
	Job         Kind = "Job"
)

// Workload names one thing that runs pods.
type Workload struct {
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (w Workload) String() string { return w.Name }

// WorkloadStatus is how far a workload is.
type WorkloadStatus struct {
	Workload
	// Missing is true when the cluster does not have it.
	Missing bool `json:"missing,omitempty"`
	// Ready and Total count pods. A Job counts those that completed.
	Ready int `json:"ready"`
	Total int `json:"total"`
	// Failed is true when pods of it have failed and wait to be tried again; never for a Job.
	Failed bool `json:"failed,omitempty"`
	// OK is true when it is as its latest specification asks; Ready == Total is not enough after a change.
	OK bool `json:"ok"`
	// Reason says why it is not, as far as it is known.
	Reason *reason.Reason `json:"reason,omitempty"`
}

// Snapshot is the state of the cluster at one moment.
type Snapshot struct {
	// Version is the version of the API server.
	Version facts.Fact[string] `json:"version"`
	// Node is the node that was asked for; absent when the cluster does not have it.
	Node facts.Fact[Node] `json:"node"`
	// Core are the workloads that the cluster itself needs.
	Core facts.Fact[[]WorkloadStatus] `json:"core"`
}

// Ready reports whether the node and all core workloads are known to be ready.
func (s Snapshot) Ready() bool {
	if !s.Node.Known() || !s.Node.Value.Ready || !s.Core.Known() || len(s.Core.Value) == 0 {
		return false
	}
	for _, w := range s.Core.Value {
		if !w.OK {
			return false
		}
	}
	return true
}

// Node is the state of a Kubernetes node.
type Node struct {
	Name  string `json:"name"`
	Ready bool   `json:"ready"`
	// Why is what the node says when it is not ready, or when it is short of something.
	Why string `json:"why,omitempty"`
	// DiskPressure is true when the node takes no new pods because its disk is nearly full.
	DiskPressure bool `json:"diskPressure,omitempty"`
	// Since is when it became ready or not ready.
	Since   time.Time `json:"since"`
	Kubelet string    `json:"kubelet"` // version
	// Allocatable is what pods can have: cpu in thousandths, memory and ephemeral-storage in bytes, everything
	// else (pods, nvidia.com/gpu, ...) as it is counted. A missing name is 0.
	Allocatable map[string]int64 `json:"allocatable"`
}
