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
	"runtime"
	"time"

	"rigup.dev/rigup"
	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/lock"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/pipeline"
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
	return real{cfg: o.Config, deps: pipeline.Deps{
		Version:  version,
		Files:    rigup.Files,
		Pins:     p,
		Now:      time.Now,
		Env:      os.Getenv,
		UserHome: home,
		Owner:    thisProcess(),
		Facts:    facts.Observer{Root: "/", Limit: factLimit},
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
