package main

import "github.com/urfave/cli/v2"

func (p *program) plan() *cli.Command {
	return &cli.Command{
		Name:        "plan",
		Usage:       "show what install would do, without doing it",
		Description: "It takes the same flags as install and asks the same things of the machine, but changes nothing.",
		UsageText:   "rigup plan --explain",
		Flags:       settings(append([]string{"explain"}, installSettings...)...),
		Action:      func(c *cli.Context) error { return p.bring(c, "plan", true) },
	}
}
