package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

// exited ends a command with a code when everything has been said.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run runs one command line, without the program's name, and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	app := p.app()
	args, err := arrange(app, args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, args...))
	}
	var code exited
	switch {
	case err == nil:
		return reason.ExitOK
	case errors.As(err, &code):
		return int(code)
	case ctx.Err() != nil:
		err = reason.Fail(reason.New(reason.Interrupted), nil)
	}
	return p.fail(err, p.wantsJSON(args))
}

// wantsJSON reads --output from a command line that may not be valid otherwise.
func (p *program) wantsJSON(args []string) bool {
	format := p.env("RIGUP_OUTPUT")
	for i, a := range args {
		switch name, value, has := strings.Cut(strings.TrimLeft(a, "-"), "="); {
		case name != "output" || a == name:
		case has:
			format = value
		case i+1 < len(args):
			format = args[i+1]
		}
	}
	return format == report.JSON
}

// app is the command line. Nothing here may take time: it is built for every command.
func (p *program) app() *cli.App {
	app := &cli.App{
		Name:  "rigup",
		Usage: "from a machine with Docker to training jobs in Kubernetes, on the GPU where that works",
		Commands: []*cli.Command{
			p.install(), p.plan(), p.status(), p.uninstall(), p.hooks(), p.facts(), p.kubeconfig(), p.assets(), p.versionCommand(), p.completion(), p.complete(),
		},
		Flags:                     globals(),
		Action:                    p.welcome,
		HideVersion:               true,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true, // a value may hold commas
		Writer:                    p.out,
		ErrWriter:                 p.err,
		ExitErrHandler:            func(*cli.Context, error) {}, // run decides
		OnUsageError:              badUsage,
	}
	app.CustomAppHelpTemplate = appHelp(app)
	for _, c := range app.Commands {
		finish(c, app.Name)
	}
	return app
}

// finish gives a command what all have: the global flags, the form of its help and of its errors.
func finish(c *cli.Command, parent string) {
	c.HelpName = parent + " " + c.Name
	c.HideHelpCommand = true
	c.Flags = append(c.Flags, globals()...)
	c.OnUsageError = badUsage
	for _, sub := range c.Subcommands {
		finish(sub, c.HelpName)
	}
	c.CustomHelpTemplate = commandHelp(c)
}

// badUsage is reached only by what arrange lets through.
func badUsage(c *cli.Context, err error, _ bool) error {
	return reason.Fail(reason.New(reason.UsageNeeds, "command", c.Command.HelpName, "what", "another command line: "+err.Error()), nil)
}

// fail shows an error that ends a command without a run to show it, and returns the exit code. Of mistakes on
// the command line people see what is wrong and nothing else.
func (p *program) fail(err error, asJSON bool) int {
	why := reason.Of(err)
	code := why.Exit()
	if asJSON {
		report.NewJSON(report.Options{Out: p.out}).Emit(event.Event{Type: event.TypeResult, Reason: &why, Exit: &code})
		return code
	}
	if strings.HasPrefix(string(why.ID), "usage.") {
		_, _ = fmt.Fprintln(p.err, "rigup: "+why.Text)
		for _, r := range why.Remedy {
			_, _ = fmt.Fprintln(p.err, "       "+r)
		}
		return code
	}
	o, _ := report.Terminal(p.err, p.env)
	_, _ = io.WriteString(p.err, report.Problems(o, why))
	return code
}

// config reads the settings for a command line.
func (p *program) config(c *cli.Context) (config.Config, error) {
	home, err := p.home()
	if err != nil {
		return config.Config{}, reason.Fail(reason.New(reason.UsageNeeds, "command", "rigup", "what", "a home directory: set HOME"), err)
	}
	dir, err := p.configDir()
	if err != nil {
		dir = "" // no such directory: no file in it
	}
	work, err := p.workDir()
	if err != nil {
		return config.Config{}, fmt.Errorf("find the working directory: %w", err)
	}
	return config.Load(config.Input{
		Flags: given(c), Env: p.env, ReadFile: os.ReadFile, UserHome: home, ConfigDir: dir, WorkDir: work,
	})
}

