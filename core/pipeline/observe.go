package pipeline

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/state"
	"rigup.dev/rigup/core/units"
)

// observe finds out what is there: the machine, the engine, what rigup remembers, and the cluster. What
// cannot be read is unknown, never absent.
func observe(ctx context.Context, r *run) (step, error) {
	if err := r.surroundings(ctx); err != nil {
		return step{}, err
	}
	return r.observed(ctx)
}

// observeCluster is observe for what is done to a cluster alone: the machine's GPUs and the hooks do not matter, and
// must not keep it from being done.
func observeCluster(ctx context.Context, r *run) (step, error) {
	if err := r.connect(ctx); err != nil {
		return step{}, err
	}
	return r.observed(ctx)
}

// observed goes on with what rigup remembers, and the cluster.
func (r *run) observed(ctx context.Context) (step, error) {
	if err := r.recall(); err != nil {
		return step{}, err
	}
	if err := r.look(ctx); err != nil {
		return step{}, err
	}
	if present(r.node) && !r.cfg.dataGiven && r.node.Settings.DataDir != "" {
		r.cfg.DataDir = r.node.Settings.DataDir
	}
	r.announce(r.command)
	return found(done(r.summary()))
}

// surroundings observes the machine and the engine, with what the hooks look for.
func (r *run) surroundings(ctx context.Context) (err error) {
	if r.hooks, r.hookNotes, err = r.deps.Hooks(); err != nil {
		return err
	}
	if err = r.sideBySide(ctx); err == nil {
		r.facts = r.machine.Facts(r.info, r.engine.Endpoint())
	}
	return err
}

// sideBySide observes the machine and the engine at the same time. The error is the engine's.
func (r *run) sideBySide(ctx context.Context) error {
	var reading sync.WaitGroup
	reading.Go(func() { r.machine = r.deps.Facts.Machine(ctx, decision.DeviceGlobs(r.hooks)) })
	defer reading.Wait()
	return r.connect(ctx)
}

// connect finds the engine and asks it about itself.
func (r *run) connect(ctx context.Context) error {
	e, err := r.deps.Engine(ctx, r.cfg.Engine.Value)
	if err != nil {
		return err
	}
	r.engine = e
	r.clusters = &cluster.Manager{Engine: e, Host: r.deps.Host}
	r.info, err = e.Info(ctx)
	return err
}

// recall reads the state file. A run that changes things keeps a damaged one aside; one that only looks
// leaves it where it is.
func (r *run) recall() error {
	if r.log.Path == "" {
		st, err := r.store.Peek()
		if err != nil && !state.Damaged(err) {
			return err
		}
		r.adopt(st)
		return nil
	}
	st, damaged, err := r.store.Read()
	if err != nil {
		return err
	}
	if damaged != nil {
		r.warn(*damaged)
	}
	r.adopt(st)
	return nil
}

// look observes the cluster on the engine.
func (r *run) look(ctx context.Context) (err error) {
	r.node, err = r.clusters.Observe(ctx, r.cfg.Cluster)
	return err
}

// inMachine reports whether the engine runs on this machine's own kernel and file system, not in a virtual
// machine that a desktop program keeps.
func (r *run) inMachine() bool {
	return r.machine.OS == "linux" && !strings.Contains(r.info.Distro, "Desktop")
}

// summary describes the machine in one line.
func (r *run) summary() string {
	parts := []string{}
	parts = append(parts, decision.Names(r.facts)...)
	parts = append(parts, fmt.Sprintf("%d CPUs", r.info.CPUs), units.Size(r.info.Memory)+" memory")
	return strings.Join(parts, ", ")
}

// describe names the engine and its system; "" before they were observed.
func (r *run) describe() string {
	if r.info.ServerVersion == "" {
		return ""
	}
	return fmt.Sprintf("Docker %s on %s", r.info.ServerVersion, r.info.Distro)
}

// engineDisk is the file system of the engine's images, where it can be seen from here.
func (r *run) engineDisk(ctx context.Context) facts.Place {
	if !r.inMachine() || r.info.RootDir == "" {
		return facts.Place{}
	}
	return r.deps.Facts.Place(ctx, r.info.RootDir)
}
