// Command jobs-manager runs in the cluster: it turns a job request into a Kubernetes Job, and shows how the
// job is doing.
//
//	jobs-manager [serve] [--listen :8080]
//	jobs-manager init-data --uid N --gid N --dir PATH=MODE...
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"rigup.dev/rigup/cmd/jobs-manager/internal/data"
	"rigup.dev/rigup/cmd/jobs-manager/internal/jobs"
	"rigup.dev/rigup/cmd/jobs-manager/internal/server"
)

// version is set when the program is built.
var version = "0.0.0-dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	var exit exitCode
	switch {
	case err == nil:
	case errors.As(err, &exit):
		os.Exit(int(exit))
	default:
		fmt.Fprintln(os.Stderr, "jobs-manager:", err)
		os.Exit(1)
	}
}

// exitCode ends the program without another message.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	command := "serve"
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	switch command {
	case "serve":
		return serve(ctx, args, getenv, stderr)
	case "init-data":
		return exit(data.Init(ctx, args, stdout, stderr))
	case data.ProveCommand:
		return exit(data.Prove(args, stderr))
	case "version":
		fmt.Fprintln(stdout, version)
		return nil
	}
	return fmt.Errorf("there is no command %q: use serve, init-data or version", command)
}

func exit(code int) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}

func serve(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) error {
	listen, err := server.ParseFlags(args, getenv("LISTEN"), stderr)
	if err != nil {
		return err
	}
	settings, err := jobs.FromEnv(getenv)
	if err != nil {
		return err
	}
	api, err := jobs.InCluster(settings.Namespace)
	if err != nil {
		return err
	}
	return server.New(server.Options{
		Jobs: jobs.New(settings, api), Reach: api.Reach, Version: version, Go: goVersion(), Log: stderr,
	}).Run(ctx, listen)
}

func goVersion() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.GoVersion
	}
	return "unknown"
}
