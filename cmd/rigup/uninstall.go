package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/report"
)

func (p *program) uninstall() *cli.Command {
	return &cli.Command{
		Name:  "uninstall",
		Usage: "remove the cluster and everything of rigup that belongs to it",
		Description: `The data directory stays unless --delete-data is given. Only what rigup made is removed; the other
contexts of your kubeconfig, containers, networks and volumes are left alone.`,
		UsageText: "rigup uninstall --cluster lab",
		Flags:     settings("delete-data", "kubeconfig", "timeout"),
		Action: func(c *cli.Context) error {
			cfg, err := p.config(c)
			if err != nil {
				return err
			}
			q := report.Question{
				Text: "Remove cluster " + cfg.Cluster.Value + "?",
				Cost: "Everything that runs in the cluster goes with it. The data directory stays.",
			}
			if cfg.DeleteData.Value {
				q.Cost = "Everything that runs in the cluster goes with it, and so does the data directory. It cannot be brought back."
			}
			answer, err := p.asker(cfg).Ask(c.Context, q)
			if err != nil {
				return err
			}
			if answer == report.No {
				_, err := fmt.Fprintln(p.err, "Nothing was removed.")
				return err
			}
			return p.watch(c, "uninstall", cfg, func(ctx context.Context, r runner, sink event.Sink) int {
				return r.Uninstall(ctx, sink)
			})
		},
	}
}
