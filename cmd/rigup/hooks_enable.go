package main

import (
	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
)

// hooksSwitch is enable or disable.
func (p *program) hooksSwitch(name, usage string, on bool) *cli.Command {
	return &cli.Command{
		Name:      name,
		ArgsUsage: "HOOK",
		Usage:     usage,
		UsageText: "rigup hooks " + name + " nvidia",
		Action: func(c *cli.Context) error {
			cfg, s, err := p.openHooks(c)
			if err != nil {
				return err
			}
			id := c.Args().First()
			changed, kept, err := s.SetEnabled(c.Context, id, on)
			if err != nil {
				return err
			}
			change := report.HookChange{Action: name, Changed: changed}
			for _, h := range s.List().Find(id) {
				// The one that is used goes before one that waits, and an approved one before the built-in one that it replaces.
				if shown := reportHook(h); change.Hook == nil || shown.Used || h.Entry != nil && !change.Hook.Used {
					change.Hook = &shown
				}
			}
			state := "in use"
			if !on {
				state = "switched off"
			}
			if changed {
				change.Text = []string{"The hook " + id + " is " + state + " from now on."}
			} else {
				change.Text = []string{"The hook " + id + " is " + state + " already."}
			}
			if h := change.Hook; on && h != nil && !h.Used && h.Problem != nil {
				change.Text = append(change.Text, h.Problem.Text)
			}
			if kept != "" {
				change.Text = append(change.Text, hookstore.BegunAnew(kept))
			}
			return p.tell(cfg, change)
		},
	}
}
