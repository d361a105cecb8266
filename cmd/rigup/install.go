package main

import (
	"context"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/event"
)

func (p *program) install() *cli.Command {
	return &cli.Command{
		Name:  "install",
		Usage: "bring this machine to a running cluster with the workload on it",
		Description: `Running it again is normal: what is as asked stays untouched, what was stopped is started, what
changed is brought in line. Data is never deleted.`,
		UsageText: "rigup install --chart ./my-chart --set replicas=2",
		Flags:     settings(installSettings...),
		Action:    func(c *cli.Context) error { return p.bring(c, "install", false) },
	}
}

func (p *program) bring(c *cli.Context, command string, plan bool) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	return p.watch(c, command, cfg, func(ctx context.Context, r runner, sink event.Sink) int {
		return r.Install(ctx, sink, plan)
	})
}
