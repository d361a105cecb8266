package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "rigup": true, "my-cluster-2": true, strings.Repeat("a", 32): true,
		"": false, "A": false, "2a": false, "a-": false, "a_b": false, "a.b": false, "-a": false, "a b": false, "a\n": false, strings.Repeat("a", 33): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	n := NamesOf(strings.Repeat("a", 32))
	for _, s := range append(n.volumes(), n.Node, n.Network) {
		if len(s) > 63 {
			t.Errorf("%s has %d characters", s, len(s))
		}
	}
}

func TestCreateThenNothing(t *testing.T) {
	r := newRig(t)
	st, p := r.bring(t, testSpec())
	if p.Action != Create || st.Phase != Running || st.Settings.Port != 6550 || st.Settings.DataDir != "/home/u/rigup" {
		t.Fatalf("%+v\n%+v", p, st)
	}
	c := r.node(t)
	if c.Name != "rigup-t-server-0" || !c.Spec.Privileged || !c.Spec.PrivateCgroup || !c.Spec.NoInit || c.Spec.Restart != "unless-stopped" || c.Spec.Hostname != c.Name {
		t.Errorf("%+v", c.Spec)
	}
	for _, want := range []string{"rigup-t-k3s", "rigup-t-kubelet", "rigup-t-identity"} {
		if v := r.e.Vols[want]; v.Labels[LabelCluster] != "t" {
			t.Errorf("volume %s: %+v", want, v)
		}
	}
	before := len(r.e.Changes)
	_, p = r.bring(t, testSpec())
	if p.Action != Nothing || len(p.Changes) != 0 || len(r.e.Changes) != before || p.Degraded != nil {
		t.Errorf("second run: %+v, changes %v", p, r.e.Changes[before:])
	}
}

func TestC3_APIOnLoopback(t *testing.T) {
	r := newRig(t)
	r.bring(t, testSpec())
	ports := r.node(t).Ports
	if len(ports) != 1 || !ports[0].Host.IsLoopback() || ports[0].Container != 6443 {
		t.Errorf("%+v", ports)
	}
}

func TestC4_IdentityIsAVolume(t *testing.T) {
	r := newRig(t)
	first, _ := r.bring(t, testSpec())
	if err := r.e.RemoveContainer(t.Context(), first.Node.ID); err != nil {
		t.Fatal(err)
	}
	r.e.Changes = nil
	st, p := r.bring(t, testSpec())
	if p.Action != Create || st.Node.ID == first.Node.ID || st.Settings.Subnet != first.Settings.Subnet {
		t.Errorf("%+v", p)
	}
	if slices.ContainsFunc(r.e.Changes, func(s string) bool { return strings.Contains(s, "Volume") || strings.Contains(s, "Network") }) {
		t.Errorf("volumes or network were touched: %v", r.e.Changes)
	}
	if !slices.ContainsFunc(r.node(t).Mounts, func(m engine.Mount) bool {
		return m.Volume == "rigup-t-identity" && m.Target == "/etc/rancher/node"
	}) {
		t.Error("the identity is not mounted")
	}
}

func TestC1_UnknownIsNotAbsent(t *testing.T) {
	for _, op := range []string{"Containers", "Networks", "Volumes", "Container", "CopyFrom"} {
		r := newRig(t)
		r.bring(t, testSpec())
		n := len(r.e.Changes)
		r.e.Fail = func(o, _ string) error {
			if o == op {
				return engine.Failure(engine.Refused, "look", "server error")
			}
			return nil
		}
		_, err := r.Observe(t.Context(), "t")
		wantReason(t, err, reason.ClusterUnknown, "server error")
		if _, err = r.Remove(t.Context(), "t", true, nil); err == nil {
			t.Errorf("%s: removed without knowing", op)
		}
		if len(r.e.Changes) != n {
			t.Errorf("%s: changed %v", op, r.e.Changes[n:])
		}
	}
}

