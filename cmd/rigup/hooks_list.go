package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/report"
)

func (p *program) hooksList() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "every hook of this machine: who made it, whether it is used, and what to do about it",
		UsageText: "rigup hooks list --output json",
		Action: func(c *cli.Context) error {
			cfg, s, err := p.openHooks(c)
			if err != nil {
				return err
			}
			v := s.List()
			l := hookList(v, v.Hooks)
			if cfg.Output.Value == report.JSON {
				report.WriteJSON(p.out, l)
				return nil
			}
			o, _ := report.Terminal(p.out, p.env)
			_, err = io.WriteString(p.out, l.RenderList(o))
			return err
		},
	}
}
