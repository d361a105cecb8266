package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

func TestReuse(t *testing.T) {
	ask := func(f Field) map[Field]bool { return map[Field]bool{f: true} }
	for _, c := range []struct {
		name   string
		change func(*Spec)
		engine func(*rig)
		action Action
		fails  reason.ID
		drifts bool
	}{
		{name: "unchanged", change: func(*Spec) {}, action: Nothing},
		{name: "newer image by default", change: func(s *Spec) { s.Image = "registry.test/k3s:v1.37.0-k3s1" }, action: Nothing, drifts: true},
		{name: "newer image asked", change: func(s *Spec) { s.Image = "registry.test/k3s:v1.37.0-k3s1"; s.Asked = ask(FieldImage) }, fails: reason.ClusterDiffers},
		{name: "newer image asked with consent", change: func(s *Spec) {
			s.Image = "registry.test/k3s:v1.37.0-k3s1"
			s.Asked = ask(FieldImage)
			s.Recreate = true
		}, action: Replace},
		{name: "older image by default with consent", change: func(s *Spec) { s.Image = "registry.test/k3s:v1.35.0-k3s1"; s.Recreate = true }, action: Replace, drifts: true},
		{name: "other data asked", change: func(s *Spec) { s.DataDir = "/x"; s.Asked = ask(FieldData) }, fails: reason.ClusterDiffers},
		{name: "other data by default", change: func(s *Spec) { s.DataDir = "/x" }, action: Nothing, drifts: true},
		{name: "other default range of ports", change: func(s *Spec) { s.Ports = PortRange{7000, 7001} }, action: Nothing},
		{name: "other port asked", change: func(s *Spec) { s.Ports = PortRange{7000, 7001}; s.Asked = ask(FieldPort) }, fails: reason.ClusterDiffers},
		{name: "port asked that it has", change: func(s *Spec) { s.Ports = PortRange{6550, 6550}; s.Asked = ask(FieldPort) }, action: Nothing},
		{name: "other subnet asked", change: func(s *Spec) { s.Subnet = netip.MustParsePrefix("10.9.0.0/24"); s.Asked = ask(FieldSubnet) }, fails: reason.ClusterDiffers},
		{name: "cgroup version changed", change: func(s *Spec) { s.CgroupV1 = true }, action: Nothing, drifts: true},
		{name: "device asked", change: func(s *Spec) {
			s.Requests = []engine.DeviceRequest{{Driver: "nvidia", Count: -1}}
			s.Asked = ask(FieldDevices)
		}, fails: reason.ClusterDiffers},
		{name: "mirror", change: func(s *Spec) { s.Files.Mirrors = []Mirror{{"docker.io", []string{"https://m.test"}}} }, action: Restart},
		{name: "recreate", change: func(s *Spec) { s.Recreate = true }, action: Replace},
		{name: "stopped", change: func(*Spec) {}, engine: func(r *rig) { r.node(t).State = "exited" }, action: Start},
		{name: "never started", change: func(*Spec) {}, engine: func(r *rig) { r.node(t).State = "created" }, action: Start},
		{name: "stopped with new mirror", change: func(s *Spec) { s.Files.Mirrors = []Mirror{{"docker.io", []string{"https://m.test"}}} }, engine: func(r *rig) { r.node(t).State = "exited" }, action: Start},
		{name: "crashing", change: func(*Spec) {}, engine: func(r *rig) { r.node(t).State = "restarting" }, action: Restart},
		{name: "without its last file", change: func(*Spec) {}, engine: func(r *rig) { delete(r.node(t).Files, markerPath) }, action: Replace},
		{name: "stopped, port taken", change: func(*Spec) {}, engine: func(r *rig) {
			r.node(t).State = "exited"
			r.busy["127.0.0.1:6550"], r.e.TakenPorts[6550] = true, true
		}, action: Replace},
		{name: "stopped, asked port taken", change: func(s *Spec) { s.Ports = PortRange{6550, 6550}; s.Asked = ask(FieldPort) },
			engine: func(r *rig) { r.node(t).State = "exited"; r.busy["127.0.0.1:6550"] = true }, fails: reason.MachinePorts},
		{name: "stopped, network gone", change: func(*Spec) {}, engine: func(r *rig) {
			r.node(t).State = "exited"
			for id, n := range r.e.Nets {
				if n.Name == "rigup-t" {
					delete(r.e.Nets, id)
				}
			}
		}, action: Replace},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			first, _ := r.bring(t, testSpec())
			if c.engine != nil {
				c.engine(r)
			}
			s := testSpec()
			c.change(&s)
			p, err := r.plan(t, s)
			if c.fails != "" {
				wantReason(t, err, c.fails)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.Action != c.action || (p.Degraded != nil) != c.drifts {
				t.Fatalf("action %s, degraded %+v", p.Action, p.Degraded)
			}
			if (p.Action == Nothing) != (len(p.Changes) == 0) {
				t.Errorf("action %s with changes %+v", p.Action, p.Changes)
			}
			st, err := r.Apply(t.Context(), p, nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(c.name, "port taken") && st.Settings.Port != 6551 {
				t.Errorf("port %d", st.Settings.Port)
			}
			if st.Phase != Running || c.action != Replace && st.Settings.Port != first.Settings.Port {
				t.Errorf("%+v", st)
			}
			s.Recreate = false
			if p, err = r.plan(t, s); err != nil || p.Action != Nothing {
				t.Errorf("afterwards %+v %v", p.Changes, err)
			}
		})
	}
}

