// Package enginefake is an engine in memory. It keeps the rules of a real one that matter here: names are
// unique, a network in use cannot be removed, a subnet that overlaps is refused, a port is taken once.
package enginefake

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"rigup.dev/rigup/core/engine"
)

// Engine is the fake. Its maps may be filled and looked at while no call runs.
type Engine struct {
	mu sync.Mutex

	About engine.Info
	// Images by reference. Registry are those that a pull finds.
	Images, Registry map[string]engine.Image
	Nodes            map[string]*Container // by id
	Nets             map[string]engine.Network
	Vols             map[string]engine.Volume
	// Missing are paths that the engine's machine does not have.
	Missing map[string]bool
	// TakenPorts are published ports that other programs have; TakenSubnets are routes that only the engine sees.
	TakenPorts   map[uint16]bool
	TakenSubnets []netip.Prefix
	// Run answers a command in a container; nil answers 0 and nothing.
	Run func(c *Container, o engine.ExecOptions) (int, error)
	// Fail decides before a call whether it fails; op is the method's name, what its first argument.
	Fail func(op, what string) error
	// Kill, when not negative, is how many changing calls succeed before everything fails, as after kill -9.
	Kill int
	// Changes are the changing calls that succeeded, as "Method argument".
	Changes []string
	// Clock is the time of the next start.
	Clock time.Time

	next   int
	killed bool
}

// Container is a container of the fake.
type Container struct {
	engine.Container
	Spec  engine.ContainerSpec
	Files map[string]engine.File
	Log   string
}

// New is an empty engine.
func New() *Engine {
	return &Engine{
		About:  engine.Info{OS: "linux", Arch: "amd64", CgroupVersion: "2", API: "1.41"},
		Images: map[string]engine.Image{}, Registry: map[string]engine.Image{}, Nodes: map[string]*Container{},
		Nets: map[string]engine.Network{}, Vols: map[string]engine.Volume{}, Missing: map[string]bool{}, TakenPorts: map[uint16]bool{},
		Kill: -1, Clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// Killed reports whether the number of changes in Kill was reached: every call fails since.
func (e *Engine) Killed() bool { return e.killed }

// Revive lets calls succeed again, as in the run after one that was killed.
func (e *Engine) Revive() { e.killed, e.Kill = false, -1 }

// enter is the start of every call.
func (e *Engine) enter(op, what string, changes bool) error {
	if e.Fail != nil {
		if err := e.Fail(op, what); err != nil {
			return err
		}
	}
	if changes && e.Kill >= 0 {
		if e.Kill == 0 {
			e.killed = true
		}
		e.Kill--
	}
	if e.killed {
		return engine.Failure(engine.Canceled, op, "killed")
	}
	if changes {
		e.Changes = append(e.Changes, strings.TrimSpace(op+" "+what))
	}
	return nil
}

func (e *Engine) id() string {
	e.next++
	return fmt.Sprintf("id%d", e.next)
}

func notFound(kind, what string) error {
	return engine.Failure(engine.NotFound, "find the "+kind, "No such "+kind+": "+what)
}

func (e *Engine) find(id string) (*Container, error) {
	if c, ok := e.Nodes[id]; ok {
		return c, nil
	}
	for _, c := range e.Nodes {
		if c.Name == id {
			return c, nil
		}
	}
	return nil, notFound("container", id)
}

// Info is what About says.
func (e *Engine) Info(context.Context) (engine.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.About, e.enter("Info", "", false)
}

// Image looks in Images.
func (e *Engine) Image(_ context.Context, ref string) (engine.Image, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Image", ref, false); err != nil {
		return engine.Image{}, err
	}
	if i, ok := e.Images[ref]; ok {
		return i, nil
	}
	return engine.Image{}, notFound("image", ref)
}

// Pull moves an image from Registry to Images.
func (e *Engine) Pull(_ context.Context, o engine.PullOptions) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Pull", o.Ref, true); err != nil {
		return err
	}
	i, ok := e.Registry[o.Ref]
	if !ok {
		return notFound("image", o.Ref)
	}
	if o.Progress != nil {
		o.Progress(engine.Progress{Done: i.Size, Total: i.Size})
	}
	e.Images[o.Ref] = i
	return nil
}

// Save streams the reference as the archive.
func (e *Engine) Save(_ context.Context, ref, _, _ string) (io.ReadCloser, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Save", ref, false); err != nil {
		return nil, err
	}
	return io.NopCloser(strings.NewReader("archive of " + ref)), nil
}

