//go:build lab

package cluster_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/cluster"
	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/nodeimage"
	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
)

// These tests run on the real engine of the lab:
//
//	go test -c -tags lab -o /tmp/cluster.test ./core/cluster
//	go run -C test/lab . exec -- /tmp/cluster.test -test.v -test.run Lab

const labCluster = "labcluster"

type lab struct {
	*cluster.Manager
	e    *engine.Engine
	spec cluster.Spec
}

func openLab(t *testing.T) *lab {
	t.Helper()
	if os.Getenv("DOCKER_HOST") == "" {
		t.Skip("skipped: DOCKER_HOST does not name the lab's engine")
	}
	e, err := engine.Open(t.Context(), engine.Options{MinAPI: "1.41", Surroundings: engine.Machine(runtime.GOOS)})
	if err != nil {
		t.Fatal(err)
	}
	in, err := e.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := os.Getenv("RIGUP_ROOT")
	p, err := pins.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := nodeimage.Look(t.Context(), e, nodeimage.Want{Ref: p.K3s.Image, OS: in.OS, Arch: in.Arch})
	if err != nil {
		t.Fatal(err)
	}
	var last engine.Progress
	begin := time.Now()
	img, err := nodeimage.Ensure(t.Context(), e, plan, nodeimage.Source{Mirrors: in.Mirrors, Progress: func(p engine.Progress) { last = p }})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("image %s, pulled %v of %d bytes in %s", engine.ShortID(img.ID), !plan.Have, last.Total, time.Since(begin))
	dir := filepath.Join(os.TempDir(), labCluster+"-data")
	if _, err := cluster.ClaimData(dir, labCluster); err != nil {
		t.Fatal(err)
	}
	l := &lab{e: e, Manager: &cluster.Manager{Engine: e, Host: cluster.ThisHost(os.DirFS("/"))}, spec: cluster.Spec{
		Cluster: labCluster, Image: p.K3s.Image, DataDir: dir, Ports: cluster.PortRange{First: 6550, Last: 6599}, CgroupV1: in.CgroupVersion == "1",
		Asked: map[cluster.Field]bool{}, Files: cluster.Files{Mirrors: cluster.WithEngineMirrors(nil, in.Mirrors)}}}
	return l
}

func (l *lab) bring(t *testing.T, want cluster.Action) cluster.State {
	t.Helper()
	begin := time.Now()
	st, err := l.Observe(t.Context(), labCluster)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Plan(st, l.spec)
	if err != nil {
		t.Fatal(err)
	}
	if want != "" && p.Action != want {
		t.Fatalf("action %s, want %s; state %+v", p.Action, want, st)
	}
	after, err := l.Apply(t.Context(), p, func(s string) { t.Logf("  %6.2f s  %s", time.Since(begin).Seconds(), s) })
	if err != nil {
		t.Fatalf("%s: %v", p.Action, err)
	}
	t.Logf("%s took %s; %+v", p.Action, time.Since(begin), p.Changes)
	return after
}

