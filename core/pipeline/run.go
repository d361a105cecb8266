package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/contract"
	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/kube"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/lock"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/runlog"
	"rigup.dev/rigup/core/state"
	"rigup.dev/rigup/hooks/sdk"
)

// run is one run of a command: what it was asked, what it found, and what it made. Stages fill it from top
// to bottom; a stage reads only what earlier ones found.
type run struct {
	deps Deps
	cfg  asked
	sink event.Sink
	log  *runlog.Log

	command string
	stage   string
	begun   time.Time
	told    time.Time // when progress was told last

	// after is done in the end, when the log and the lock are closed.
	after []func() error

	store   state.Store
	state   state.State
	changed bool

	// observe
	engine  Engine
	info    engine.Info
	machine facts.Machine
	facts   sdk.Facts
	hooks   []decision.Hook
	// hookNotes is what the owner should know about hooks that are not used.
	hookNotes []reason.Reason
	clusters  *cluster.Manager
	node      cluster.State
	consent   bool // to a rebuild of the node

	// preflight
	plan     cluster.Plan
	chart    *release.Chart
	contract contract.Contract
	images   []helperImage

	// decide, prove
	decided    decision.Plan
	capability gpu.Capability

	// image, cluster
	kubeconfig []byte
	context    kubeconfig.Result
	kube       kube.API

	// deploy
	release  release.Status
	workload []kube.Workload
}

// asked is what the run is to do: the configuration, with what an earlier run was asked for in the place of
// defaults.
type asked struct {
	config.Config
	GPU                                  string
	Cluster                              string
	Chart, Namespace, Release, NodeImage string
	DataDir                              string
	imageGiven, dataGiven                bool
}

// helperImage is an image that rigup makes out of an embedded program.
type helperImage struct {
	helper  string
	archive nodeimage.Archive
}

func newRun(d Deps, cfg config.Config, sink event.Sink, log *runlog.Log) *run {
	return &run{
		deps: d, sink: sink, log: log,
		cfg: asked{
			Config: cfg, GPU: string(cfg.GPU.Value), Cluster: cfg.Cluster.Value,
			Chart: cfg.Chart.Value, Namespace: cfg.Namespace.Value, Release: cfg.Release.Value,
			NodeImage: cfg.NodeImage.Value, DataDir: cfg.DataDir.Value,
			imageGiven: cfg.NodeImage.Set(), dataGiven: cfg.DataDir.Set(),
		},
		store: state.Store{Path: filepath.Join(cfg.Dir(), "state.json"), Now: d.Now},
	}
}

// adopt takes what an earlier run was asked for in the place of this run's defaults: "rigup install" starts
// a stopped cluster with the chart it was installed with, without every flag being said again.
func (r *run) adopt(st state.State) {
	r.state = st
	take := func(into *string, set bool, had string) {
		if !set && had != "" {
			*into = had
		}
	}
	take(&r.cfg.Chart, r.cfg.Config.Chart.Set(), st.Source)
	take(&r.cfg.Namespace, r.cfg.Config.Namespace.Set(), st.Namespace)
	take(&r.cfg.Release, r.cfg.Config.Release.Set(), st.Release)
	take(&r.cfg.NodeImage, r.cfg.imageGiven, st.AskedImage)
	take(&r.cfg.GPU, r.cfg.Config.GPU.Set(), st.AskedGPU)
	if r.cfg.NodeImage == "" {
		r.cfg.NodeImage = r.deps.Pins.K3s.Image
	}
}

// Ended is how a run ended.
type Ended struct {
	Exit   int
	Reason *reason.Reason
}

// Install brings the machine to what cfg asks for, and tells the sink about it. With plan set it only says
// what it would do.
func Install(ctx context.Context, d Deps, cfg config.Config, sink event.Sink, plan bool) Ended {
	command := "install"
	if plan {
		command = "plan"
	}
	return begin(ctx, d, cfg, sink, command, func(ctx context.Context, r *run) error {
		return r.play(ctx, stages(), plan)
	})
}

// begin does what every run has around its stages: time limit, lock, log, first and last event.
func begin(ctx context.Context, d Deps, cfg config.Config, sink event.Sink, command string, work func(context.Context, *run) error) Ended {
	if limit := cfg.Timeout.Value; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	r := newRun(d, cfg, sink, runlog.Discard())
	r.command = command
	r.announce(command)
	var err error
	if command != "plan" {
		err = r.guarded(command, func() error {
			err := interrupted(ctx, work(ctx, r))
			r.failed(err)
			return err
		})
	} else {
		err = interrupted(ctx, work(ctx, r))
	}
	if r.engine != nil {
		r.engine.Close()
	}
	_ = r.deps.Runner.Close()
	for _, f := range r.after {
		err = errors.Join(err, f())
	}
	return r.end(err)
}