// look prepares a command that shows what is there: its settings, a runner that asks nothing, and a context with
// the run's time limit, which the caller cancels.
func (p *program) look(c *cli.Context) (context.Context, context.CancelFunc, config.Config, runner, error) {
	cfg, err := p.config(c)
	if err != nil {
		return nil, nil, cfg, nil, err
	}
	ctx, cancel := context.WithTimeout(c.Context, cfg.Timeout.Value)
	r, err := p.runner(ctx, options{cfg, report.Never{}})
	if err != nil {
		cancel()
		return nil, nil, cfg, nil, err
	}
	return ctx, cancel, cfg, r, nil
}

// given returns the flags that stand on the command line, wherever they stand: before the command or after it.
func given(c *cli.Context) map[string][]string {
	out := map[string][]string{}
	for _, at := range c.Lineage() {
		if at.Command == nil {
			continue
		}
		for _, name := range at.LocalFlagNames() {
			if _, ok := out[name]; ok {
				continue // the one nearest to the command counts
			}
			switch v := at.Value(name).(type) {
			case cli.StringSlice:
				out[name] = v.Value()
			default:
				out[name] = []string{fmt.Sprint(v)}
			}
		}
	}
	return out
}

// terminal reports whether there is somebody to ask.
func (p *program) terminal() bool {
	in, okIn := p.in.(*os.File)
	e, okErr := p.err.(*os.File)
	return okIn && okErr && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(e.Fd()))
}

// asker asks the owner, if that is possible and wanted.
func (p *program) asker(cfg config.Config) report.Asker {
	switch {
	case cfg.Yes.Value:
		return report.Always{}
	case !p.terminal():
		return report.Never{}
	}
	return report.Prompt{In: p.in, Out: p.err, Pause: func() func() {
		if live, ok := p.shown().(*report.Live); ok {
			return live.Pause()
		}
		return func() {}
	}}
}

// watch runs a run: it renders what the run tells, and sees to it that a result is the last thing told.
func (p *program) watch(c *cli.Context, command string, cfg config.Config, work func(context.Context, runner, event.Sink) int) error {
	rep := report.Open(cfg.Output.Value, report.Show{Verbose: cfg.Verbose.Value, Explain: cfg.Explain.Value}, p.out, p.env)
	p.show(rep)
	defer p.show(nil)
	defer rep.Close()
	sink := &last{Sink: rep}
	r, err := p.runner(c.Context, options{cfg, p.asker(cfg)})
	if err != nil {
		sink.Emit(event.Event{Type: event.TypeRun, Run: &event.Run{Schema: event.Schema, Command: command, Cluster: cfg.Cluster.Value, Version: version}})
		return sink.end(err)
	}
	if code := work(c.Context, r, sink); code != reason.ExitOK {
		return exited(code)
	}
	return nil
}

// last knows whether the result was told.
type last struct {
	event.Sink
	told bool
}

func (s *last) Emit(e event.Event) {
	s.told = s.told || e.Type == event.TypeResult
	s.Sink.Emit(e)
}

// end tells the result of a run that could not begin.
func (s *last) end(err error) error {
	why := reason.Of(err)
	code := why.Exit()
	if !s.told {
		s.Emit(event.Event{Type: event.TypeResult, Reason: &why, Exit: &code})
	}
	return exited(code)
}

// welcome is what `rigup` alone shows.
func (p *program) welcome(*cli.Context) error {
	_, err := io.WriteString(p.out, `rigup takes this machine from Docker to Kubernetes with your workload on it,
on the GPU where that can be proven to work, otherwise on the CPU with a reason.

  rigup plan       what would be done; changes nothing
  rigup install    does it
  rigup status     what runs, in which mode, and why

rigup --help lists every command, rigup COMMAND --help its flags.
`)
	return err
}
