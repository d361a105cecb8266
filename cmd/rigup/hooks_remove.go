package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksRemove() *cli.Command {
	return &cli.Command{
		Name:      "remove",
		ArgsUsage: "HOOK",
		Usage:     "delete a hook from the folder, and forget its approval and its publisher's key",
		UsageText: "rigup hooks remove mtgpu",
		Action:    p.removeHook,
	}
}

func (p *program) removeHook(c *cli.Context) error {
	cfg, s, err := p.openHooks(c)
	if err != nil {
		return err
	}
	r, err := s.Removal(c.Args().First())
	if err != nil {
		return err
	}
	answer, err := p.asker(cfg).Ask(c.Context, report.Question{Text: "Remove the hook " + r.Name + "?", Cost: removalCost(r)})
	if err != nil {
		return err
	}
	if answer == report.No {
		_, err := fmt.Fprintln(p.err, "Nothing was removed.")
		return err
	}
	kept, err := s.Remove(c.Context, r)
	if err != nil {
		return err
	}
	change := report.HookChange{Action: "remove", Changed: true, Files: r.Files, Text: []string{"The hook " + r.Name + " was removed."}}
	if r.Back != nil {
		change.Text = append(change.Text, fmt.Sprintf("The built-in %s %s takes its place again.", r.Back.ID, r.Back.Version))
	}
	if kept != "" {
		change.Text = append(change.Text, hookstore.BegunAnew(kept))
	}
	return p.tell(cfg, change)
}

func removalCost(r hookstore.Removal) string {
	var parts []string
	if len(r.Files) > 0 {
		parts = append(parts, "Deleted are "+strings.Join(r.Files, ", ")+" and what stands beside.")
	}
	if len(r.IDs) > 0 {
		parts = append(parts, "To use it again it has to be approved again.")
	}
	return strings.Join(parts, " ")
}
