package cluster

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/engine/enginefake"
	"rigup.dev/rigup/core/reason"
)

var _ Engine = (*engine.Engine)(nil)
var _ Engine = (*enginefake.Engine)(nil)

const testImage = "registry.test/k3s:v1.36.1-k3s1"

// rig is a manager over a fake engine and a fake host.
type rig struct {
	*Manager
	e     *enginefake.Engine
	busy  map[string]bool
	hosts []netip.Prefix
}

func newRig(t *testing.T) *rig {
	t.Helper()
	e := enginefake.New()
	for _, ref := range []string{testImage, "registry.test/k3s:v1.35.0-k3s1", "registry.test/k3s:v1.37.0-k3s1"} {
		e.Images[ref] = engine.Image{ID: "sha256:" + ref, OS: "linux", Arch: "amd64"}
	}
	e.Nets["bridge"] = engine.Network{ID: "bridge", Name: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("172.17.0.0/16")}}
	r := &rig{e: e, busy: map[string]bool{}}
	r.Manager = &Manager{Engine: e, Retry: time.Nanosecond, Host: Host{
		Listen: func(a string) error {
			if r.busy[a] {
				return errors.New("address already in use")
			}
			return nil
		},
		Networks: func() ([]netip.Prefix, error) { return r.hosts, nil },
	}}
	return r
}

func testSpec() Spec {
	return Spec{Cluster: "t", Image: testImage, DataDir: "/home/u/rigup", Ports: PortRange{6550, 6599}, Asked: map[Field]bool{}}
}

// bring observes, plans and applies.
func (r *rig) bring(t *testing.T, s Spec) (State, Plan) {
	t.Helper()
	st, err := r.Observe(t.Context(), s.Cluster)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	p, err := r.Plan(st, s)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	after, err := r.Apply(t.Context(), p, nil)
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	return after, p
}

func (r *rig) plan(t *testing.T, s Spec) (Plan, error) {
	t.Helper()
	st, err := r.Observe(t.Context(), s.Cluster)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	return r.Plan(st, s)
}

func wantReason(t *testing.T, err error, id reason.ID, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want reason %s", id)
	}
	r := reason.Of(err)
	if r.ID != id {
		t.Fatalf("reason %s (%v), want %s", r.ID, err, id)
	}
	text := r.Text + " " + strings.Join(r.Remedy, " ") + " " + strings.Join(r.Evidence, " ")
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in %q", w, text)
		}
	}
}

func (r *rig) node(t *testing.T) *enginefake.Container {
	t.Helper()
	for _, c := range r.e.Nodes {
		if c.Labels[LabelRole] == RoleServer {
			return c
		}
	}
	t.Fatal("there is no node")
	return nil
}
