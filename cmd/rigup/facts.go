package main

import (
	"encoding/json"
	"io"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/report"
)

func (p *program) facts() *cli.Command {
	return &cli.Command{
		Name:  "facts",
		Usage: "show what rigup observes of this machine and tells its hooks",
		Description: `Nothing is changed, and no container is run. The document that --output json writes is what a hook is
tested with (rigup hooks test). Names of users and machines, addresses and serial numbers are left out.`,
		UsageText: "rigup facts --output json > machine.json",
		Action: func(c *cli.Context) error {
			ctx, cancel, cfg, r, err := p.look(c)
			if err != nil {
				return err
			}
			defer cancel()
			m, err := r.Facts(ctx)
			if err != nil {
				return err
			}
			if cfg.Output.Value != report.JSON {
				o, _ := report.Terminal(p.out, p.env)
				_, err = io.WriteString(p.out, report.Facts(m, o))
				return err
			}
			// A file that people read and change, unlike the events of a run.
			enc := json.NewEncoder(p.out)
			enc.SetIndent("", "  ")
			enc.SetEscapeHTML(false)
			return enc.Encode(m)
		},
	}
}
