package probe

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// machine is an engine whose containers do what a test says when they are started.
type machine struct {
	*enginefake.Engine
	do   func(c *enginefake.Container) // sets Log and ExitCode
	hang bool
}

func (m *machine) Start(ctx context.Context, id string) error {
	err := m.Engine.Start(ctx, id)
	if err == nil && m.do != nil {
		m.do(m.Nodes[id])
	}
	return err
}

func (m *machine) Wait(ctx context.Context, id string) (int, error) {
	if m.hang {
		<-ctx.Done()
		kind := engine.Timeout
		if errors.Is(ctx.Err(), context.Canceled) {
			kind = engine.Canceled
		}
		return 0, engine.Failure(kind, "wait", ctx.Err().Error())
	}
	return m.Engine.Wait(ctx, id)
}

const imageRef = "registry.example/acme/check:1.0"

func newMachine() (*machine, Prober) {
	m := &machine{Engine: enginefake.New()}
	m.Images[imageRef] = engine.Image{ID: "sha256:1"}
	m.Images["docker.io/library/debian:12-slim"] = engine.Image{ID: "sha256:2"}
	return m, Prober{Engine: m, Now: func() time.Time { return time.Unix(1000, 0) }, Image: func(role string) string {
		return map[string]string{"base": "docker.io/library/debian:12-slim"}[role]
	}}
}

func ask(q sdk.Probe) sdk.Probe {
	q.Kind = sdk.EngineRun
	return q
}

func TestEngineRun(t *testing.T) {
	m, p := newMachine()
	var spec engine.ContainerSpec
	m.do = func(c *enginefake.Container) { spec, c.Log, c.ExitCode = c.Spec, "12 \xff password=s3cr3t\n", 7 }
	r := p.Probe(t.Context(), ask(sdk.Probe{Image: imageRef, Args: []string{"acme-smi", "-L"}, Attach: &sdk.Attach{
		Kind: sdk.AttachDevices, Nodes: []string{"/dev/acme0"}, Binds: []string{"/opt/acme/lib"}, Groups: []int{44, 110}, Env: map[string]string{"B": "2", "A": "1"}}}))
	if r.Status != sdk.Known || r.Exit != 7 || r.Text != "12 \uFFFD password=[redacted]\n" || r.Why != "" {
		t.Errorf("%+v", r)
	}
	want := engine.ContainerSpec{
		Name: spec.Name, Image: imageRef, Hostname: "probe", Network: "none", Entrypoint: []string{"acme-smi"}, Cmd: []string{"-L"}, Env: []string{"A=1", "B=2"},
		Labels: map[string]string{"dev.rigup.probe": "1", "dev.rigup.probe.until": "1300"}, Tmpfs: map[string]string{"/tmp": "rw,nosuid,nodev,size=67108864,mode=1777"},
		Devices: []engine.Device{{Path: "/dev/acme0", Permissions: "rw"}}, Mounts: []engine.Mount{{Bind: "/opt/acme/lib", Target: "/opt/acme/lib", ReadOnly: true}}, Groups: []string{"44", "110"},
		Limits: engine.Limits{ReadOnly: true, NoPrivileges: true, Memory: 2 << 30, Processes: 256, Log: 1 << 20},
	}
	if !reflect.DeepEqual(spec, want) || !strings.HasPrefix(spec.Name, "rigup-probe-") {
		t.Errorf("%+v", spec)
	}
	if len(m.Nodes) > 0 {
		t.Errorf("left behind: %+v", m.Nodes)
	}
}

func TestAttachments(t *testing.T) {
	for name, c := range map[string]struct {
		a    sdk.Attach
		want engine.DeviceRequest
	}{
		"cdi":         {sdk.Attach{Kind: sdk.AttachCDI, IDs: []string{"acme.example/gpu=0"}}, engine.DeviceRequest{Driver: "cdi", IDs: []string{"acme.example/gpu=0"}}},
		"nvidia, all": {sdk.Attach{Kind: sdk.AttachNVIDIA}, engine.DeviceRequest{Driver: "nvidia", Count: -1, Capabilities: [][]string{{"gpu"}}}},
		"nvidia, one": {sdk.Attach{Kind: sdk.AttachNVIDIA, IDs: []string{"0"}, Capabilities: []string{"compute", "utility"}},
			engine.DeviceRequest{Driver: "nvidia", IDs: []string{"0"}, Capabilities: [][]string{{"compute", "utility"}}}},
	} {
		var spec engine.ContainerSpec
		if err := Attach(&spec, c.a); err != nil || !reflect.DeepEqual(spec.Requests, []engine.DeviceRequest{c.want}) {
			t.Errorf("%s: %+v %v", name, spec, err)
		}
	}
	_, p := newMachine()
	if r := p.Probe(t.Context(), ask(sdk.Probe{Image: "base", Attach: &sdk.Attach{Kind: "wires"}})); r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: ") {
		t.Errorf("%+v", r)
	}
}

