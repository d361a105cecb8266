// Command rigup takes a machine that has Docker to a Kubernetes cluster with a workload on it, on the GPU where
// that can be proven to work.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/report"
)

// version is set when a release is built: -ldflags "-X main.version=1.2.3".
var version = "0.1.0-dev"

func main() {
	if isHookChild(os.Args) {
		os.Exit(hookChild())
	}
	p := &program{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv, now: time.Now, runner: newRunner,
		home: os.UserHomeDir, configDir: os.UserConfigDir, workDir: os.Getwd,
	}
	ctx, stop := p.interruptible(context.Background())
	code := p.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// program is the world of a command.
type program struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	now      func() time.Time
	runner   func(context.Context, options) (runner, error)

	home, configDir, workDir func() (string, error)

	mu       sync.Mutex
	reporter report.Reporter // of the run that is on; nil between runs
}

// show makes a reporter the one that hears of an interruption.
func (p *program) show(r report.Reporter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reporter = r
}

func (p *program) shown() report.Reporter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reporter
}

// interruptible returns a context that the first Ctrl-C (or SIGTERM) ends. The second ends the program at once.
func (p *program) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		if r := p.shown(); r != nil {
			r.Interrupt()
		}
		cancel()
		if _, ok := <-signals; !ok {
			return
		}
		if r := p.shown(); r != nil {
			r.Close() // the cursor comes back
		}
		os.Exit(reason.ExitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel()
	}
}