// ready waits until the API answers and the node is Ready.
func (l *lab) ready(t *testing.T, st cluster.State) {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	hc := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, Timeout: 2 * time.Second}
	for {
		if err := l.Alive(ctx, st); err != nil {
			t.Fatal(err)
		}
		_, kerr := l.Kubeconfig(ctx, st)
		r, err := hc.Get(st.Settings.Address() + "/version")
		if err == nil {
			r.Body.Close()
		}
		if kerr == nil && err == nil {
			var out, errs bytes.Buffer
			code, err := l.e.Exec(ctx, st.Node.ID, engine.ExecOptions{Cmd: []string{"kubectl", "get", "nodes", "--no-headers"}, Stdout: &out, Stderr: &errs})
			if err == nil && code == 0 && strings.Contains(out.String(), " Ready ") {
				t.Logf("ready after %s: %s", time.Since(begin), strings.TrimSpace(out.String()))
				return
			}
		}
		select {
		case <-ctx.Done():
			log, _ := l.e.Logs(t.Context(), st.Node.ID, 20)
			t.Fatalf("not ready: %v %v\n%s", kerr, err, log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func TestLab(t *testing.T) {
	l := openLab(t)
	if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
		t.Fatal(err)
	}
	first := l.bring(t, cluster.Create)
	l.ready(t, first)
	l.bring(t, cluster.Nothing)

	t.Run("load", func(t *testing.T) { l.load(t, first) })

	if err := l.e.Stop(t.Context(), first.Node.ID); err != nil {
		t.Fatal(err)
	}
	l.ready(t, l.bring(t, cluster.Start))

	if err := l.e.RemoveContainer(t.Context(), first.Node.ID); err != nil {
		t.Fatal(err)
	}
	again := l.bring(t, cluster.Create)
	l.ready(t, again)
	if log, err := l.e.Logs(t.Context(), again.Node.ID, 2000); err != nil || strings.Contains(log, "password rejected") {
		t.Errorf("C4: %v", err)
	}
	var out bytes.Buffer
	if _, err := l.e.Exec(t.Context(), again.Node.ID, engine.ExecOptions{Cmd: []string{"kubectl", "get", "ns", "kept", "--no-headers"}, Stdout: &out}); err != nil || !strings.Contains(out.String(), "kept") {
		t.Errorf("the data did not stay: %s %v", &out, err)
	}

	l.spec.Files.Mirrors = append(l.spec.Files.Mirrors, cluster.Mirror{Host: "example.test", URLs: []string{"http://mirror.test"}})
	l.ready(t, l.bring(t, cluster.Restart))
	l.spec.Recreate = true
	l.ready(t, l.bring(t, cluster.Replace))
	l.spec.Recreate = false
	l.bring(t, cluster.Nothing)

	changes, err := l.Remove(t.Context(), labCluster, true, func(s string) { t.Log("  " + s) })
	t.Logf("%+v %v", changes, err)
	if st, err := l.Observe(t.Context(), labCluster); err != nil || st.Phase != cluster.Absent {
		t.Errorf("%+v %v", st, err)
	}
	if err := l.RemoveData(t.Context(), l.spec.DataDir, labCluster, l.spec.Image); err != nil {
		t.Error(err)
	}
}

func (l *lab) load(t *testing.T, st cluster.State) {
	const ref = "docker.io/library/busybox:1.37"
	if err := l.e.Pull(t.Context(), engine.PullOptions{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false} {
		begin := time.Now()
		if did, err := l.LoadFromEngine(t.Context(), st, ref); err != nil || did != want {
			t.Errorf("%d: %v %v", i, did, err)
		}
		t.Logf("load %d took %s", i, time.Since(begin))
	}
	begin := time.Now()
	if did, err := l.LoadFromEngine(t.Context(), st, l.spec.Image); err != nil || !did {
		t.Error(did, err)
	}
	t.Logf("loading the node image took %s", time.Since(begin))
	self, err := os.ReadFile(os.Getenv("RIGUP_STATIC"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := nodeimage.Scratch(nodeimage.Program{Repository: "rigup.test/app", Binary: self, Path: "/app", Arch: runtime.GOARCH, User: "65532:65532"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.LoadImage(t.Context(), st, a.Ref, a.ID, func() (io.ReadCloser, error) { return a.Reader(), nil }); err != nil {
		t.Fatal(err)
	}
	if has, err := l.HasImage(t.Context(), st, a.Ref, a.ID); err != nil || !has {
		t.Error(has, err)
	}
	var out bytes.Buffer
	script := `kubectl create ns kept; for i in $(seq 50); do kubectl get sa default >/dev/null 2>&1 && break; sleep 0.2; done
kubectl run app --image=` + a.Ref + ` --image-pull-policy=Never --restart=Never && kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/app --timeout=60s && kubectl logs app`
	code, err := l.e.Exec(t.Context(), st.Node.ID, engine.ExecOptions{Cmd: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &out})
	t.Logf("pod from the archive: %d %v %s", code, err, &out)
	if code != 0 {
		t.Error("the pod did not succeed")
	}
}

// A run that is killed at any moment is completed by the next.
func TestLabC9_KillMinusNine(t *testing.T) {
	l := openLab(t)
	if os.Getenv("RIGUP_CHILD") != "" {
		l.bring(t, "")
		return
	}
	for _, after := range []time.Duration{30, 60, 90, 120, 160, 200, 260, 350, 500, 800} {
		if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run", "TestLabC9_KillMinusNine")
		cmd.Env = append(os.Environ(), "RIGUP_CHILD=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		mid, err := l.Observe(t.Context(), labCluster)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after %d ms: %s, network %v, %d volumes", after, mid.Phase, mid.Network.ID != "", len(mid.Volumes))
		end := l.bring(t, "")
		if end.Phase != cluster.Running {
			t.Errorf("%+v", end)
		}
		l.bring(t, cluster.Nothing)
	}
	st := l.bring(t, cluster.Nothing)
	l.ready(t, st)
	if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.RemoveData(t.Context(), l.spec.DataDir, labCluster, l.spec.Image); err != nil {
		t.Error(err)
	}
}

func TestLabPrivateRegistry(t *testing.T) {
	l := openLab(t)
	host := os.Getenv("RIGUP_LAB_REGISTRY")
	if host == "" {
		t.Skip("skipped: RIGUP_LAB_REGISTRY does not name a registry")
	}
	if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
		t.Fatal(err)
	}
	ref, good := host+"/private/app:1", engine.Credentials{Username: "lab", Password: "lab-secret"}
	_ = l.e.RemoveImage(t.Context(), ref)
	for _, c := range []engine.Credentials{{}, {Username: "lab", Password: "wrong"}} {
		err := l.e.Pull(t.Context(), engine.PullOptions{Ref: ref, Credentials: c})
		if r := reason.Of(err); r.ID != reason.ImageDenied {
			t.Errorf("%v", err)
		} else {
			t.Log(r.Text, r.Remedy, r.Evidence)
		}
	}
	for _, bad := range []string{host + "/private/app:404", "nowhere.invalid/a:1", "127.0.0.1:1/a:1"} {
		r := reason.Of(l.e.Pull(t.Context(), engine.PullOptions{Ref: bad, Credentials: good}))
		t.Log(bad, r.ID, r.Text, r.Evidence)
	}
	if err := l.e.Pull(t.Context(), engine.PullOptions{Ref: ref, Credentials: good, Progress: func(p engine.Progress) { t.Log(p) }}); err != nil {
		t.Error(err)
	}
	l.spec.Files.Credentials = map[string]engine.Credentials{host: good}
	l.spec.Files.Mirrors = append(l.spec.Files.Mirrors, cluster.Mirror{Host: host, URLs: []string{"http://" + host}})
	l.spec.Files.Proxy = cluster.Proxy{HTTP: "http://u:planted-secret@proxy.test:3128", No: strings.Split(host, ":")[0]}
	st := l.bring(t, cluster.Create)
	l.ready(t, st)
	var out bytes.Buffer
	script := `for i in $(seq 50); do kubectl get sa default >/dev/null 2>&1 && break; sleep 0.2; done
kubectl run app --image=` + ref + ` --restart=Never -- true; kubectl wait --for=jsonpath='{.status.phase}'=Succeeded pod/app --timeout=30s || kubectl describe pod app | tail -8
tr '\0' '\n' < /proc/1/environ | grep -i proxy | sed s/planted-secret/HIDDEN/; ls -l /etc/rigup /etc/rancher/k3s`
	code, err := l.e.Exec(t.Context(), st.Node.ID, engine.ExecOptions{Cmd: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &out})
	t.Logf("%d %v\n%s", code, err, &out)
	if !strings.Contains(out.String(), "condition met") {
		t.Error("the node did not pull the private image")
	}
	if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
		t.Error(err)
	}
}

func TestLabTrouble(t *testing.T) {
	l := openLab(t)
	defer func() {
		if _, err := l.Remove(context.WithoutCancel(t.Context()), labCluster, true, nil); err != nil {
			t.Error(err)
		}
	}()
	fresh := func() {
		t.Helper()
		if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
			t.Fatal(err)
		}
	}
	fresh()
	l.spec.Args = []string{"--no-such-flag"}
	st := l.bring(t, cluster.Create)
	begin := time.Now()
	for err := error(nil); ; err = l.Alive(t.Context(), st) {
		if err != nil {
			r := reason.Of(err)
			t.Logf("after %s: %s: %s %v %v", time.Since(begin), r.ID, r.Text, r.Remedy, r.Evidence)
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("the crash was not seen")
		}
		time.Sleep(100 * time.Millisecond)
	}
	if st, err := l.Observe(t.Context(), labCluster); err != nil || st.Phase != cluster.Crashed {
		t.Errorf("%s %v", st.Phase, err)
	}
	l.bring(t, cluster.Restart)
	l.spec.Args = nil
	l.spec.Recreate = true
	l.ready(t, l.bring(t, cluster.Replace))
	l.spec.Recreate = false

	// Between plan and apply others take the port and the subnet.
	fresh()
	st, err := l.Observe(t.Context(), labCluster)
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Plan(st, l.spec)
	if err != nil {
		t.Fatal(err)
	}
	l.Host.Listen = func(string) error { return nil } // only the engine knows
	other, err := l.e.CreateContainer(t.Context(), engine.ContainerSpec{Name: "labcluster-other", Image: l.spec.Image, Entrypoint: []string{"/bin/sleep", "600"},
		Ports: []engine.Port{{Host: netip.MustParseAddr("127.0.0.1"), Published: p.Settings.Port, Container: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.e.RemoveContainer(context.WithoutCancel(t.Context()), other)
	if err := l.e.Start(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	net, err := l.e.CreateNetwork(t.Context(), "labcluster-other", p.Settings.Subnet, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.e.RemoveNetwork(context.WithoutCancel(t.Context()), net)
	if st, err = l.Apply(t.Context(), p, func(s string) { t.Log("  " + s) }); err != nil {
		t.Fatal(err)
	}
	if st.Phase != cluster.Running || st.Settings.Port == p.Settings.Port || st.Settings.Subnet == p.Settings.Subnet {
		t.Errorf("%+v", st.Settings)
	}
	// The volume of a stranger.
	if _, err := l.Remove(t.Context(), labCluster, true, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.e.CreateVolume(t.Context(), cluster.NamesOf(labCluster).State, nil); err != nil {
		t.Fatal(err)
	}
	defer l.e.RemoveVolume(context.WithoutCancel(t.Context()), cluster.NamesOf(labCluster).State)
	st, err = l.Observe(t.Context(), labCluster)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.Plan(st, l.spec)
	if reason.Of(err).ID != reason.ClusterForeign {
		t.Error(err)
	}
	t.Log(err)
}

// What containers wrote as root is deleted for a user who may not. Run it as another user than root.
func TestLabRootFiles(t *testing.T) {
	l := openLab(t)
	base, err := os.MkdirTemp("", labCluster)
	if err != nil {
		t.Fatal(err)
	}
	dir, outside := filepath.Join(base, "data"), filepath.Join(base, "outside")
	if own, err := cluster.ClaimData(dir, labCluster); err != nil || !own {
		t.Fatal(own, err)
	}
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	id, err := l.e.CreateContainer(t.Context(), engine.ContainerSpec{Name: "labcluster-writer", Image: l.spec.Image, Network: "none",
		Entrypoint: []string{"/bin/sh", "-c", "mkdir -m 700 -p /d/a/b && echo x > /d/a/b/c && ln -s " + outside + " /d/a/link && ln -s / /d/a/root && ln -s / /d/.hidden && mkdir /d/..odd"}, Mounts: []engine.Mount{{Bind: dir, Target: "/d"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.e.RemoveContainer(context.WithoutCancel(t.Context()), id)
	if err := l.e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if code, err := l.e.Wait(t.Context(), id); err != nil || code != 0 {
		t.Fatal(code, err)
	}
	if os.Getuid() != 0 {
		err := l.RemoveData(t.Context(), dir, labCluster, "")
		if reason.Of(err).ID != reason.ClusterPartLeft {
			t.Error(err)
		}
		t.Log("without an image:", err)
	}
	if err := l.RemoveData(t.Context(), dir, labCluster, l.spec.Image); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory is still there")
	}
	if _, err := os.Lstat(outside); err != nil {
		t.Error("what a link points to is gone")
	}
	_ = os.RemoveAll(base)
	if st, err := l.Observe(t.Context(), labCluster); err != nil || len(st.Helpers) != 0 {
		t.Errorf("%+v %v", st, err)
	}
}
