package main

import (
	"io"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

func (p *program) status() *cli.Command {
	return &cli.Command{
		Name:        "status",
		Usage:       "show what runs, in which mode, and why",
		Description: "The exit code is 0 when the cluster runs and nothing is wrong with it.",
		UsageText:   "rigup status --output json",
		Action: func(c *cli.Context) error {
			ctx, cancel, cfg, r, err := p.look(c)
			if err != nil {
				return err
			}
			defer cancel()
			s, err := r.Status(ctx)
			if err != nil {
				return err
			}
			if cfg.Output.Value == report.JSON {
				report.WriteJSON(p.out, s)
			} else {
				o, _ := report.Terminal(p.out, p.env)
				o.Now = p.now
				if _, err := io.WriteString(p.out, s.Render(o)); err != nil {
					return err
				}
			}
			if code := s.Exit(); code != reason.ExitOK {
				return exited(code)
			}
			return nil
		},
	}
}
