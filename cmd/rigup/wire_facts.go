package main

import (
	"context"
	"sync"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/pipeline"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

// Facts observes the machine and the engine side by side. An engine that does not answer is no error: then the facts
// say why nothing is known of it.
func (r real) Facts(ctx context.Context) (sdk.Machine, error) {
	m := sdk.Machine{API: sdk.MachineAPI, Notes: "Written by rigup " + r.deps.Version + "."}
	hooks, _, err := r.deps.Hooks()
	if err != nil {
		m.Notes += " The folder of hooks could not be read: device nodes that only they look for are missing."
	}
	var (
		seen      facts.Machine
		e         pipeline.Engine
		about     engine.Info
		reading   sync.WaitGroup
		engineErr error
	)
	reading.Go(func() { seen = r.deps.Facts.Machine(ctx, decision.DeviceGlobs(hooks)) })
	if e, engineErr = r.deps.Engine(ctx, r.cfg.Engine.Value); engineErr == nil {
		defer e.Close()
		about, engineErr = e.Info(ctx)
	}
	reading.Wait()
	switch {
	case ctx.Err() != nil:
		return m, ctx.Err()
	case engineErr != nil:
		m.Facts = seen.WithoutEngine(reason.Of(engineErr).Text)
	default:
		m.Facts = seen.Facts(about, e.Endpoint())
	}
	m.Title = report.FactsTitle(m.Facts)
	return m, nil
}
