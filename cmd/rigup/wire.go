package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"time"

	"rigup.dev/rigup"
	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/hookstore"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/lock"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/pipeline"
	"rigup.dev/rigup/core/probe"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/hooks/sdk"
)

// runner does what the commands ask for. The sink of a run gets everything up to the result event; the number
// returned is the exit code.
type runner interface {
	// Install brings the machine to what is asked; with plan set it only says what it would do.
	Install(ctx context.Context, sink event.Sink, plan bool) int
	Uninstall(ctx context.Context, sink event.Sink) int
	Status(ctx context.Context) (report.Status, error)
	// Facts writes down what is observed of the machine, without anything that names its owner.
	Facts(ctx context.Context) (sdk.Machine, error)
	// Kubeconfig returns the cluster's own kubeconfig. With merge set its context is also written to the user's.
	Kubeconfig(ctx context.Context, merge bool) (kubeconfigFile, error)
}

// kubeconfigFile is a kubeconfig and where it is.
type kubeconfigFile struct {
	Content []byte
	Path    string // the file that has the context: the cluster's own, or the user's after a merge
	Context string // the name of the context
}

// options are what a runner is made for.
type options struct {
	config.Config
	Ask report.Asker
}

// factLimit is how long one source of facts may take before it counts as unknown.
const factLimit = 5 * time.Second

// newRunner connects the parts that do the work. It is the only place that knows them, and it is called when a
// command needs them, so that the others start at once.
func newRunner(_ context.Context, o options) (runner, error) {
	// Helm's libraries write remarks about charts to the standard logger, which is the terminal.
	log.SetOutput(io.Discard)
	p, err := pins.Read(rigup.Files)
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	around := engine.Machine(runtime.GOOS)
	keychain := engine.NewKeychain(around)
	machine := facts.ThisMachine(factLimit)
	return real{cfg: o.Config, deps: pipeline.Deps{
		Version:  version,
		Files:    rigup.Files,
		Pins:     p,
		Now:      time.Now,
		Env:      os.Getenv,
		UserHome: home,
		Owner:    thisProcess(),
		Facts:    machine,
		Hooks: func() ([]decision.Hook, []reason.Reason, error) {
			s, err := hookStore(o.Config, time.Now)
			if err != nil {
				return nil, nil, err
			}
			v := s.Glance()
			return v.Usable(), v.Notes(), nil
		},
		Runner: hookhost.New(hookhost.Options{Memory: hookhost.DirMemory(filepath.Join(o.Home, "cache", "hooks"))}),
		Prober: func(e pipeline.Engine, pull bool) decision.Prober {
			p := probe.Prober{Machine: machine, Engine: e, Endpoint: e.Endpoint(), Registries: trusting(o.CAFile.Value)}
			if pull {
				p.Pull = func(ctx context.Context, ref string) error { return bring(ctx, e, ref, keychain.For) }
			}
			return p
		},
		Engine: func(ctx context.Context, host string) (pipeline.Engine, error) {
			return engine.Open(ctx, engine.Options{Host: host, MinAPI: p.Engine.MinAPI, Surroundings: around})
		},
		Host:        cluster.ThisHost(os.DirFS("/")),
		Credentials: keychain.For,
		Kube:        func(kubeconfig []byte) (kube.API, error) { return kube.New(kubeconfig) },
		Release:     func(o release.Options) (pipeline.Release, error) { return release.New(o) },
		Registry:    release.RegistryOptions{Transport: trusting(o.CAFile.Value)},
		Ask:         o.Ask,
	}}, nil
}

// hookStore is the folder of hooks, with those that come with the program.
func hookStore(cfg config.Config, now func() time.Time) (hookstore.Store, error) {
	builtIn, err := hookstore.FromProgram(rigup.Files)
	if err != nil {
		return hookstore.Store{}, err
	}
	return hookstore.Store{Dir: filepath.Join(cfg.Home, "hooks"), BuiltIn: builtIn, Now: now, By: thisProcess().User}, nil
}

// bring pulls an image that the engine does not have.
func bring(ctx context.Context, e pipeline.Engine, ref string, credentials func(context.Context, string) (engine.Credentials, error)) error {
	about, err := e.Info(ctx)
	if err != nil {
		return err
	}
	p, err := nodeimage.Look(ctx, e, nodeimage.Want{Ref: ref, OS: "linux", Arch: about.Arch})
	if err != nil {
		return err
	}
	_, err = nodeimage.Ensure(ctx, e, p, nodeimage.Source{Credentials: credentials, Mirrors: about.Mirrors})
	return err
}

// trusting is how charts are fetched where the owner's network has a CA of its own; nil: as the system does. A
// file that cannot be read is named by the preflight.
func trusting(caFile string) http.RoundTripper {
	ca, err := os.ReadFile(caFile)
	if caFile == "" || err != nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	pool.AppendCertsFromPEM(ca)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
	}
}

// thisProcess is who holds the lock: for the message to whoever finds it held.
func thisProcess() lock.Owner {
	o := lock.Owner{PID: os.Getpid(), User: "an unknown user"}
	if u, err := user.Current(); err == nil {
		o.User = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		o.Host = h
	}
	return o
}

// real is the runner on this machine.
type real struct {
	cfg  config.Config
	deps pipeline.Deps
}

func (r real) Install(ctx context.Context, sink event.Sink, plan bool) int {
	return pipeline.Install(ctx, r.deps, r.cfg, sink, plan).Exit
}

func (r real) Uninstall(ctx context.Context, sink event.Sink) int {
	return pipeline.Uninstall(ctx, r.deps, r.cfg, sink).Exit
}

func (r real) Status(ctx context.Context) (report.Status, error) {
	return pipeline.Status(ctx, r.deps, r.cfg), nil
}

func (r real) Kubeconfig(ctx context.Context, merge bool) (kubeconfigFile, error) {
	content, path, name, err := pipeline.Kubeconfig(ctx, r.deps, r.cfg, merge)
	return kubeconfigFile{Content: content, Path: path, Context: name}, err
}

func (r real) Facts(ctx context.Context) (sdk.Machine, error) {
	return pipeline.MachineFacts(ctx, r.deps, r.cfg)
}
