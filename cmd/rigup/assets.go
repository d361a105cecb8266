package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup"
	"rigup.dev/rigup/core/assets"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/core/units"
)

func (p *program) assets() *cli.Command {
	return &cli.Command{
		Name:      "assets",
		Usage:     "show, write out or check the files that rigup carries",
		UsageText: "rigup assets export ./rigup-files",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "size, SHA-256 and path of every file", Action: p.assetsList},
			{Name: "export", ArgsUsage: "DIR", Usage: "write the files below a directory", Action: p.assetsExport,
				UsageText: "rigup assets export ./rigup-files",
				Flags:     []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "overwrite files that are there"}}},
			{Name: "verify", Usage: "check every file against the manifests", Action: p.assetsVerify},
		},
	}
}

func (p *program) assetsList(c *cli.Context) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	files, err := assets.List(rigup.Files)
	if err != nil {
		return err
	}
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, files)
		return nil
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(p.out, "%9s  %s  %s\n", units.Size(f.Size), f.SHA256, f.Path); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) assetsExport(c *cli.Context) error {
	dir := c.Args().First()
	n, err := assets.Export(rigup.Files, dir, c.Bool("force"))
	if errors.Is(err, assets.ErrExists) {
		return reason.Fail(reason.New(reason.UsageValue, "flag", "DIR", "value", dir, "allowed", err.Error()+"; --force overwrites"), nil)
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", dir, err)
	}
	_, err = fmt.Fprintf(p.out, "%d files written to %s.\n", n, dir)
	return err
}

func (p *program) assetsVerify(c *cli.Context) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	if err := assets.Verify(rigup.Files); err != nil {
		// The reason shows some of the files; a list of hundreds would hide it.
		lines := strings.Split(err.Error(), "\n")
		r := reason.New(reason.AssetsDamaged)
		const shown = 10
		for i, l := range lines {
			if i == shown {
				r = r.With(fmt.Sprintf("and %d more", len(lines)-shown))
				break
			}
			r = r.With(l)
		}
		return reason.Fail(r, nil)
	}
	files, err := assets.List(rigup.Files)
	if err != nil {
		return err
	}
	made := 0
	for _, f := range files {
		if f.Generated {
			made++
		}
	}
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, map[string]any{"verified": len(files), "generated": made})
		return nil
	}
	line := fmt.Sprintf("%d files are as they were built", len(files))
	if made == 0 {
		line += "; skipped the programs for the node: this build has none"
	}
	_, err = fmt.Fprintln(p.out, line+".")
	return err
}
