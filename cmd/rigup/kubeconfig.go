package main

import (
	"fmt"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

func (p *program) kubeconfig() *cli.Command {
	return &cli.Command{
		Name:  "kubeconfig",
		Usage: "print the cluster's kubeconfig, or add it to yours",
		Description: `install adds the context to your kubeconfig by itself. This is for other programs and other files.
What is printed holds the key to the cluster.`,
		UsageText: "rigup kubeconfig --merge --kubeconfig ~/.kube/config",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "merge", Usage: "add the context to your kubeconfig, or to the file of --kubeconfig"},
			&cli.BoolFlag{Name: "path", Usage: "print the path of the cluster's own kubeconfig, for KUBECONFIG"},
		}, settings("kubeconfig")...),
		Action: func(c *cli.Context) error {
			merge, path := c.Bool("merge"), c.Bool("path")
			if merge && path {
				return reason.Fail(reason.New(reason.UsageValue, "flag", "--path", "value", "given", "allowed", "it does not go together with --merge"), nil)
			}
			ctx, cancel, cfg, r, err := p.look(c)
			if err != nil {
				return err
			}
			defer cancel()
			k, err := r.Kubeconfig(ctx, merge)
			if err != nil {
				return err
			}
			asJSON := cfg.Output.Value == report.JSON
			switch {
			case asJSON:
				out := map[string]string{"path": k.Path, "context": k.Context}
				if !merge && !path {
					out["kubeconfig"] = string(k.Content)
				}
				report.WriteJSON(p.out, out)
			case path:
				_, err = fmt.Fprintln(p.out, k.Path)
			case merge:
				_, err = fmt.Fprintf(p.out, "The context %s is in %s.\n", k.Context, k.Path)
			default:
				_, err = p.out.Write(k.Content)
			}
			return err
		},
	}
}