// Containers lists by labels.
func (e *Engine) Containers(_ context.Context, labels map[string]string) ([]engine.Container, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Containers", "", false); err != nil {
		return nil, err
	}
	var out []engine.Container
	for _, id := range slices.Sorted(maps.Keys(e.Nodes)) {
		c := e.Nodes[id]
		match := true
		for k, v := range labels {
			match = match && c.Labels[k] == v
		}
		if match {
			out = append(out, engine.Container{ID: c.ID, Name: c.Name, Image: c.Image, Labels: c.Labels, State: c.State})
		}
	}
	return out, nil
}

// Container inspects.
func (e *Engine) Container(_ context.Context, id string) (engine.Container, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Container", id, false); err != nil {
		return engine.Container{}, err
	}
	c, err := e.find(id)
	if err != nil {
		return engine.Container{}, err
	}
	return c.Container, nil
}

// CreateContainer creates one.
func (e *Engine) CreateContainer(_ context.Context, s engine.ContainerSpec) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range s.Mounts {
		if m.Bind != "" && e.Missing[m.Bind] {
			return "", engine.Failure(engine.Refused, "create the container "+s.Name, "invalid mount config for type \"bind\": bind source path does not exist: "+m.Bind)
		}
	}
	if err := e.enter("CreateContainer", s.Name, true); err != nil {
		return "", err
	}
	if _, ok := e.Images[s.Image]; !ok {
		return "", notFound("image", s.Image)
	}
	if _, err := e.find(s.Name); err == nil {
		return "", engine.Failure(engine.Conflict, "create the container "+s.Name, "the name is already in use")
	}
	for _, m := range s.Mounts {
		if _, ok := e.Vols[m.Volume]; m.Volume != "" && !ok {
			e.Vols[m.Volume] = engine.Volume{Name: m.Volume} // as a real engine does, without labels
		}
	}
	c := &Container{Spec: s, Files: map[string]engine.File{}, Container: engine.Container{ID: e.id(), Name: s.Name, Image: s.Image, Labels: s.Labels, State: "created",
		ImageID: e.Images[s.Image].ID, Hostname: s.Hostname, Entrypoint: s.Entrypoint, Cmd: s.Cmd, Privileged: s.Privileged, Restart: s.Restart,
		Mounts: s.Mounts, Ports: s.Ports, Networks: []string{s.Network}, Devices: s.Devices, Requests: s.Requests, Groups: s.Groups}}
	e.Nodes[c.ID] = c
	return c.ID, nil
}

// Start starts one, if its ports and its network are there.
func (e *Engine) Start(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(id)
	if err != nil {
		return err
	}
	for _, p := range c.Ports {
		taken := e.TakenPorts[p.Published]
		for _, o := range e.Nodes {
			taken = taken || o != c && o.State == "running" && slices.ContainsFunc(o.Ports, func(q engine.Port) bool { return q.Published == p.Published })
		}
		if taken {
			return engine.Failure(engine.Refused, "start the container", fmt.Sprintf("driver failed programming external connectivity: Bind for 127.0.0.1:%d failed: port is already allocated", p.Published))
		}
	}
	if n := c.Spec.Network; n != "" && n != "none" && !slices.ContainsFunc(slices.Collect(maps.Values(e.Nets)), func(x engine.Network) bool { return x.Name == n || x.ID == n }) {
		return notFound("network", n)
	}
	if err := e.enter("Start", c.Name, true); err != nil {
		return err
	}
	c.State, c.Started, c.Restarts = "running", e.Clock, 0
	return nil
}

// Stop stops one.
func (e *Engine) Stop(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(id)
	if err != nil {
		return err
	}
	if err := e.enter("Stop", c.Name, true); err != nil {
		return err
	}
	if c.State != "created" {
		c.State = "exited"
	}
	return nil
}

// RemoveContainer removes one.
func (e *Engine) RemoveContainer(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(id)
	if err != nil {
		return nil
	}
	if err := e.enter("RemoveContainer", c.Name, true); err != nil {
		return err
	}
	delete(e.Nodes, c.ID)
	return nil
}

// Wait lets the container end with 0.
func (e *Engine) Wait(_ context.Context, id string) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Wait", id, false); err != nil {
		return 0, err
	}
	c, err := e.find(id)
	if err != nil {
		return 0, err
	}
	c.State = "exited"
	return c.ExitCode, nil
}

