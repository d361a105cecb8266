package main

import (
	"fmt"
	"path"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/hookkit"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksSchema() *cli.Command {
	return &cli.Command{
		Name:        "schema",
		ArgsUsage:   "[NAME]",
		Usage:       "print the JSON Schema of a document that hooks read or write; without NAME list them",
		Description: "For programs that check documents, and for editors that complete them.",
		UsageText:   "rigup hooks schema response > response.schema.json",
		Action: func(c *cli.Context) error {
			cfg, err := p.config(c)
			if err != nil {
				return err
			}
			all, err := hookkit.Schemas(rigup.Files)
			if err != nil {
				return err
			}
			name := c.Args().First()
			if name == "" {
				return p.listSchemas(cfg, all)
			}
			b, ok, err := hookkit.ReadSchema(rigup.Files, name)
			if err != nil {
				return err
			}
			if !ok {
				var known []string
				for _, s := range all {
					known = append(known, s.Name)
				}
				return unknown("rigup hooks schema", "the document "+name, config.Nearest(name, known))
			}
			_, err = p.out.Write(b)
			return err
		},
	}
}

func (p *program) listSchemas(cfg config.Config, all []hookkit.Schema) error {
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, all)
		return nil
	}
	for _, s := range all {
		if _, err := fmt.Fprintf(p.out, "%-10s %s  %s\n", s.Name, s.Version, path.Join(hookkit.SchemaDir, s.File)); err != nil {
			return err
		}
	}
	return nil
}

// cannotBe is a mistake in a value on the command line.
func cannotBe(flag, value, allowed string) error {
	return reason.Fail(reason.New(reason.UsageValue, "flag", flag, "value", value, "allowed", allowed), nil)
}
