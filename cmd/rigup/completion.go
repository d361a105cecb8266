package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"rigup.dev/rigup/core/reason"
)

// completeCommand is what the shells call: the word that is being written, as "cur=WORD" (some shells drop
// empty arguments), and the words before it.
const completeCommand = "__complete"

func (p *program) completion() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		ArgsUsage: "SHELL",
		Usage:     "print the script that completes commands and flags: bash, zsh, fish or powershell",
		Description: `bash        source <(rigup completion bash)
zsh         source <(rigup completion zsh)
fish        rigup completion fish | source
powershell  rigup completion powershell | Out-String | Invoke-Expression
Put the line where your shell reads its settings.`,
		UsageText: "source <(rigup completion bash)",
		Action: func(c *cli.Context) error {
			script, ok := scripts[c.Args().First()]
			if !ok {
				return reason.Fail(reason.New(reason.UsageValue, "flag", "SHELL", "value", c.Args().First(), "allowed", "it is bash, zsh, fish or powershell"), nil)
			}
			_, err := io.WriteString(p.out, script)
			return err
		},
	}
}

// complete prints what can stand in the place of the word. Nothing means: a file name.
func (p *program) complete() *cli.Command {
	return &cli.Command{
		Name: completeCommand, Hidden: true, HideHelp: true,
		Action: func(c *cli.Context) error {
			words := c.Args().Slice()
			if len(words) == 0 {
				return nil
			}
			for _, s := range candidates(p.app(), words[1:], strings.TrimPrefix(words[0], "cur="), func() []string { return p.hookNames(c) }) {
				if _, err := fmt.Fprintln(p.out, s); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// choices are the values of flags and arguments that have only a few.
var choices = map[string][]string{
	"output": {"text", "json"},
	"gpu":    {"auto", "off", "require"},
	"SHELL":  {"bash", "zsh", "fish", "powershell"},
}

// hookArgument is the argument that is one of the hooks of this machine.
const hookArgument = "HOOK"

func candidates(app *cli.App, before []string, word string, hooks func() []string) []string {
	w := walk{name: app.Name, commands: app.Commands, flags: app.Flags}
	before = slices.DeleteFunc(slices.Clone(before), func(s string) bool { return s == "=" }) // bash parts words there
	for i := 0; i < len(before); i++ {
		switch a := before[i]; {
		case strings.HasPrefix(a, "-"):
			name, _, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
			if has || !takesValue(w.flags, name) {
				continue
			}
			if i == len(before)-1 { // the word is the value of the flag
				return starting(choices[name], strings.TrimPrefix(word, "="))
			}
			i++
		default:
			if w.enter(a) != nil {
				return nil
			}
		}
	}
	if name, value, has := strings.Cut(word, "="); has && strings.HasPrefix(name, "--") {
		var out []string
		for _, v := range starting(choices[name[2:]], value) {
			out = append(out, name+"="+v)
		}
		return out
	}
	var all []string
	if strings.HasPrefix(word, "-") {
		for _, f := range visible(w.flags) {
			all = append(all, "--"+f.Names()[0])
		}
		return starting(all, word)
	}
	if all = names(w.commands); len(all) == 0 && len(w.arguments) > 0 {
		if all = choices[w.arguments[0]]; w.arguments[0] == hookArgument {
			all = hooks()
		}
	}
	return starting(all, word)
}

func takesValue(flags []cli.Flag, name string) bool {
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, isSwitch := f.(*cli.BoolFlag)
			return !isSwitch
		}
	}
	return false
}

func starting(all []string, with string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return !strings.HasPrefix(s, with) })
}

var scripts = map[string]string{
	"bash": `_rigup() {
    local IFS=$'\n'
    COMPREPLY=($(rigup __complete "cur=${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null))
}
complete -o default -F _rigup rigup
`,
	"zsh": `_rigup() {
    local -a found
    found=("${(@f)$(rigup __complete "cur=${words[CURRENT]}" "${(@)words[2,CURRENT-1]}" 2>/dev/null)}")
    if [[ -n "${found[*]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _rigup rigup
`,
	"fish": `function __rigup_complete
    set -l before (commandline -opc)
    rigup __complete "cur="(commandline -ct | string collect) $before[2..] 2>/dev/null
end
complete -c rigup -a '(__rigup_complete)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName rigup -ScriptBlock {
    param($word, $ast, $position)
    $before = @($ast.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
    rigup __complete "cur=$word" @before 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
`,
}