func TestC2_ForeignIsLeftAlone(t *testing.T) {
	for kind, add := range map[string]func(*rig){
		"The container": func(r *rig) {
			_, _ = r.e.CreateContainer(t.Context(), engine.ContainerSpec{Name: "rigup-t-server-0", Image: testImage})
		},
		"The network": func(r *rig) {
			r.e.Nets["x"] = engine.Network{ID: "x", Name: "rigup-t"}
		},
		"The volume": func(r *rig) { r.e.Vols["rigup-t-k3s"] = engine.Volume{Name: "rigup-t-k3s"} },
		// Another cluster's label is not ours either.
		"The volume ": func(r *rig) {
			r.e.Vols["rigup-t-k3s"] = engine.Volume{Name: "rigup-t-k3s", Labels: labels("other", RoleVolume)}
		},
	} {
		r := newRig(t)
		add(r)
		r.e.Changes = nil
		_, err := r.plan(t, testSpec())
		wantReason(t, err, reason.ClusterForeign, strings.TrimSpace(kind))
		if _, err := r.Remove(t.Context(), "t", true, nil); err != nil || len(r.e.Changes) != 0 {
			t.Errorf("%s: %v, %v", kind, err, r.e.Changes)
		}
	}
}

func TestC2_RemoveTouchesOnlyOurs(t *testing.T) {
	for _, deleteData := range []bool{false, true} {
		r := newRig(t)
		other := testSpec()
		other.Cluster, other.Ports = "other", PortRange{7000, 7000}
		r.bring(t, other)
		r.bring(t, testSpec())
		changes, err := r.Remove(t.Context(), "t", deleteData, nil)
		if err != nil {
			t.Fatal(err)
		}
		st, err := r.Observe(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		kept := slices.ContainsFunc(changes, func(c event.Change) bool { return c.Action == event.Keep })
		if deleteData && (st.Phase != Absent || kept) || !deleteData && (!kept || !slices.Equal(st.Volumes, []string{"rigup-t-identity", "rigup-t-k3s"})) {
			t.Errorf("delete data %v: %+v %v", deleteData, st, changes)
		}
		if o, err := r.Observe(t.Context(), "other"); err != nil || o.Phase != Running || len(o.Volumes) != 3 {
			t.Errorf("the other cluster: %+v %v", o, err)
		}
		if _, err := r.Remove(t.Context(), "t", deleteData, nil); err != nil {
			t.Errorf("again: %v", err)
		}
	}
}

// Every point at which a run can be killed, for every kind of change: the next run ends in the same state.
func TestC9_KilledAnywhere(t *testing.T) {
	prepare := map[string]func(*testing.T, *rig) Spec{
		"create": func(*testing.T, *rig) Spec { return testSpec() },
		"replace": func(t *testing.T, r *rig) Spec {
			r.bring(t, testSpec())
			s := testSpec()
			s.DataDir, s.Asked, s.Recreate = "/data/other", map[Field]bool{FieldData: true}, true
			return s
		},
		"another subnet": func(t *testing.T, r *rig) Spec {
			r.bring(t, testSpec())
			s := testSpec()
			s.Subnet, s.Asked, s.Recreate = netip.MustParsePrefix("10.99.0.0/24"), map[Field]bool{FieldSubnet: true}, true
			return s
		},
		"start": func(t *testing.T, r *rig) Spec {
			st, _ := r.bring(t, testSpec())
			_ = r.e.Stop(t.Context(), st.Node.ID)
			return testSpec()
		},
		"files": func(t *testing.T, r *rig) Spec {
			r.bring(t, testSpec())
			s := testSpec()
			s.Files.Mirrors = []Mirror{{"docker.io", []string{"https://mirror.test"}}}
			return s
		},
	}
	for name, prep := range prepare {
		for after := 0; ; after++ {
			r := newRig(t)
			spec := prep(t, r)
			r.e.Kill = after
			st, err := r.Observe(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Plan(st, spec)
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Apply(t.Context(), p, nil)
			if !r.e.Killed() {
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if after < 2 {
					t.Fatalf("%s took %d changes", name, after)
				}
				break
			}
			r.e.Revive()
			end, _ := r.bring(t, spec)
			if spec.Recreate {
				// A consent that is given again rebuilds again; what counts is where it ends.
				spec.Recreate = false
			}
			if end.Phase != Running || end.Settings.DataDir != spec.DataDir || spec.Subnet.IsValid() && end.Settings.Subnet != spec.Subnet {
				t.Errorf("%s killed after %d changes ends in %+v", name, after, end)
			}
			if _, again := r.bring(t, spec); again.Action != Nothing {
				t.Errorf("%s killed after %d changes is not done: %+v", name, after, again.Changes)
			}
			if len(r.e.Nodes) != 1 || len(r.e.Nets) != 2 || len(r.e.Vols) != 3 {
				t.Errorf("%s killed after %d changes leaves %d containers, %d networks, %d volumes", name, after, len(r.e.Nodes), len(r.e.Nets), len(r.e.Vols))
			}
		}
	}
}

func TestApplyTwiceDoesNothingMore(t *testing.T) {
	r := newRig(t)
	r.bring(t, testSpec())
	s := testSpec()
	s.Recreate = true
	p, err := r.plan(t, s)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := r.Apply(t.Context(), p, nil); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	creates := 0
	for _, c := range r.e.Changes {
		if strings.HasPrefix(c, "CreateContainer") {
			creates++
		}
	}
	if creates != 2 {
		t.Errorf("%d containers were created: %v", creates, r.e.Changes)
	}
}

func TestE2_NoSecretInContainerOrMarker(t *testing.T) {
	r := newRig(t)
	s := testSpec()
	s.Files = Files{
		Mirrors:     []Mirror{{"docker.io", []string{"https://m.test"}}},
		Credentials: map[string]engine.Credentials{"docker.io": {Username: "u", Password: "planted-secret"}},
		Proxy:       Proxy{HTTP: "http://me:planted-secret@proxy.test:3128"},
	}
	r.bring(t, s)
	c := r.node(t)
	b, err := json.Marshal(c.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "planted-secret") || strings.Contains(fmt.Sprintf("%+v %#v", s, s.Files.Credentials), "u planted") {
		t.Errorf("a secret shows: %s", b)
	}
	for path, f := range c.Files {
		if strings.Contains(string(f.Data), "planted-secret") && f.Mode != 0o600 {
			t.Errorf("%s has mode %o", path, f.Mode)
		}
	}
	if !strings.Contains(string(c.Files[registriesPath].Data), "planted-secret") || !strings.Contains(string(c.Files[proxyPath].Data), "planted-secret") {
		t.Error("the node did not get the credentials")
	}
	// A token that is new at every run does not restart a running node; a new account does.
	s.Files.Credentials["docker.io"] = engine.Credentials{Username: "u", Password: "another"}
	if p, err := r.plan(t, s); err != nil || p.Action != Nothing {
		t.Errorf("%+v %v", p.Action, err)
	}
	s.Files.Credentials["ghcr.test"] = engine.Credentials{Username: "v", Password: "w"}
	if p, err := r.plan(t, s); err != nil || p.Action != Restart {
		t.Errorf("%+v %v", p.Action, err)
	}
}

func TestAlive(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	c := r.node(t)
	c.Log = "one\ntwo\nthree\nError: flag provided but not defined\n"
	for _, s := range []struct {
		state    string
		restarts int
		ok       bool
	}{{"running", 0, true}, {"restarting", 1, true}, {"running", 2, true}, {"restarting", 3, false}, {"running", 4, false}, {"exited", 0, false}, {"dead", 0, false}} {
		c.State, c.Restarts = s.state, s.restarts
		err := r.Alive(t.Context(), st)
		if s.ok && err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		if !s.ok {
			wantReason(t, err, reason.ClusterCrashed, "not defined", "docker logs rigup-t-server-0")
		}
	}
	_ = r.e.RemoveContainer(t.Context(), c.ID)
	wantReason(t, r.Alive(t.Context(), st), reason.ClusterCrashed)
	r.e.Fail = func(string, string) error { return engine.Failure(engine.Timeout, "x", "late") }
	if err := r.Alive(t.Context(), st); reason.Of(err).ID != reason.EngineTimeout {
		t.Errorf("G6: %v", err)
	}
}

func TestKubeconfig(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	if _, err := r.Kubeconfig(t.Context(), st); !errors.Is(err, ErrNotYet) {
		t.Errorf("%v", err)
	}
	put := func(s string) {
		r.node(t).Files[kubeconfigPath] = engine.File{Data: []byte(s)}
	}
	for _, half := range []string{"", "apiVersion: v1\nclusters:\n- clus", "apiVersion: v1\nclusters:\n- cluster:\n    server: x\n"} {
		put(half)
		if _, err := r.Kubeconfig(t.Context(), st); !errors.Is(err, ErrNotYet) {
			t.Errorf("%q: %v", half, err)
		}
	}
	put("apiVersion: v1\nclusters:\n- cluster:\n    server: https://127.0.0.1:6443\n  name: default\nusers:\n- name: default\n  user: {client-key-data: a2V5}\n")
	b, err := r.Kubeconfig(t.Context(), st)
	if err != nil || !strings.Contains(string(b), "server: https://127.0.0.1:6550") || !strings.Contains(string(b), "client-key-data: a2V5") {
		t.Errorf("%s %v", b, err)
	}
	r.e.Fail = func(string, string) error { return engine.Failure(engine.Timeout, "x", "late") }
	if _, err := r.Kubeconfig(t.Context(), st); errors.Is(err, ErrNotYet) || reason.Of(err).ID != reason.EngineTimeout {
		t.Errorf("G6: %v", err)
	}
}

// The engine goes on with what a killed run asked for, while the next run already looks.
func TestC9_LateAnswersOfAKilledRun(t *testing.T) {
	r := newRig(t)
	late := 5
	r.e.Fail = func(op, _ string) error {
		if op == "CreateContainer" && late > 0 {
			late--
			// A second network of the name, and the node itself, appear now.
			r.e.Nets["late"] = engine.Network{ID: "late", Name: "rigup-t", Labels: labels("t", RoleNetwork), Subnets: []netip.Prefix{netip.MustParsePrefix("172.30.9.0/24")}}
			return engine.Failure(engine.Conflict, "create", "the name is already in use")
		}
		return nil
	}
	st, _ := r.bring(t, testSpec())
	if st.Phase != Running || len(r.e.Nets) != 2 || len(st.Spares) != 0 {
		t.Errorf("%+v, networks %v", st, r.e.Nets)
	}
	// One that appears after everything is done is found, and goes with the cluster.
	r.e.Nets["late"] = engine.Network{ID: "late", Name: "rigup-t", Labels: labels("t", RoleNetwork)}
	if st, p := r.bring(t, testSpec()); p.Action != Nothing || len(st.Spares) != 1 || !st.Settings.Subnet.IsValid() {
		t.Errorf("%+v", st)
	}
	if _, err := r.Remove(t.Context(), "t", true, nil); err != nil || len(r.e.Nets) != 1 {
		t.Errorf("%v %v", r.e.Nets, err)
	}
}

// A node that goes while it is looked at is not one that was left unfinished.
func TestC1_NodeThatVanishes(t *testing.T) {
	r := newRig(t)
	st, _ := r.bring(t, testSpec())
	r.e.Fail = func(op, _ string) error {
		if op == "CopyFrom" {
			delete(r.e.Nodes, st.Node.ID)
		}
		return nil
	}
	now, err := r.Observe(t.Context(), "t")
	if err != nil || now.Phase != Partial {
		t.Errorf("%+v %v", now, err)
	}
}
