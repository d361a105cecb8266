package main

import (
	"io"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksInfo() *cli.Command {
	return &cli.Command{
		Name:      "info",
		ArgsUsage: "HOOK",
		Usage:     "all about a hook: who vouches for it, where it is asked, what it may do",
		Description: `HOOK is the id, or the name of a file in the folder of hooks. Nothing of the hook runs: what is shown stands
in its file.`,
		UsageText: "rigup hooks info nvidia",
		Action: func(c *cli.Context) error {
			cfg, s, err := p.openHooks(c)
			if err != nil {
				return err
			}
			v, name := s.List(), c.Args().First()
			found := v.Find(name)
			if len(found) == 0 {
				return reason.Fail(reason.New(reason.HookNotFound, "name", name), nil)
			}
			l := hookList(v, found)
			if cfg.Output.Value == report.JSON {
				report.WriteJSON(p.out, l)
				return nil
			}
			o, _ := report.Terminal(p.out, p.env)
			_, err = io.WriteString(p.out, l.RenderInfo(o))
			return err
		},
	}
}
