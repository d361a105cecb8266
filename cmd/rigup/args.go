package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/reason"
)

// arrange checks the words of a command line against the commands and their flags, so that a mistake is named
// with the word that was likely meant, and puts flags before arguments: the parser wants them there, people
// don't.
func arrange(app *cli.App, args []string) ([]string, error) {
	w := walk{name: app.Name, commands: app.Commands, flags: app.Flags}
	if len(args) == 1 && args[0] == "--version" {
		return []string{"version"}, nil
	}
	if len(args) > 0 && args[0] == "help" { // the other way to say --help
		args = append(args[1:len(args):len(args)], "--help")
	}
	if len(args) > 0 && args[0] == completeCommand {
		return append([]string{args[0], "--"}, args[1:]...), nil
	}
	var out, rest []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case len(a) > 1 && a[0] == '-':
			n, err := w.flag(a, args[i+1:])
			if err != nil {
				return args, err
			}
			out = append(out, args[i:i+n]...)
			i += n - 1
		case len(w.commands) > 0:
			if err := w.enter(a); err != nil {
				return args, err
			}
			out = append(out, a)
		default:
			rest = append(rest, a)
		}
	}
	if slices.Contains(out, "--help") || slices.Contains(out, "-h") {
		return out, nil
	}
	if want := w.arguments; len(rest) > len(want) {
		return args, unknown(w.name, "the argument "+rest[len(want)], "")
	} else if len(rest) < len(want) && want[len(rest)][0] != '[' {
		return args, reason.Fail(reason.New(reason.UsageNeeds, "command", w.name, "what", strings.Join(want[len(rest):], " ")), nil)
	}
	if len(w.commands) > 0 && len(out) > 0 && w.name != app.Name {
		return args, reason.Fail(reason.New(reason.UsageNeeds, "command", w.name, "what", "one of: "+strings.Join(names(w.commands), ", ")), nil)
	}
	if len(rest) > 0 {
		out = append(append(out, "--"), rest...)
	}
	return out, nil
}

// walk is where on the command line one is.
type walk struct {
	name      string
	commands  []*cli.Command
	flags     []cli.Flag
	arguments []string // those that the command wants; [NAME] can be left out
}

func names(cs []*cli.Command) []string {
	var out []string
	for _, c := range cs {
		if !c.Hidden {
			out = append(out, c.Name)
		}
	}
	return out
}

func (w *walk) enter(word string) error {
	for _, c := range w.commands {
		if c.Name == word {
			w.name, w.commands, w.flags = c.HelpName, c.Subcommands, c.Flags
			w.arguments = strings.Fields(c.ArgsUsage)
			return nil
		}
	}
	near := config.Nearest(word, names(w.commands))
	if near != "" {
		near = w.name + " " + near
	}
	return unknown(w.name, "the command "+word, near)
}

// flag returns how many words the flag and its value are.
func (w *walk) flag(word string, next []string) (int, error) {
	name, value, has := strings.Cut(strings.TrimLeft(word, "-"), "=")
	if name == "help" || name == "h" {
		return 1, nil
	}
	for _, f := range w.flags {
		if !slices.Contains(f.Names(), name) {
			continue
		}
		if _, isSwitch := f.(*cli.BoolFlag); isSwitch {
			if _, err := strconv.ParseBool(value); has && err != nil {
				return 0, reason.Fail(reason.New(reason.UsageValue, "flag", "--"+name, "value", value, "allowed", "it is true or false"), nil)
			}
			return 1, nil
		}
		switch {
		case has:
			return 1, nil
		case len(next) == 0 || strings.HasPrefix(next[0], "--"):
			return 0, reason.Fail(reason.New(reason.UsageNeeds, "command", "--"+name, "what", "a value: --"+name+" "+placeholder(name)), nil)
		}
		return 2, nil
	}
	near := ""
	var known []string
	for _, f := range w.flags {
		known = append(known, f.Names()...)
	}
	if near = config.Nearest(name, known); near != "" {
		near = "--" + near
	} else if c := commandWith(w.commands, name); c != "" {
		near = c + " --" + name
	}
	return 0, unknown(w.name, "the flag --"+name, near)
}

// commandWith is the first command that has the flag, for a flag that stands before its command.
func commandWith(commands []*cli.Command, flag string) string {
	for _, c := range commands {
		for _, f := range c.Flags {
			if !c.Hidden && slices.Contains(f.Names(), flag) {
				return c.HelpName
			}
		}
	}
	return ""
}

// unknown is the error for a word that is not known. Where nothing like it is known, the help is named.
func unknown(command, word, near string) error {
	r := reason.New(reason.UsageWord, "command", command, "word", word, "nearest", near)
	if near == "" {
		r.Remedy = []string{command + " --help"}
	}
	return reason.Fail(r, nil)
}
