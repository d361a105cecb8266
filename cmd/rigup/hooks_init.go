package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/hookkit"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksInit() *cli.Command {
	var langs []string
	for _, l := range hookkit.Languages() {
		langs = append(langs, l.ID)
	}
	return &cli.Command{
		Name:      "init",
		ArgsUsage: "NAME",
		Usage:     "write a project for a new hook: a gpu hook that builds and passes its tests",
		Description: "For vendors. The project recognises the GPUs by their PCI vendor id and their device nodes; what is written\n" +
			"needs no library, in any of the languages. hooks/README.md in rigup's sources explains everything.",
		UsageText: "rigup hooks init --lang c --pci 0x1ed5 --device '/dev/mtgpu.*' --resource mthreads.com/gpu moorethreads",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Usage: "language: " + strings.Join(langs, ", ")},
			&cli.StringFlag{Name: "pci", Usage: "PCI vendor id of the GPUs, such as 0x1ed5: 0x and the four digits before the colon in lspci -nn"},
			&cli.StringFlag{Name: "device", Usage: "how the driver's device nodes are called, with * for the number (default: /dev/NAME*)"},
			&cli.StringFlag{Name: "resource", Usage: "what pods ask for (default: NAME.com/gpu)"},
			&cli.StringFlag{Name: "title", Usage: "one line for people (default: PUBLISHER GPUs)"},
			&cli.StringFlag{Name: "publisher", Usage: "who makes the hook (default: NAME)"},
			&cli.StringFlag{Name: "dir", Usage: "where to write it (default: a folder NAME here)"},
		},
		Action: p.newHook,
	}
}

func (p *program) newHook(c *cli.Context) error {
	cfg, err := p.config(c)
	if err != nil {
		return err
	}
	project := hookkit.Project{
		Language: c.String("lang"), Name: c.Args().First(), Title: c.String("title"), Publisher: c.String("publisher"),
		PCI: c.String("pci"), Device: c.String("device"), Resource: c.String("resource"),
	}
	dir := c.String("dir")
	if dir == "" {
		dir = project.Name
	}
	written, err := hookkit.Init(rigup.Files, project, dir)
	var bad *hookkit.Invalid
	switch {
	case errors.As(err, &bad) && bad.Value == "":
		return cannotBe(bad.Flag, "empty", bad.Allowed)
	case errors.As(err, &bad):
		return cannotBe(bad.Flag, bad.Value, bad.Allowed)
	case errors.Is(err, hookkit.ErrExists):
		return cannotBe("--dir", dir, err.Error()+"; nothing was written. Give another folder with --dir, or remove this one")
	case err != nil:
		return fmt.Errorf("write the project to %s: %w", dir, err)
	}
	return p.nextSteps(cfg, project, dir, written)
}

// nextSteps says what was written, and what a person does with it.
func (p *program) nextSteps(cfg config.Config, project hookkit.Project, dir string, written []string) error {
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, map[string]any{"dir": dir, "files": written})
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files written to %s.\n\nNeeded to build it\n", len(written), dir)
	for _, l := range hookkit.Languages() {
		if l.ID == project.Language {
			fmt.Fprintf(&b, "  %s\n", strings.Join(l.Install, "\n  "))
		}
	}
	wasm := project.Name + ".wasm"
	b.WriteString("\nNext\n")
	for _, step := range [][2]string{
		{"cd " + filepath.ToSlash(dir), ""},
		{"make", "builds " + wasm},
		{"make test", "rigup hooks test " + wasm + " --facts cases"},
		{"rigup hooks keygen " + project.Name + ".key", "once: the key that you sign with"},
		{"rigup hooks pack " + wasm + " --key " + project.Name + ".key", "signs it"},
		{"rigup hooks add ./" + wasm, "what your users do, with a file or an address"},
	} {
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-36s %s", step[0], step[1]), " "))
	}
	fmt.Fprintf(&b, "\n%s says what is where.\n", filepath.ToSlash(filepath.Join(dir, "README.md")))
	_, err := p.out.Write([]byte(b.String()))
	return err
}