func TestG6_ImagesOfProbes(t *testing.T) {
	_, p := newMachine()
	if r := p.Probe(t.Context(), ask(sdk.Probe{Image: "base", Args: []string{"true"}})); r.Status != sdk.Known {
		t.Errorf("a role: %+v", r)
	}
	if r := p.Probe(t.Context(), ask(sdk.Probe{Image: "cuda"})); r.Status != sdk.Unknown || r.Why != "this rigup has no image for cuda" {
		t.Errorf("a role without image: %+v", r)
	}
	const other = "registry.example/acme/other:1.0"
	for name, c := range map[string]struct {
		pull   func(m *machine) func(context.Context, string) error
		status sdk.Status
		why    string
	}{
		"nothing may be pulled": {nil, sdk.Unknown, "the image is not on the engine, and nothing may be pulled now"},
		"it is pulled": {func(m *machine) func(context.Context, string) error {
			m.Registry[other] = engine.Image{ID: "sha256:3"}
			return func(ctx context.Context, ref string) error { return m.Pull(ctx, engine.PullOptions{Ref: ref}) }
		}, sdk.Known, ""},
		"there is none": {func(m *machine) func(context.Context, string) error {
			return func(ctx context.Context, ref string) error { return m.Pull(ctx, engine.PullOptions{Ref: ref}) }
		}, sdk.Absent, "there is no such image"},
		"the registry says so": {func(*machine) func(context.Context, string) error {
			return func(context.Context, string) error {
				return reason.Fail(reason.New(reason.ImageNotFound, "image", other), engine.Failure(engine.Refused, "pull", "manifest unknown"))
			}
		}, sdk.Absent, "there is no such image"},
		"no network": {func(*machine) func(context.Context, string) error {
			return func(context.Context, string) error {
				return reason.Fail(reason.New(reason.ImageNetwork, "image", other, "host", "registry.example"), engine.Failure(engine.Refused, "pull", "no such host"))
			}
		}, sdk.Unknown, "the image could not be pulled: image.network"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine()
			if c.pull != nil {
				p.Pull = c.pull(m)
			}
			if r := p.Probe(t.Context(), ask(sdk.Probe{Image: other})); r.Status != c.status || r.Why != c.why {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An engine that refuses, one that is late and one that is gone are told apart, and none leaves a container.
func TestG6_EnginesThatDoNotRunIt(t *testing.T) {
	const text = `could not select device driver "" with capabilities: [[gpu]]`
	for name, c := range map[string]struct {
		op   string
		kind engine.Kind
		why  string
	}{
		"refuses to create": {"CreateContainer", engine.Refused, "the engine did not start it"},
		"refuses to start":  {"Start", engine.Refused, "the engine did not start it"},
		"no such program":   {"Start", engine.NotFound, "the engine did not start it"},
		"late":              {"Start", engine.Timeout, "timed out"},
		"denied":            {"CreateContainer", engine.Denied, "permission denied"},
		"gone":              {"Image", engine.Unreachable, "the engine does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine()
			m.Fail = func(op, _ string) error {
				if op == c.op {
					return engine.Failure(c.kind, "run it", text)
				}
				return nil
			}
			r := p.Probe(t.Context(), ask(sdk.Probe{Image: imageRef}))
			if r.Status != sdk.Unknown || r.Why != c.why || c.op != "Image" && r.Text != text || len(m.Nodes) > 0 {
				t.Errorf("%+v %v", r, m.Nodes)
			}
		})
	}
}

// A container that does not end is ended, and so is that of a run that was interrupted.
func TestE1_NoContainerOutlivesItsProbe(t *testing.T) {
	for name, c := range map[string]struct {
		end func(ctx context.Context) (context.Context, context.CancelFunc)
		why string
	}{
		"late": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		}, "timed out"},
		"interrupted": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		}, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			m, p := newMachine()
			m.hang, m.do = true, func(c *enginefake.Container) { c.Log = "begun\n" }
			ctx, cancel := c.end(t.Context())
			defer cancel()
			r := p.Probe(ctx, ask(sdk.Probe{Image: imageRef}))
			if r.Status != sdk.Unknown || r.Why != c.why || r.Text != "begun\n" || len(m.Nodes) > 0 {
				t.Errorf("%+v %v", r, m.Nodes)
			}
		})
	}
}

// What a killed run left is removed by the next; what others are running at this moment is not.
func TestLeftoversAreFound(t *testing.T) {
	m, p := newMachine()
	for name, until := range map[string]string{"old": "999", "new": "1001", "odd": "soon"} {
		if _, err := m.CreateContainer(t.Context(), engine.ContainerSpec{Name: name, Image: imageRef, Labels: map[string]string{labelProbe: "1", labelUntil: until}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.CreateContainer(t.Context(), engine.ContainerSpec{Name: "another", Image: imageRef}); err != nil {
		t.Fatal(err)
	}
	if r := p.Probe(t.Context(), ask(sdk.Probe{Image: imageRef})); r.Status != sdk.Known {
		t.Fatalf("%+v", r)
	}
	var left []string
	for _, c := range m.Nodes {
		left = append(left, c.Name)
	}
	slices.Sort(left)
	if !slices.Equal(left, []string{"another", "new"}) {
		t.Errorf("%q", left)
	}
}

func TestOutputOfContainersIsBounded(t *testing.T) {
	m, p := newMachine()
	m.do = func(c *enginefake.Container) {
		for i := range 5000 {
			c.Log += strconv.Itoa(i) + "\n"
		}
	}
	r := p.Probe(t.Context(), ask(sdk.Probe{Image: imageRef}))
	if len(r.Text) != maxOutput || !strings.HasSuffix(r.Text, "\n4999\n") {
		t.Errorf("%d bytes, %q", len(r.Text), r.Text[max(0, len(r.Text)-20):])
	}
}
