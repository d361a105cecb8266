package main

import (
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

func (p *program) hooks() *cli.Command {
	return &cli.Command{
		Name:  "hooks",
		Usage: "show, add and approve hooks: what vendors teach rigup about their GPUs",
		Description: `A hook is a small sandboxed program that knows the GPUs of one vendor, or one kind of engine. Some come with
rigup. One of somebody else is used only after you approved exactly that file and what it may do.`,
		UsageText: "rigup hooks add ./vendor.wasm",
		Subcommands: []*cli.Command{
			p.hooksList(),
			p.hooksInfo(),
			p.hooksAdd(),
			p.hooksApprove(),
			p.hooksRemove(),
			p.hooksSwitch("enable", "use a hook again that was switched off", true),
			p.hooksSwitch("disable", "do without a hook, also a built-in one", false),
			p.hooksInit(),
			p.hooksTest(),
			p.hooksKeygen(),
			p.hooksPack(),
			p.hooksSchema(),
		},
	}
}

// openHooks reads the settings of a command line, and is the folder of hooks of these.
func (p *program) openHooks(c *cli.Context) (config.Config, hookstore.Store, error) {
	cfg, err := p.config(c)
	if err != nil {
		return cfg, hookstore.Store{}, err
	}
	s, err := hookStore(cfg, p.now)
	return cfg, s, err
}

// person asks whoever sits at the terminal. That a command line says yes to everything beforehand is no approval of
// a file that nobody has looked at, so --yes does not count here.
func (p *program) person(cfg config.Config) report.Asker {
	cfg.Yes.Value = false
	return p.asker(cfg)
}

// hookNames are what can be written for HOOK.
func (p *program) hookNames(c *cli.Context) []string {
	_, s, err := p.openHooks(c)
	if err != nil {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, h := range s.List().Hooks {
		name := h.ID
		if name == "" {
			name = h.File
		}
		if !seen[name] {
			out = append(out, name)
		}
		seen[name] = true
	}
	return out
}

// tell shows what a command did about a hook.
func (p *program) tell(cfg config.Config, c report.HookChange) error {
	if cfg.Output.Value == report.JSON {
		report.WriteJSON(p.out, c)
		return nil
	}
	o, _ := report.Terminal(p.out, p.env)
	_, err := io.WriteString(p.out, c.Render(o))
	return err
}

func hookList(v hookstore.View, hooks []hookstore.Hook) report.HookList {
	l := report.HookList{Dir: v.Dir, Hooks: []report.Hook{}, Problems: v.Problems}
	for _, h := range hooks {
		l.Hooks = append(l.Hooks, reportHook(h))
	}
	return l
}

// reportHook is a hook as the showing commands tell it.
func reportHook(h hookstore.Hook) report.Hook {
	out := manifestHook(h.Manifest)
	out.ID, out.State, out.File, out.Size = h.ID, string(h.State), h.File, h.Size
	out.Used = h.State == hookstore.InProgram || h.State == hookstore.Approved
	out.Unsigned, out.Key = h.Unsigned(), reportKey(h.Signature)
	out.Source, out.Changes, out.Problem = h.Source, h.Changes, h.Problem
	if h.Size > 0 {
		out.Digest = h.Digest()
	}
	if h.BuiltIn() {
		out.Size, out.Digest = 0, "" // those of the module with all of them
		out.Source = "comes with rigup"
		out.May = &h.Manifest.Permissions
	}
	if e := h.Entry; e != nil && (out.Used || h.State == hookstore.Disabled || h.State == hookstore.Missing) {
		out.Source, out.By, out.Approved = e.Source, e.By, e.Approved.Format(time.RFC3339)
		out.May, out.Words = &e.Grant, grant.Words(e.Grant)
		if h.State == hookstore.Missing {
			out.Version, out.Publisher, out.Kinds = e.Manifest.Version, e.Manifest.Publisher, e.Manifest.Kinds
		}
	}
	return out
}

func manifestHook(m sdk.Manifest) report.Hook {
	return report.Hook{
		ID: m.ID, Version: m.Version, Title: m.Title, Publisher: m.Publisher, Homepage: m.Homepage, Kinds: m.Kinds,
		Match: m.Match, Asks: m.Permissions, Words: grant.Words(m.Permissions),
	}
}

func reportKey(s hookstore.Signature) *report.HookKey {
	if s.Key == "" {
		return nil
	}
	return &report.HookKey{ID: s.KeyID, Public: s.Key, From: string(s.From)}
}
