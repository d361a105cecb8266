package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookkit"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksTest() *cli.Command {
	return &cli.Command{
		Name:      "test",
		ArgsUsage: "FILE",
		Usage:     "test a hook: that it keeps to the rules on every kind of machine, and what it answers to cases",
		Description: "For vendors, and before approving a hook: it runs as rigup always runs hooks, and nothing of this machine is shown to it.\n" +
			"A case is a machine, as rigup facts --output json writes it, or one request. What the hook is expected to answer\n" +
			"stands beside it: NAME.expected.json for NAME.json. --verbose shows what the hook writes to its standard error.",
		UsageText: "rigup hooks test vendor.wasm --facts cases",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "facts", Usage: "case, or folder of cases; may be repeated"},
			&cli.BoolFlag{Name: "update", Usage: "write what the hook answers into the files of expected answers"},
		},
		Action: p.testHook,
	}
}

func (p *program) testHook(c *cli.Context) (err error) {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	name := c.Args().First()
	module, err := readFor("FILE", name)
	if err != nil {
		return err
	}
	paths := c.StringSlice("facts")
	cases, err := hookkit.LoadCases(paths)
	if err != nil {
		return cannotBe("--facts", strings.Join(paths, " "), err.Error())
	}
	host := hookhost.New(hookhost.Options{})
	defer func() { _ = host.Close() }()
	suite := hookkit.Suite{Run: host, Update: c.Bool("update")}
	asJSON := cfg.Output.Value == report.JSON
	if !asJSON {
		suite.Say = func(k hookkit.Check) { _, _ = io.WriteString(p.out, showCheck(k, cfg.Verbose.Value)) }
	}
	r, err := suite.Test(c.Context, name, module, cases)
	if err != nil {
		return err
	}
	if asJSON {
		report.WriteJSON(p.out, r)
	} else if _, err := fmt.Fprintf(p.out, "\n%d passed, %d failed, %d skipped\n", r.Count(hookkit.OK), r.Count(hookkit.Failed), r.Count(hookkit.Skipped)); err != nil {
		return err
	}
	if r.Count(hookkit.Failed) > 0 {
		if !asJSON && !cfg.Verbose.Value && r.Logged() {
			_, _ = io.WriteString(p.out, "--verbose shows what it wrote to its standard error\n")
		}
		return exited(reason.ExitFailed)
	}
	return nil
}

// showCheck is the line of a check, with what belongs below it.
func showCheck(k hookkit.Check, verbose bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-8s %-30s %s\n", k.Result, k.Name, k.Text)
	for _, d := range k.Details {
		fmt.Fprintf(&b, "             %s\n", d)
	}
	if verbose {
		for _, l := range k.Log {
			fmt.Fprintf(&b, "             log: %s\n", l)
		}
	}
	return b.String()
}
