package pipeline

import (
	"context"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/core/runlog"
	"rigup.dev/rigup/hooks/sdk"
)

// MachineFacts writes down what is observed of the machine and of the engine. An engine that does not answer is no error: then
// the facts say why nothing is known of it.
func MachineFacts(ctx context.Context, d Deps, cfg config.Config) (sdk.Machine, error) {
	r := newRun(d, cfg, quiet{}, runlog.Discard())
	m := sdk.Machine{API: sdk.MachineAPI, Notes: "Written by rigup " + d.Version + "."}
	var err error
	if r.hooks, _, err = d.Hooks(); err != nil {
		m.Notes += " The folder of hooks could not be read: device nodes that only they look for are missing."
	}
	err = r.sideBySide(ctx)
	if r.engine != nil {
		defer r.engine.Close()
	}
	switch {
	case ctx.Err() != nil:
		return m, ctx.Err()
	case err != nil:
		m.Facts = r.machine.WithoutEngine(reason.Of(err).Text)
	default:
		m.Facts = r.machine.Facts(r.info, r.engine.Endpoint())
	}
	m.Title = report.FactsTitle(m.Facts)
	return m, nil
}
