package pipeline

import (
	"context"
	"os"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/config"
	"rigup.dev/rigup/core/contract"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/kubeconfig"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/preflight"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/release"
	"rigup.dev/rigup/core/report"
	"rigup.dev/rigup/core/units"
)

// preflightStage holds the machine and everything that was asked against what can work, before anything is
// changed. All that is wrong is told at once.
func preflightStage(ctx context.Context, r *run) (step, error) {
	var failures []error
	fail := func(err error) {
		if err != nil {
			failures = append(failures, err)
		}
	}
	disk := r.engineDisk(ctx)
	for _, f := range preflight.Run(r.requirements(ctx, disk)) {
		if f.Fatal {
			fail(&reason.Error{Reason: f.Reason})
			continue
		}
		r.warn(f.Reason)
	}
	fail(fixed("--node-image", r.cfg.NodeImage))
	fail(r.checkCluster(ctx))
	fail(r.checkChart(ctx))
	fail(r.checkImages(ctx))
	_, err := kubeconfig.Preflight(ctx, r.kubeconfigOptions())
	fail(err)
	if len(failures) == 0 {
		text := ""
		if disk.Free.Known() {
			text = units.Size(int64(disk.Free.Value)) + " free"
		}
		return found(done(text))
	}
	for _, f := range failures[1:] {
		why := reason.Of(f)
		r.emit(event.Event{Type: event.TypeWarning, State: event.Failed, Reason: &why})
	}
	return step{}, failures[0]
}

func (r *run) requirements(ctx context.Context, disk facts.Place) preflight.Input {
	in := preflight.Input{
		Machine:    r.machine,
		EngineDisk: disk,
		DataDir:    r.cfg.DataDir,
		Data:       r.deps.Facts.Place(ctx, r.cfg.DataDir),
		Exists:     present(r.node),
		Engine: preflight.Engine{
			OS: r.info.OS, Arch: r.info.Arch, CPUs: r.info.CPUs, Memory: uint64(r.info.Memory),
			Cgroup: r.info.CgroupVersion, RootDir: r.info.RootDir, InMachine: r.inMachine(),
		},
	}
	// The place of an existing cluster was accepted when it was created.
	if !present(r.node) || r.cfg.dataGiven {
		in.DataProblem = preflight.CheckPlace(r.cfg.DataDir, r.deps.UserHome, r.cfg.Home)
	}
	return in
}

// fixed refuses an image reference that can mean another image tomorrow (N4).
func fixed(flag, ref string) error {
	err := pins.Fixed(ref)
	if err == nil {
		return nil
	}
	return reason.Fail(reason.New(reason.ImageMovingTag, "image", ref, "why", err.Error()).With(flag), nil)
}

// checkCluster plans the cluster once, so that a taken port, a foreign container or a difference that
// cannot be reconciled is found before anything is made.
func (r *run) checkCluster(ctx context.Context) error {
	spec, err := r.spec(ctx)
	if err != nil {
		return err
	}
	r.plan, err = r.clusters.Plan(r.node, spec)
	if err = r.offerRecreate(ctx, err); err == nil && r.consent {
		spec.Recreate = true
		r.plan, err = r.clusters.Plan(r.node, spec)
	}
	return err
}

// offerRecreate asks for consent where only a rebuild of the node can do what was asked. Without somebody to
// ask, the error says which flag gives it.
func (r *run) offerRecreate(ctx context.Context, err error) error {
	if err == nil || reason.Of(err).ID != reason.ClusterDiffers || r.command != "install" {
		return err
	}
	answer, aerr := r.deps.Ask.Ask(ctx, report.Question{
		Text: "Rebuild the cluster's node now?",
		Cost: reason.Of(err).Text + " The node is made anew in about half a minute; your data and everything in the cluster stay.",
	})
	if aerr != nil {
		return aerr
	}
	if answer == report.Yes {
		r.consent = true
		return nil
	}
	return err
}

