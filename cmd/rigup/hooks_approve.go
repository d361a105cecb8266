package main

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/report"
)

func (p *program) hooksApprove() *cli.Command {
	return &cli.Command{
		Name:      "approve",
		ArgsUsage: "HOOK",
		Usage:     "look at a hook that waits in the folder, and allow what it asks for",
		Description: `Approval is for exactly these bytes, this publisher's key and these permissions. A newer version with the same
key that asks for no more is not a question. Without a terminal, --accept with the digest of the file that you
have looked at approves it, the first time with its publisher's --key; --yes does not.`,
		UsageText: "rigup hooks approve mtgpu",
		Flags:     approvalFlags(),
		Action: func(c *cli.Context) error {
			cfg, s, err := p.openHooks(c)
			if err != nil {
				return err
			}
			o, err := approvalOptions(c)
			if err != nil {
				return err
			}
			r, err := s.Review(c.Args().First(), o)
			if err != nil {
				return err
			}
			return p.settle(c, "approve", cfg, s, r)
		},
	}
}

// settle brings a review to its end, and tells what was approved. A person who said no knows it.
func (p *program) settle(c *cli.Context, action string, cfg config.Config, s hookstore.Store, r hookstore.Review) error {
	a := approval{store: s, ask: p.person(cfg), show: p.err, env: p.env}
	change, err := a.run(c.Context, action, r, c.String("accept"))
	if err != nil {
		return err
	}
	if change == nil {
		_, err := fmt.Fprintln(p.err, "Nothing was approved.")
		return err
	}
	return p.tell(cfg, *change)
}

// approvalFlags are those of add and approve.
func approvalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "accept", Usage: "approve the file with this digest (sha256:...) without a question"},
		&cli.StringFlag{Name: "key", Usage: "the publisher's minisign public key, as a file or in base64, the first time"},
		&cli.BoolFlag{Name: "allow-unsigned", Usage: "take a hook that nobody vouches for"},
		&cli.BoolFlag{Name: "allow-downgrade", Usage: "take an older version than the approved one"},
	}
}

func approvalOptions(c *cli.Context) (hookstore.Options, error) {
	key, err := hookstore.ReadKey(c.String("key"))
	return hookstore.Options{Key: key, AllowUnsigned: c.Bool("allow-unsigned"), AllowDowngrade: c.Bool("allow-downgrade")}, err
}

// approval is the way from a review to an entry in the lock.
type approval struct {
	store hookstore.Store
	ask   report.Asker
	show  io.Writer // where the question stands
	env   func(string) string
}

// run asks, if a person has to decide, and records the answer. A change of nil means that the person said no.
func (a approval) run(ctx context.Context, action string, r hookstore.Review, accepted string) (*report.HookChange, error) {
	name := r.Manifest.ID + " " + r.Manifest.Version
	if r.Same {
		change := a.change(action, r.Manifest.ID)
		change.Changed, change.Text = false, []string{name + " is approved already."}
		if !r.Before.Enabled {
			change.Text = append(change.Text, "It is switched off: rigup hooks enable "+r.Manifest.ID)
		}
		return &change, nil
	}
	agreed := hookstore.Accepted{Digest: accepted}
	if len(r.Questions) > 0 && accepted == "" {
		answer, err := a.question(ctx, r)
		switch {
		case err != nil:
			return nil, err
		case answer == report.No:
			return nil, nil
		case answer == report.NotAsked:
			if r, err = a.store.Keep(ctx, r); err != nil {
				return nil, err
			}
			return nil, r.Unanswered()
		}
		agreed = r.Accepts()
	}
	done, err := a.store.Approve(ctx, r, agreed)
	if err != nil {
		return nil, err
	}
	change := a.change(action, r.Manifest.ID)
	change.Text, change.Files = approvedText(name, r, done), done.Removed
	return &change, nil
}

// question shows everything that the decision is about, and asks.
func (a approval) question(ctx context.Context, r hookstore.Review) (report.Answer, error) {
	if _, nobody := a.ask.(report.Never); nobody {
		return report.NotAsked, nil
	}
	h := manifestHook(r.Manifest)
	h.File, h.Source, h.Size, h.Digest = r.File, r.Source, r.Size, r.Digest()
	h.Key, h.Unsigned = reportKey(r.Signature), r.Signature.Key == ""
	page := report.HookApproval{Hook: h, Questions: r.Questions}
	if r.Before != nil {
		page.More = grant.Words(r.More)
		if h.Key != nil && r.Before.Key == h.Key.Public {
			h.Key.From = "pinned"
		}
	}
	o, _ := report.Terminal(a.show, a.env)
	if _, err := io.WriteString(a.show, page.Render(o)); err != nil {
		return report.NotAsked, err
	}
	text := "Approve it?"
	if r.Replaces != nil {
		text = "Approve it, in place of the built-in " + r.Replaces.ID + "?"
	}
	return a.ask.Ask(ctx, report.Question{Text: text})
}

// change is what is told of a hook that has just been approved.
func (a approval) change(action, id string) report.HookChange {
	c := report.HookChange{Action: action, Changed: true}
	for _, h := range a.store.List().Find(id) {
		if h.State == hookstore.Approved || h.State == hookstore.Disabled && h.Entry != nil {
			shown := reportHook(h)
			c.Hook = &shown
		}
	}
	return c
}

func approvedText(name string, r hookstore.Review, done hookstore.Done) []string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	switch {
	case len(r.Questions) == 0 && r.Before != nil && r.Before.Manifest.Version == r.Manifest.Version: // the same bytes
		say("%s was approved before; its file is in the folder again.", name)
	case len(r.Questions) == 0 && r.Before != nil:
		say("%s is approved: it is signed with the key of %s and asks for no more.", name, r.Before.Manifest.Version)
	default:
		say("%s is approved.", name)
	}
	if r.Before == nil && r.Signature.Key != "" {
		say("Its later versions have to be signed with the same key, %s.", r.Signature.KeyID)
	}
	if r.Signature.Key == "" {
		say("It is not signed: each other version is a question again, and plans say so.")
	}
	if r.Replaces != nil {
		say("It is used in place of the built-in %s. To go back: rigup hooks remove %s", r.Replaces.ID, r.Replaces.ID)
	}
	if !done.Entry.Enabled {
		say("It stays switched off: rigup hooks enable %s", done.Entry.ID)
	}
	if done.Entry.Enabled {
		say("rigup plan --explain shows what it says about this machine.")
	}
	for _, f := range done.Removed {
		say("%s was removed: this version takes its place.", f)
	}
	if done.Kept != "" {
		out = append(out, hookstore.BegunAnew(done.Kept))
	}
	return out
}