// guarded holds the cluster's lock and keeps a log during the work.
func (r *run) guarded(command string, work func() error) error {
	me := r.deps.Owner
	me.Command, me.Since = command, r.deps.Now()
	l, err := lock.Acquire(r.cfg.Dir(), r.cfg.Cluster, me)
	if err != nil {
		return err
	}
	defer l.Release()
	defer func() { r.log.Close() }()
	if r.log, err = runlog.Open(filepath.Join(r.cfg.Dir(), "log"), command, r.deps.Now()); err != nil {
		return reason.Fail(reason.New(reason.StateWrite, "path", filepath.Join(r.cfg.Dir(), "log")), err)
	}
	r.stage = "observe"
	if l.Stale != nil {
		r.warn(*l.Stale)
	}
	return work()
}

// announce tells what runs. It is called again once the machine was observed.
func (r *run) announce(command string) {
	r.emit(event.Event{Type: event.TypeRun, Run: &event.Run{
		Schema: event.Schema, Command: command, Cluster: r.cfg.Cluster, Version: r.deps.Version, Machine: r.describe(),
	}})
}

// passed writes down how far the run is, once it has begun to change things.
func (r *run) passed(stage string) error {
	if !r.changed || stage == "report" {
		return nil
	}
	st := r.state
	st.Stage, st.Complete, st.Failure = stage, false, nil
	return r.save(st)
}

// save writes the state if it says something new.
func (r *run) save(st state.State) error {
	st.Cluster, st.Version = r.cfg.Cluster, r.deps.Version
	st.Updated = r.state.Updated
	if reflect.DeepEqual(st, r.state) {
		return nil
	}
	st.Updated = r.deps.Now().UTC()
	if err := r.store.Write(st); err != nil {
		return err
	}
	r.state = st
	return nil
}

// failed writes down why an install stopped, once it had begun to change things.
func (r *run) failed(err error) {
	if err == nil {
		return
	}
	r.log.Error("run failed", "error", err.Error())
	if r.command != "install" || !r.changed {
		return
	}
	why := reason.Of(err)
	st := r.state
	st.Complete, st.Failure = false, &why
	if err := r.save(st); err != nil {
		r.log.Error("state not written", "error", err.Error())
	}
}

// end tells how the run ended. It is the only place that sends a result.
func (r *run) end(err error) Ended {
	exit := reason.ExitOK
	mode := "cpu"
	var why *reason.Reason
	if gone, ok := r.capability.Reason(); ok {
		why = &gone
	} else {
		mode = "gpu"
	}
	res := r.result()
	if err != nil {
		failed := reason.Of(err)
		why, exit = &failed, failed.Exit()
	}
	r.emit(event.Event{Type: event.TypeResult, Mode: mode, Reason: why, Exit: &exit, Result: res})
	return Ended{Exit: exit, Reason: why}
}

func (r *run) result() *event.Result {
	res := &event.Result{
		Changed: r.changed, Context: r.context.Context, Kubeconfig: r.context.File,
		Release: r.release.Release, Namespace: r.release.Namespace, Log: r.log.Path,
	}
	if r.release.Chart != "" {
		res.Chart = r.release.Chart + " " + r.release.ChartVersion
	}
	if present(r.node) {
		res.DataDir = r.node.Settings.DataDir
		if res.DataDir == "" {
			res.DataDir = r.cfg.DataDir
		}
		res.API = api(r.node.Settings.Port)
		res.Restart = r.restart()
		if !r.node.Node.Started.IsZero() {
			res.Since = r.node.Node.Started.UTC().Format(time.RFC3339)
		}
	}
	return res
}

func api(port uint16) string { return "https://127.0.0.1:" + strconv.Itoa(int(port)) }

// restart says what brings the cluster back after the machine was off: as the environment hook says it, if one was
// asked.
func (r *run) restart() string {
	if s := r.decided.Environment.Restart; s != "" {
		return s
	}
	if r.inMachine() {
		return "comes back by itself when the Docker engine starts"
	}
	return "comes back by itself when " + r.info.Distro + " starts"
}

func itoa(n int) string { return strconv.Itoa(n) }

// lower is a sentence that goes on after a colon, unless it begins with a name.
func lower(s string) string {
	first, n := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[n:])
	if unicode.IsUpper(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[n:]
}

// present reports whether the cluster has a node that an earlier run finished.
func present(st cluster.State) bool {
	return st.Phase == cluster.Running || st.Phase == cluster.Stopped || st.Phase == cluster.Crashed
}
