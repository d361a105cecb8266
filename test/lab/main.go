// Command lab gives rigup's end-to-end tests real parts: Docker engines, a
// registry, and a stand-in for the k3s image that carries the real Kubernetes.
// See README.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: lab COMMAND
  doctor                          exit 0 if this machine can run the lab, else 3 and why
  build   [--engine 20,29]        build every piece that the cache lacks
  up      [--engine 20,29]        engines, registries and images; safe to repeat
  info    [--engine 20]           where things are, as JSON
  exec    [--engine 20] [--dir D] -- CMD ARGS...   run CMD in the engine's network
  restart [--engine 20]           restart dockerd
  down    [--engine 20,29]        remove what up made (default: all engines)
  clean                           down, and empty the cache
`

// exitCannot says that the machine, not the lab, is at fault.
const exitCannot = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := command(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func command(ctx context.Context, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2
	}
	o, err := parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "lab: %v\n%s", err, usage)
		return 2
	}
	if why := cannot(); why != "" {
		fmt.Fprintln(os.Stderr, "lab: "+why)
		return exitCannot
	}
	switch o.command {
	case "doctor":
		return 0
	case "build":
		err = build(ctx, o)
	case "up":
		err = up(ctx, o)
	case "info":
		err = info(ctx, o, os.Stdout)
	case "exec":
		err = enter(o)
	case "restart":
		err = restart(ctx, o)
	case "down":
		err = down(ctx, o)
	case "clean":
		if err = down(ctx, o); err == nil {
			err = os.RemoveAll(cacheDir())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		return 1
	}
	return 0
}

type options struct {
	command string
	engines []*engine
	dir     string
	args    []string
}

var commands = map[string]string{
	"doctor": "20", "build": "20", "up": "20", "info": "20", "exec": "20", "restart": "20",
	"down": strings.Join(engineNames, ","), "clean": strings.Join(engineNames, ","),
}

func parse(args []string) (*options, error) {
	o := &options{command: args[0]}
	def, ok := commands[o.command]
	if !ok {
		return nil, fmt.Errorf("no command %q", o.command)
	}
	fs := flag.NewFlagSet(o.command, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	names := fs.String("engine", def, "")
	fs.StringVar(&o.dir, "dir", "", "")
	if err := fs.Parse(args[1:]); err != nil {
		return nil, err
	}
	for _, n := range strings.Split(*names, ",") {
		e, err := newEngine(strings.TrimSpace(n))
		if err != nil {
			return nil, err
		}
		o.engines = append(o.engines, e)
	}
	o.args = fs.Args()
	switch {
	case o.command == "exec" && len(o.args) == 0:
		return nil, fmt.Errorf("exec: no command given")
	case o.command != "exec" && len(o.args) > 0:
		return nil, fmt.Errorf("%s: unexpected %q", o.command, o.args[0])
	case (o.command == "exec" || o.command == "info") && len(o.engines) != 1:
		return nil, fmt.Errorf("%s: one engine", o.command)
	}
	return o, nil
}

func (o *options) wants29() bool {
	for _, e := range o.engines {
		if e.name == "29" {
			return true
		}
	}
	return false
}

func build(ctx context.Context, o *options) error {
	b, p, err := newBuilder()
	if err != nil {
		return err
	}
	if err := installPackages(ctx); err != nil {
		return err
	}
	return ensure(ctx, b, p.list(o.wants29()))
}

func up(ctx context.Context, o *options) error {
	if err := lock(stateDir()); err != nil {
		return err
	}
	begun := time.Now()
	b, p, err := newBuilder()
	if err != nil {
		return err
	}
	if err := installPackages(ctx); err != nil {
		return err
	}
	if err := ensure(ctx, b, p.list(o.wants29())); err != nil {
		return err
	}
	if err := keepProgram(); err != nil {
		return err
	}
	for _, e := range o.engines {
		if err := step("engine "+e.name, "starting", nil, func() error { return e.start(ctx, b, p) }); err != nil {
			return err
		}
		if err := step("registry "+e.name, "starting", nil, func() error { return e.startRegistries(ctx) }); err != nil {
			return err
		}
		err := step("images "+e.name, "pushing what the registries lack", nil, func() error {
			n, err := e.pushImages(ctx, b.dir(p.images))
			if n > 0 {
				fmt.Printf("%-12s pushed %d\n", "images "+e.name, n)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("up in %.1fs; the program is kept at %s\n", time.Since(begun).Seconds(), programPath())
	return nil
}

// programPath is where up leaves a copy of this program. "go run" stands
// between its caller and the program, turns every exit code into 1 and takes
// signals for itself; tests that care run the copy.
func programPath() string { return filepath.Join(cacheDir(), "bin", "lab") }

func keepProgram() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if self == programPath() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(programPath()), 0o755); err != nil {
		return err
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return writeFile(programPath(), b, 0o755)
}

func down(ctx context.Context, o *options) error {
	if err := lock(stateDir()); err != nil {
		return err
	}
	for _, e := range o.engines {
		if err := step("engine "+e.name, "removing", nil, func() error { return e.remove(ctx) }); err != nil {
			return err
		}
	}
	left, err := filepath.Glob(filepath.Join(stateDir(), "engine-*"))
	if err == nil && len(left) == 0 {
		err = os.RemoveAll(stateDir())
	}
	return err
}

func restart(ctx context.Context, o *options) error {
	if err := lock(stateDir()); err != nil {
		return err
	}
	b, p, err := newBuilder()
	if err != nil {
		return err
	}
	for _, e := range o.engines {
		err := step("engine "+e.name, "restarting dockerd", nil, func() error {
			e.dockerd().stop(60 * time.Second)
			return e.start(ctx, b, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// enter becomes the command, in the engine's network: nothing stands between
// the caller and it, so signals, terminal and exit code are the command's.
func enter(o *options) error {
	e := o.engines[0]
	if e.dockerd().pid() == 0 {
		return fmt.Errorf("engine %s is not up", e.name)
	}
	bin, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	if o.dir != "" {
		if err := os.Chdir(o.dir); err != nil {
			return err
		}
	}
	if err := os.Setenv("DOCKER_HOST", "unix://"+e.socket()); err != nil {
		return err
	}
	return syscall.Exec(bin, append([]string{"nsenter", "--net=" + e.net.path(), "--"}, o.args...), os.Environ())
}

func info(ctx context.Context, o *options, w io.Writer) error {
	e := o.engines[0]
	v, err := e.version(ctx)
	if err != nil {
		return fmt.Errorf("engine %s is not up: %w", e.name, err)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string]any{
		"engine": e.name, "version": v.Version, "apiVersion": v.ApiVersion,
		"socket": e.socket(), "netns": e.net.path(), "address": e.net.eng, "host": e.net.host, "lab": programPath(),
		"registry": map[string]string{"address": e.registry(), "user": registryUser, "password": registryPassword},
		"mirror":   e.mirror(),
	})
}
