package engine

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/pkg/stdcopy"
	"github.com/docker/go-connections/nat"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Mount puts a directory of the engine's machine (Bind) or a volume into a container.
type Mount struct {
	Bind     string // absolute path on the engine's machine
	Volume   string // name of a volume; "" with Bind
	Target   string // path in the container
	ReadOnly bool
	Alone    bool // Bind: without what is mounted below it
}

// Port publishes a TCP port of a container.
type Port struct {
	Host      netip.Addr
	Published uint16
	Container uint16
}

// Device passes a device node.
type Device struct {
	Path        string // on the engine's machine
	Target      string // in the container; "" means the same
	Permissions string // of rwm; "" means all
}

// DeviceRequest asks a device driver of the engine (nvidia, cdi) for devices.
type DeviceRequest struct {
	Driver       string
	Count        int // -1 means all; 0 with IDs
	IDs          []string
	Capabilities [][]string
	Options      map[string]string
}

// ContainerSpec is a container to create.
type ContainerSpec struct {
	Name       string
	Image      string
	OS, Arch   string // of a multi-platform image; empty means the engine's own
	Labels     map[string]string
	Hostname   string
	Entrypoint []string
	Cmd        []string
	Env        []string // NAME=value; visible to everybody who may inspect: no secrets
	User       string
	Privileged bool
	// PrivateCgroup gives the container a cgroup namespace of its own.
	PrivateCgroup bool
	// NoInit keeps an engine that puts an init process in front of every container from doing so here.
	NoInit   bool
	Tmpfs    map[string]string // path to mount options
	Mounts   []Mount
	Network  string // name or id; "" is the engine's default bridge, "none" is none
	Ports    []Port
	Restart  string // restart policy: "", unless-stopped
	Devices  []Device
	Requests []DeviceRequest
	Groups   []string // further groups of the process
	Limits   Limits
}

// Container is a container as the engine describes it. Lists fill in only the fields up to State.
type Container struct {
	ID     string
	Name   string
	Image  string // the reference it was created with
	Labels map[string]string
	State  string // created, running, paused, restarting, removing, exited, dead

	ImageID    string
	ExitCode   int
	Error      string // what kept it from starting
	OOMKilled  bool
	Restarts   int // how often the engine restarted it by itself
	Started    time.Time
	Finished   time.Time
	Hostname   string
	Entrypoint []string
	Cmd        []string
	Privileged bool
	Restart    string
	Mounts     []Mount // as asked for at creation
	Ports      []Port  // as asked for at creation
	Networks   []string
	Devices    []Device
	Requests   []DeviceRequest
	Groups     []string
}

// Containers lists containers in any state that have all of the labels; all containers without labels.
func (e *Engine) Containers(ctx context.Context, labels map[string]string) ([]Container, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "list containers")
	f := filters.NewArgs()
	for k, v := range labels {
		f.Add("label", k+"="+v)
	}
	list, err := e.cli.ContainerList(ctx, container.ListOptions{All: true, Filters: f})
	if err = done(err); err != nil {
		return nil, err
	}
	out := make([]Container, 0, len(list))
	for _, c := range list {
		name := ""
		for _, n := range c.Names {
			// Links add names with a second slash.
			if n = strings.TrimPrefix(n, "/"); !strings.Contains(n, "/") {
				name = n
			}
		}
		out = append(out, Container{ID: c.ID, Name: name, Image: c.Image, Labels: c.Labels, State: string(c.State)})
	}
	return out, nil
}

// Container inspects one container by id or name. Its absence is an error of kind NotFound.
func (e *Engine) Container(ctx context.Context, id string) (Container, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "inspect the container "+ShortID(id))
	in, err := e.cli.ContainerInspect(ctx, id)
	if err = done(err); err != nil {
		return Container{}, err
	}
	c := Container{ID: in.ID, Name: strings.TrimPrefix(in.Name, "/"), ImageID: in.ContainerJSONBase.Image, Restarts: in.RestartCount}
	if s := in.State; s != nil {
		c.State, c.ExitCode, c.Error, c.OOMKilled = string(s.Status), s.ExitCode, s.Error, s.OOMKilled
		c.Started, c.Finished = moment(s.StartedAt), moment(s.FinishedAt)
	}
	if f := in.Config; f != nil {
		c.Image, c.Labels, c.Hostname, c.Entrypoint, c.Cmd = f.Image, f.Labels, f.Hostname, f.Entrypoint, f.Cmd
	}
	if h := in.HostConfig; h != nil {
		fromHost(&c, h)
	}
	if in.NetworkSettings != nil {
		for name := range in.NetworkSettings.Networks {
			c.Networks = append(c.Networks, name)
		}
	}
	return c, nil
}

func fromHost(c *Container, h *container.HostConfig) {
	c.Privileged, c.Restart, c.Groups = h.Privileged, string(h.RestartPolicy.Name), h.GroupAdd
	for _, m := range h.Mounts {
		out := Mount{Target: m.Target, ReadOnly: m.ReadOnly}
		if m.Type == mount.TypeVolume {
			out.Volume = m.Source
		} else {
			out.Bind = m.Source
		}
		c.Mounts = append(c.Mounts, out)
	}
	for p, binds := range h.PortBindings {
		for _, b := range binds {
			host, _ := netip.ParseAddr(b.HostIP)
			n, _ := strconv.ParseUint(b.HostPort, 10, 16)
			c.Ports = append(c.Ports, Port{Host: host, Published: uint16(n), Container: uint16(p.Int())})
		}
	}
	for _, d := range h.Devices {
		c.Devices = append(c.Devices, Device{Path: d.PathOnHost, Target: d.PathInContainer, Permissions: d.CgroupPermissions})
	}
	for _, r := range h.DeviceRequests {
		c.Requests = append(c.Requests, DeviceRequest{Driver: r.Driver, Count: r.Count, IDs: r.DeviceIDs, Capabilities: r.Capabilities, Options: r.Options})
	}
}