// Logs is the container's Log.
func (e *Engine) Logs(_ context.Context, id string, _ int) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Logs", id, false); err != nil {
		return "", err
	}
	c, err := e.find(id)
	if err != nil {
		return "", err
	}
	return c.Log, nil
}

// Exec asks Run.
func (e *Engine) Exec(_ context.Context, id string, o engine.ExecOptions) (int, error) {
	e.mu.Lock()
	err := e.enter("Exec", strings.Join(o.Cmd, " "), false)
	c, ferr := e.find(id)
	e.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case ferr != nil:
		return 0, ferr
	case c.State != "running":
		return 0, engine.Failure(engine.Conflict, "run "+o.Cmd[0], "Container "+id+" is not running")
	case e.Run == nil:
		return 0, nil
	}
	return e.Run(c, o)
}

// CopyTo keeps the files.
func (e *Engine) CopyTo(_ context.Context, id string, files []engine.File) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, err := e.find(id)
	if err != nil {
		return err
	}
	var paths []string
	for _, f := range files {
		if !strings.HasSuffix(f.Path, "/") {
			paths = append(paths, f.Path)
		}
	}
	if err := e.enter("CopyTo", strings.Join(paths, " "), true); err != nil {
		return err
	}
	for _, f := range files {
		f.Data = bytes.Clone(f.Data)
		c.Files[f.Path] = f
	}
	return nil
}

// CopyFrom finds what CopyTo kept.
func (e *Engine) CopyFrom(_ context.Context, id, file string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("CopyFrom", file, false); err != nil {
		return nil, err
	}
	c, err := e.find(id)
	if err != nil {
		return nil, err
	}
	f, ok := c.Files[file]
	if !ok {
		return nil, notFound("file", file)
	}
	return f.Data, nil
}

// Networks lists all.
func (e *Engine) Networks(context.Context) ([]engine.Network, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Networks", "", false); err != nil {
		return nil, err
	}
	var out []engine.Network
	for _, id := range slices.Sorted(maps.Keys(e.Nets)) {
		out = append(out, e.Nets[id])
	}
	return out, nil
}

// CreateNetwork refuses what overlaps.
func (e *Engine) CreateNetwork(_ context.Context, name string, subnet netip.Prefix, labels map[string]string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := slices.Clone(e.TakenSubnets)
	for _, n := range e.Nets {
		taken = append(taken, n.Subnets...)
	}
	for _, t := range taken {
		if t.Overlaps(subnet) {
			return "", engine.Failure(engine.Denied, "create the network "+name, "Pool overlaps with other one on this address space")
		}
	}
	if err := e.enter("CreateNetwork", name, true); err != nil {
		return "", err
	}
	id := e.id()
	e.Nets[id] = engine.Network{ID: id, Name: name, Driver: "bridge", Labels: labels, Subnets: []netip.Prefix{subnet}}
	return id, nil
}

// RemoveNetwork refuses one in use.
func (e *Engine) RemoveNetwork(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.Nets[id]
	if !ok {
		return nil
	}
	for _, c := range e.Nodes {
		if c.State == "running" && (slices.Contains(c.Networks, n.Name) || slices.Contains(c.Networks, n.ID)) {
			return engine.Failure(engine.Denied, "remove the network "+n.Name, "network has active endpoints")
		}
	}
	if err := e.enter("RemoveNetwork", n.Name, true); err != nil {
		return err
	}
	delete(e.Nets, id)
	return nil
}

// Volumes lists all.
func (e *Engine) Volumes(context.Context) ([]engine.Volume, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("Volumes", "", false); err != nil {
		return nil, err
	}
	var out []engine.Volume
	for _, n := range slices.Sorted(maps.Keys(e.Vols)) {
		out = append(out, e.Vols[n])
	}
	return out, nil
}

// CreateVolume keeps the labels of the first.
func (e *Engine) CreateVolume(_ context.Context, name string, labels map[string]string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.enter("CreateVolume", name, true); err != nil {
		return err
	}
	if _, ok := e.Vols[name]; !ok {
		e.Vols[name] = engine.Volume{Name: name, Labels: labels}
	}
	return nil
}

// RemoveVolume refuses one in use.
func (e *Engine) RemoveVolume(_ context.Context, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.Nodes {
		if slices.ContainsFunc(c.Mounts, func(m engine.Mount) bool { return m.Volume == name }) {
			return engine.Failure(engine.Conflict, "remove the volume "+name, "volume is in use")
		}
	}
	if err := e.enter("RemoveVolume", name, true); err != nil {
		return err
	}
	delete(e.Vols, name)
	return nil
}
