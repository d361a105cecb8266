// Package pipeline is the fixed sequence that brings a machine to a cluster with a workload on it, and the
// other things done to a cluster: uninstall and status. What it touches of the world comes through Deps.
package pipeline

import (
	"context"
	"io/fs"
	"time"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/lock"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/probe"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/report"
)

// Deps is the world as the pipeline sees it. Each part can be replaced by a fake.
type Deps struct {
	Version string
	Files   fs.FS // what the program carries
	Pins    pins.Pins
	Now     func() time.Time
	Env     func(string) string
	// UserHome is the home directory of the user, for kubeconfig and the places a data directory may be.
	UserHome string
	// Owner is who this process is; its time and command are filled in by the pipeline.
	Owner lock.Owner

	Facts Facts
	// Hooks are those that may run, and what their owner should know about others.
	Hooks func() ([]decision.Hook, []reason.Reason, error)
	// Runner runs them; it is closed with the run. Prober checks for them what they ask for, and may pull images for
	// that only where a run changes things anyway.
	Runner hookhost.Runner
	Prober func(e Engine, pull bool) decision.Prober

	Engine      func(ctx context.Context, host string) (Engine, error)
	Host        cluster.Host
	Credentials func(ctx context.Context, registry string) (engine.Credentials, error)
	Kube        func(kubeconfig []byte) (kube.API, error)
	Release     func(release.Options) (Release, error)
	Registry    release.RegistryOptions
	Ask         report.Asker
}

// Facts observes the machine.
type Facts interface {
	// Machine observes it. The globs are device nodes that hooks look for.
	Machine(ctx context.Context, globs []string) facts.Machine
	Place(ctx context.Context, dir string) facts.Place
}

// Engine is a Docker engine that answered.
type Engine interface {
	cluster.Engine
	nodeimage.Engine
	probe.Engine
	Info(ctx context.Context) (engine.Info, error)
	Endpoint() engine.Endpoint
	Close() error
}

// Release is one Helm release in a cluster.
type Release interface {
	Status(ctx context.Context) (release.Status, error)
	Plan(ctx context.Context, chart *release.Chart, values map[string]any) (*release.Plan, error)
	Apply(ctx context.Context, p *release.Plan, limit time.Duration) (release.Status, error)
}
