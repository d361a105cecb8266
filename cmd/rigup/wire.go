package main

import (
	"context"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

// runner does what the commands ask for. The sink of a run gets everything up to the result event; the number
// returned is the exit code.
type runner interface {
	// Install brings the machine to what is asked; with plan set it only says what it would do.
	Install(ctx context.Context, sink event.Sink, plan bool) int
	Uninstall(ctx context.Context, sink event.Sink) int
	Status(ctx context.Context) (report.Status, error)
	// Kubeconfig returns the cluster's own kubeconfig. With merge set its context is also written to the user's.
	Kubeconfig(ctx context.Context, merge bool) (kubeconfigFile, error)
}

// kubeconfigFile is a kubeconfig and where it is.
type kubeconfigFile struct {
	Content []byte
	Path    string // the file that has the context: the cluster's own, or the user's after a merge
	Context string // the name of the context
}

// options are what a runner is made for.
type options struct {
	config.Config
	Ask report.Asker
}

// newRunner connects the parts that do the work. It is the only place that knows them, and it is called when a
// command needs them, so that the others start at once.
func newRunner(context.Context, options) (runner, error) {
	return nil, reason.Fail(reason.New(reason.Internal, "what", "a build without its parts"), nil)
}
