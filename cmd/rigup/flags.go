package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/config"
)

// The settings that a command has beside the global ones.
var (
	globalSettings  = []string{"cluster", "engine", "output", "verbose", "yes"}
	installSettings = []string{"data-dir", "api-port", "subnet", "kubeconfig", "chart", "namespace", "release", "values", "set", "reset-values",
		"gpu", "recreate", "registry-mirror", "ca-file", "load-image", "node-image", "timeout"}
)

// globals are the flags that stand before a command or after it.
func globals() []cli.Flag {
	return append(settings(globalSettings...), &cli.StringFlag{Name: "config", Usage: "the configuration file (default: rigup/" + config.FileName + " in your configuration directory)"})
}

// settings makes flags of settings. They hold only what was written: values are read in one place, together
// with the environment and the file.
func settings(names ...string) []cli.Flag {
	var out []cli.Flag
	for _, d := range config.Defs() {
		if !slices.Contains(names, d.Name) {
			continue
		}
		switch {
		case d.Arg == "":
			out = append(out, &cli.BoolFlag{Name: d.Name, Usage: d.Usage})
		case d.Many:
			out = append(out, &cli.StringSliceFlag{Name: d.Name, Usage: d.Usage})
		default:
			out = append(out, &cli.StringFlag{Name: d.Name, Usage: d.Usage})
		}
	}
	return out
}

// placeholder is what stands for the value of a flag.
func placeholder(flag string) string {
	for _, d := range config.Defs() {
		if d.Name == flag {
			return d.Arg
		}
	}
	if arg, ok := ownArgs[flag]; ok {
		return arg
	}
	return "FILE"
}

// ownArgs are those of flags that belong to one command and are no settings.
var ownArgs = map[string]string{
	"accept":    "DIGEST",
	"key":       "KEY",
	"lang":      "LANGUAGE",
	"pci":       "ID",
	"device":    "PATH",
	"resource":  "NAME",
	"title":     "TEXT",
	"publisher": "TEXT",
	"dir":       "DIR",
	"push":      "REFERENCE",
}

const helpColumns = 96

// appHelp is the help of the program.
func appHelp(app *cli.App) string {
	var b strings.Builder
	b.WriteString("rigup - " + app.Usage + "\n\nCommands\n")
	for _, c := range app.Commands {
		if !c.Hidden {
			entry(&b, c.Name, c.Usage, 14)
		}
	}
	b.WriteString("\nFlags of every command\n")
	flagHelp(&b, app.Flags)
	b.WriteString(`
Every flag can be given as an environment variable (--data-dir as RIGUP_DATA_DIR) or in the configuration
file (data-dir: DIR). A flag goes before the environment, that before the file. RIGUP_HOME is where rigup keeps
everything (default: ~/.rigup).

Exit codes: 0 as asked, 1 failed, 2 do something first and run again, 3 GPU required but not proven,
130 interrupted.
`)
	return b.String()
}

// commandHelp is the help of a command: what it does, an example, its flags.
func commandHelp(c *cli.Command) string {
	var b strings.Builder
	usage := c.HelpName
	if c.ArgsUsage != "" {
		usage += " " + c.ArgsUsage
	}
	b.WriteString(usage + " - " + c.Usage + "\n")
	if c.Description != "" {
		b.WriteString("\n" + c.Description + "\n")
	}
	if len(c.Subcommands) > 0 {
		b.WriteString("\nCommands\n")
		for _, s := range c.Subcommands {
			arg := s.Name
			if s.ArgsUsage != "" {
				arg += " " + s.ArgsUsage
			}
			entry(&b, arg, s.Usage, 14)
		}
	}
	if c.UsageText != "" {
		b.WriteString("\nExample\n  " + c.UsageText + "\n")
	}
	own := slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool { return slices.ContainsFunc(globals(), same(f)) })
	if len(own) > 0 {
		b.WriteString("\nFlags\n")
		flagHelp(&b, own)
	}
	b.WriteString("\nFlags of every command: --" + strings.Join(append(slices.Clone(globalSettings), "config"), " --") + " (rigup --help)\n")
	return b.String()
}

func same(f cli.Flag) func(cli.Flag) bool {
	return func(g cli.Flag) bool { return g.Names()[0] == f.Names()[0] }
}

func flagHelp(b *strings.Builder, flags []cli.Flag) {
	for _, f := range visible(flags) {
		name, usage := "--"+f.Names()[0], f.(cli.DocGenerationFlag).GetUsage()
		if _, isSwitch := f.(*cli.BoolFlag); !isSwitch {
			name += " " + placeholder(f.Names()[0])
		}
		for _, d := range config.Defs() {
			if d.Name == f.Names()[0] && d.Default != "" {
				usage += fmt.Sprintf(" (default: %s)", d.Default)
			}
		}
		entry(b, name, usage, 28)
	}
}

// visible leaves out flags that only tests need.
func visible(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool {
		v, ok := f.(cli.VisibleFlag)
		return ok && !v.IsVisible()
	})
}

// entry writes a word and what it means, which may take several lines.
func entry(b *strings.Builder, word, meaning string, column int) {
	line := "  " + word
	if len(line) > column {
		b.WriteString(line + "\n")
		line = ""
	}
	line += strings.Repeat(" ", column+2-len(line))
	for i, w := range strings.Fields(meaning) {
		if i > 0 && len(line)+1+len(w) > helpColumns {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", column+2)
		} else if i > 0 {
			line += " "
		}
		line += w
	}
	b.WriteString(line + "\n")
}