func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() < 2 {
		return time.Time{} // the engine writes the year 1 for "never"
	}
	return t
}

// CreateContainer creates a container without starting it and returns its id.
func (e *Engine) CreateContainer(ctx context.Context, s ContainerSpec) (string, error) {
	ctx, done := e.limited(ctx, e.timeouts.Change, "create the container "+s.Name)
	cfg := &container.Config{Image: s.Image, Labels: s.Labels, Hostname: s.Hostname, Entrypoint: s.Entrypoint, Cmd: s.Cmd, Env: s.Env, User: s.User}
	host := &container.HostConfig{Privileged: s.Privileged, Tmpfs: s.Tmpfs, NetworkMode: container.NetworkMode(s.Network),
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyMode(s.Restart)}, GroupAdd: s.Groups}
	if s.NoInit {
		host.Init = new(bool)
	}
	s.Limits.apply(host)
	if s.PrivateCgroup {
		host.CgroupnsMode = container.CgroupnsModePrivate
	}
	for _, m := range s.Mounts {
		t, src := mount.TypeBind, m.Bind
		if m.Volume != "" {
			t, src = mount.TypeVolume, m.Volume
		}
		out := mount.Mount{Type: t, Source: src, Target: m.Target, ReadOnly: m.ReadOnly}
		if m.Alone {
			out.BindOptions = &mount.BindOptions{NonRecursive: true}
		}
		host.Mounts = append(host.Mounts, out)
	}
	for _, p := range s.Ports {
		key := nat.Port(strconv.Itoa(int(p.Container)) + "/tcp")
		if cfg.ExposedPorts == nil {
			cfg.ExposedPorts, host.PortBindings = nat.PortSet{}, nat.PortMap{}
		}
		cfg.ExposedPorts[key] = struct{}{}
		host.PortBindings[key] = append(host.PortBindings[key], nat.PortBinding{HostIP: p.Host.String(), HostPort: strconv.Itoa(int(p.Published))})
	}
	for _, d := range s.Devices {
		m := container.DeviceMapping{PathOnHost: d.Path, PathInContainer: d.Target, CgroupPermissions: d.Permissions}
		if m.PathInContainer == "" {
			m.PathInContainer = d.Path
		}
		if m.CgroupPermissions == "" {
			m.CgroupPermissions = "rwm"
		}
		host.Devices = append(host.Devices, m)
	}
	for _, r := range s.Requests {
		host.DeviceRequests = append(host.DeviceRequests, container.DeviceRequest{Driver: r.Driver, Count: r.Count, DeviceIDs: r.IDs, Capabilities: r.Capabilities, Options: r.Options})
	}
	var nets *network.NetworkingConfig
	if s.Network != "" && s.Network != "none" && s.Network != "host" {
		nets = &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{s.Network: {}}}
	}
	var platform *ocispec.Platform
	if s.OS != "" && s.Arch != "" {
		platform = &ocispec.Platform{OS: s.OS, Architecture: s.Arch}
	}
	resp, err := e.cli.ContainerCreate(ctx, cfg, host, nets, platform, s.Name)
	return resp.ID, done(err)
}

// Start starts a container.
func (e *Engine) Start(ctx context.Context, id string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "start the container "+ShortID(id))
	return done(e.cli.ContainerStart(ctx, id, container.StartOptions{}))
}

// Stop stops a container, by force after the grace time.
func (e *Engine) Stop(ctx context.Context, id string) error {
	grace := int(e.timeouts.Grace.Seconds())
	ctx, done := e.limited(ctx, e.timeouts.Grace+e.timeouts.Change, "stop the container "+ShortID(id))
	return done(e.cli.ContainerStop(ctx, id, container.StopOptions{Timeout: &grace}))
}

// RemoveContainer removes a container, running or not, with its anonymous volumes. One that is not there is
// removed already.
func (e *Engine) RemoveContainer(ctx context.Context, id string) error {
	ctx, done := e.limited(ctx, e.timeouts.Change, "remove the container "+ShortID(id))
	err := e.cli.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if cerrdefs.IsConflict(err) && strings.Contains(err.Error(), "already in progress") {
		// Somebody else's removal, or one of a run that was killed: the engine goes on with it.
		ok, fail := e.cli.ContainerWait(ctx, id, container.WaitConditionRemoved)
		select {
		case <-ok:
			err = nil
		case err = <-fail:
		}
	}
	if err = done(err); KindOf(err) == NotFound {
		return nil
	}
	return err
}

// Wait waits until a container is not running, and returns its exit code.
func (e *Engine) Wait(ctx context.Context, id string) (int, error) {
	ctx, done := e.limited(ctx, e.timeouts.Transfer, "wait for the container "+ShortID(id))
	ok, fail := e.cli.ContainerWait(ctx, id, container.WaitConditionNotRunning)
	select {
	case r := <-ok:
		return int(r.StatusCode), done(nil)
	case err := <-fail:
		return 0, done(err)
	}
}

// Logs returns the last lines that a container wrote, both streams in one.
func (e *Engine) Logs(ctx context.Context, id string, lines int) (string, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "read the log of the container "+ShortID(id))
	r, err := e.cli.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: strconv.Itoa(lines)})
	if err != nil {
		return "", done(err)
	}
	defer r.Close()
	var b strings.Builder
	_, err = stdcopy.StdCopy(&b, &b, r)
	return b.String(), done(err)
}