func TestOlderKubernetesNeedsAnExplicitImage(t *testing.T) {
	r := newRig(t)
	r.bring(t, testSpec())
	s := testSpec()
	s.Image, s.Recreate = "registry.test/k3s:v1.35.0-k3s1", true
	st, p := r.bring(t, s)
	if st.Settings.Image != testImage || p.Degraded == nil || p.Degraded.ID != reason.ClusterDrift {
		t.Errorf("%+v %+v", st.Settings, p.Degraded)
	}
	s.Asked = map[Field]bool{FieldImage: true}
	if st, _ = r.bring(t, s); st.Settings.Image != s.Image {
		t.Errorf("%+v", st.Settings)
	}
}

func TestDiffersNamesTheFlags(t *testing.T) {
	r := newRig(t)
	r.bring(t, testSpec())
	s := testSpec()
	s.DataDir, s.Ports = "/x", PortRange{7000, 7000}
	s.Asked = map[Field]bool{FieldData: true, FieldPort: true}
	_, err := r.plan(t, s)
	wantReason(t, err, reason.ClusterDiffers, "the data directory /home/u/rigup and the API port 6550", "rigup install --recreate --data-dir /x --api-port 7000")
}

func TestPorts(t *testing.T) {
	r := newRig(t)
	for p := 6550; p < 6599; p++ {
		r.busy[fmt.Sprintf("127.0.0.1:%d", p)] = true
	}
	st, _ := r.bring(t, testSpec())
	if st.Settings.Port != 6599 {
		t.Errorf("port %d", st.Settings.Port)
	}
	r = newRig(t)
	s := testSpec()
	s.Ports = PortRange{7000, 7001}
	r.busy["127.0.0.1:7000"], r.busy["127.0.0.1:7001"] = true, true
	_, err := r.plan(t, s)
	wantReason(t, err, reason.MachinePorts, "7000-7001")

	// The engine knows better than a trial: another program was faster, or listens where we cannot see it.
	r = newRig(t)
	r.e.TakenPorts[6550], r.e.TakenPorts[6551] = true, true
	if st, _ := r.bring(t, testSpec()); st.Settings.Port != 6552 || len(r.e.Nodes) != 1 {
		t.Errorf("port %d, %d containers", st.Settings.Port, len(r.e.Nodes))
	}
}

func TestSubnets(t *testing.T) {
	r := newRig(t)
	r.hosts = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("172.16.0.0/12")}
	if st, _ := r.bring(t, testSpec()); st.Settings.Subnet.String() != "192.168.250.0/24" {
		t.Errorf("subnet %s", st.Settings.Subnet)
	}
	r = newRig(t)
	r.e.TakenSubnets = []netip.Prefix{netip.MustParsePrefix("172.30.250.0/24")}
	if st, _ := r.bring(t, testSpec()); st.Settings.Subnet.String() != "172.30.249.0/24" {
		t.Errorf("subnet %s", st.Settings.Subnet)
	}
	r = newRig(t)
	r.hosts = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16")}
	_, err := r.plan(t, testSpec())
	wantReason(t, err, reason.ClusterNoSubnet)
	for _, c := range candidates() {
		if !c.Addr().IsPrivate() || c != c.Masked() || overlap(c, []netip.Prefix{netip.MustParsePrefix(podNet), netip.MustParsePrefix(serviceNet)}).IsValid() {
			t.Errorf("candidate %s", c)
		}
	}
	r = newRig(t)
	s := testSpec()
	s.Subnet = netip.MustParsePrefix("10.42.7.0/24")
	_, err = r.plan(t, s)
	wantReason(t, err, reason.UsageValue, "10.42.0.0/16")
}

func TestMachineWithoutKernelModules(t *testing.T) {
	r := newRig(t)
	r.e.Missing["/lib/modules"] = true
	r.bring(t, testSpec())
	if slices.ContainsFunc(r.node(t).Mounts, func(m engine.Mount) bool { return m.Bind == "/lib/modules" }) {
		t.Error("mounted")
	}
	if _, p := r.bring(t, testSpec()); p.Action != Nothing || p.Degraded != nil {
		t.Errorf("%+v", p)
	}
	// Any other missing path is an error.
	r = newRig(t)
	r.e.Missing["/home/u/rigup"] = true
	p, err := r.plan(t, testSpec())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(t.Context(), p, nil)
	wantReason(t, err, reason.EngineFailed, "/home/u/rigup")
}