// checkChart loads the chart and renders it as a first install would be.
func (r *run) checkChart(ctx context.Context) (err error) {
	r.chart, err = release.Load(ctx, r.cfg.Chart, release.LoadOptions{Embedded: r.deps.Files, Registry: r.deps.Registry})
	if err != nil {
		return err
	}
	if content, ok := r.chart.File(contract.File); ok {
		if r.contract, err = contract.Parse(r.chart.Name(), content); err != nil {
			return err
		}
	}
	if err = r.makeImages(); err != nil {
		return err
	}
	// The capability is not known yet; the keys that the contract writes are the same.
	_, err = r.previewRelease(gpu.Capability{})
	return err
}

// checkImages sees that the engine has the images that are to be loaded into the cluster.
func (r *run) checkImages(ctx context.Context) error {
	for _, ref := range r.cfg.LoadImages.Value {
		if err := fixed("--load-image", ref); err != nil {
			return err
		}
		_, err := r.engine.Image(ctx, ref)
		if engine.KindOf(err) == engine.NotFound {
			return reason.Fail(reason.New(reason.ImageNotPresent, "image", ref), nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spec is the cluster that is wanted.
func (r *run) spec(ctx context.Context) (cluster.Spec, error) {
	s := cluster.Spec{
		Cluster:  r.cfg.Cluster,
		Image:    r.cfg.NodeImage,
		DataDir:  r.cfg.DataDir,
		Ports:    cluster.PortRange{First: uint16(r.cfg.APIPort.Value.First), Last: uint16(r.cfg.APIPort.Value.Last)},
		Subnet:   r.cfg.Subnet.Value,
		CgroupV1: r.info.CgroupVersion == "1",
		Recreate: r.cfg.Recreate.Value || r.consent,
		Asked: map[cluster.Field]bool{
			cluster.FieldImage:  r.cfg.imageGiven,
			cluster.FieldData:   r.cfg.dataGiven,
			cluster.FieldPort:   r.cfg.APIPort.Set(),
			cluster.FieldSubnet: r.cfg.Subnet.Set(),
		},
	}
	files, err := r.files(ctx)
	s.Files = files
	return s, err
}

// files is what the node is told about registries and the way to them.
func (r *run) files(ctx context.Context) (cluster.Files, error) {
	f := cluster.Files{
		Mirrors:     cluster.WithEngineMirrors(mirrors(r.cfg.Mirrors.Value), r.info.Mirrors),
		Insecure:    r.info.Insecure,
		Credentials: map[string]engine.Credentials{},
		Proxy:       cluster.ProxyOf(r.info, r.deps.Env),
	}
	if path := r.cfg.CAFile.Value; path != "" {
		ca, err := os.ReadFile(path)
		if err != nil {
			return f, reason.Fail(reason.New(reason.UsageValue, "flag", "--ca-file", "value", path, "allowed", "name a file with PEM certificates"), err)
		}
		f.CA = ca
	}
	for _, host := range cluster.CredentialHosts(f.Mirrors, r.deps.Pins.K3s.Image, r.cfg.NodeImage) {
		c, err := r.deps.Credentials(ctx, host)
		if err != nil {
			// A credential helper that does not work is no reason to stop: public images need none.
			r.log.Warn("credentials", "registry", host, "error", err)
			continue
		}
		if !c.Empty() {
			f.Credentials[host] = c
			r.log.Secret(c.Password, c.IdentityToken, c.RegistryToken)
		}
	}
	return f, nil
}

func mirrors(in []config.Mirror) []cluster.Mirror {
	var out []cluster.Mirror
	for _, m := range in {
		out = cluster.AddMirror(out, m.Host, m.URL)
	}
	return out
}

func (r *run) kubeconfigOptions() kubeconfig.Options {
	return kubeconfig.Options{
		File: r.cfg.Kubeconfig.Value, Env: r.deps.Env, Home: r.deps.UserHome, Cluster: r.cfg.Cluster, Now: r.deps.Now,
	}
}
