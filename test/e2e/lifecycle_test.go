package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// TestLifecycle is the life of one cluster, in the order in which a user meets it. The steps build on each
// other: an install takes seconds, and what is tested is what happens to an existing one.
func TestLifecycle(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("life")
	w.bystanders()
	config := write(t, filepath.Join(w.home, ".kube/config"), othersKubeconfig)
	must(t, os.Chmod(config, 0o600))
	data := filepath.Join(w.home, ".rigup/clusters", c, "data")
	if !t.Run("plan changes nothing", func(t *testing.T) { w.at(t).planChangesNothing(c) }) {
		return
	}
	if !t.Run("fresh install", func(t *testing.T) { w.at(t).freshInstall(c) }) {
		return
	}
	t.Run("a second run has nothing to do", func(t *testing.T) { w.at(t).nothingToDo(c) })
	t.Run("status", func(t *testing.T) { w.at(t).status(c) })
	t.Run("C3 kubeconfig", func(t *testing.T) { w.at(t).kubeconfig(c) })
	t.Run("jobs-manager runs a job", func(t *testing.T) { w.at(t).job(c) })
	t.Run("G1 G7 nothing asks for a GPU", func(t *testing.T) { w.at(t).noGPU(c) })
	t.Run("a changed value upgrades the release alone", func(t *testing.T) { w.at(t).changedValue(c) })
	t.Run("a stopped node is started", func(t *testing.T) { w.at(t).stopped(c) })
	t.Run("C4 a removed node is recreated with its data", func(t *testing.T) { w.at(t).removed(c) })
	t.Run("C5 a release stuck in pending is recovered", func(t *testing.T) { w.at(t).pending(c) })
	t.Run("C9 a damaged state file is rebuilt", func(t *testing.T) { w.at(t).damagedState(c) })
	t.Run("what is fixed at creation is compared", func(t *testing.T) { w.at(t).differs(c) })
	t.Run("recreate keeps the data", func(t *testing.T) { w.at(t).recreate(c) })
	t.Run("uninstall keeps the data", func(t *testing.T) { w.at(t).uninstall(c, data) })
	t.Run("C2 nothing of others was touched", func(t *testing.T) {
		w.at(t).untouched()
	})
	t.Run("the data comes back, and goes when asked", func(t *testing.T) { w.at(t).deleteData(c, data) })
}

// at is the world for a subtest.
func (w *world) at(t *testing.T) *world { v := *w; v.t = t; return &v }

// bystanders makes things of others on the engine, with names that begin like ours.
func (w *world) bystanders() {
	w.t.Helper()
	w.docker("pull", "-q", "busybox:1.37")
	must(w.t, w.removeBystanders())
	_, err := w.cli.VolumeCreate(w.ctx(), volume.CreateOptions{Name: bystander})
	must(w.t, err)
	_, err = w.cli.NetworkCreate(w.ctx(), bystander, network.CreateOptions{})
	must(w.t, err)
	_, err = w.cli.ContainerCreate(w.ctx(), &container.Config{Image: "busybox:1.37", Cmd: []string{"true"}}, nil, nil, nil, bystander)
	must(w.t, err)
	w.t.Cleanup(func() { _ = w.removeBystanders() })
}

const bystander = "rigup-life-of-others"

func (w *world) removeBystanders() error {
	_ = w.cli.ContainerRemove(w.ctx(), bystander, container.RemoveOptions{Force: true})
	_ = w.cli.NetworkRemove(w.ctx(), bystander)
	return w.cli.VolumeRemove(w.ctx(), bystander, true)
}

// untouched checks that they are all still there.
func (w *world) untouched() {
	w.t.Helper()
	_, cerr := w.cli.ContainerInspect(w.ctx(), bystander)
	_, nerr := w.cli.NetworkInspect(w.ctx(), bystander, network.InspectOptions{})
	_, verr := w.cli.VolumeInspect(w.ctx(), bystander)
	if err := errors.Join(cerr, nerr, verr); err != nil {
		w.t.Error(err)
	}
	b, err := os.ReadFile(filepath.Join(w.home, ".kube/config"))
	if err != nil || !strings.Contains(string(b), "somebody-elses") {
		w.t.Errorf("the kubeconfig lost another's context: %v\n%s", err, b)
	}
}

const othersKubeconfig = `# mine
apiVersion: v1
kind: Config
clusters:
- name: somebody-elses
  cluster: {server: "https://192.0.2.7:6443"}
contexts:
- name: somebody-elses
  context: {cluster: somebody-elses, user: me}
users:
- name: me
  user: {token: t}
current-context: somebody-elses
`

func (w *world) planChangesNothing(c string) {
	r := w.ok("plan", "--cluster", c)
	contains(w.t, r.all(), "rigup-"+c+"-server-0")
	if _, ok := w.node(c); ok {
		w.t.Error("plan made a node")
	}
	if b, err := os.ReadFile(filepath.Join(w.home, ".kube/config")); err != nil || string(b) != othersKubeconfig {
		w.t.Errorf("plan wrote the kubeconfig: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.home, ".rigup/clusters", c, "state.json")); err == nil {
		w.t.Error("plan wrote a state file")
	}
}

func (w *world) freshInstall(c string) {
	r := w.ok("install", "--cluster", c)
	contains(w.t, r.all(), "Ready on CPU")
	cs := w.kube(c)
	nodes, err := cs.CoreV1().Nodes().List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	if len(nodes.Items) != 1 || nodes.Items[0].Name != "rigup-"+c+"-server-0" {
		w.t.Errorf("nodes %v", nodes.Items)
	}
	d, err := cs.AppsV1().Deployments("rigup").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	if len(d.Items) != 1 || d.Items[0].Status.ReadyReplicas != 1 {
		w.t.Errorf("jobs-manager: %+v", d.Items)
	}
	n, _ := w.node(c)
	for _, p := range n.Ports {
		if p.PublicPort != 0 && p.IP != "127.0.0.1" {
			w.t.Errorf("C3: the API listens on %s:%d", p.IP, p.PublicPort)
		}
	}
}

func (w *world) nothingToDo(c string) {
	e := w.install(c)
	if e.Result.Changed {
		w.t.Error("the second run changed something")
	}
	contains(w.t, w.ok("install", "--cluster", c).all(), "up to date")
	contains(w.t, w.ok("plan", "--cluster", c).all(), "Nothing to do")
}

func (w *world) status(c string) {
	r := w.ok("status", "--cluster", c)
	contains(w.t, r.all(), "CPU", "rigup-"+c)
	var st map[string]any
	must(w.t, json.Unmarshal([]byte(w.ok("status", "--cluster", c, "--output", "json").stdout), &st))
	if st["mode"] != "cpu" {
		w.t.Errorf("status %v", st)
	}
	w.fails(2, []string{"nosuch"}, "status", "--cluster", "nosuch")
}

func (w *world) kubeconfig(c string) {
	file := filepath.Join(w.home, ".kube/config")
	info, err := os.Stat(file)
	must(w.t, err)
	if info.Mode().Perm() != 0o600 {
		w.t.Errorf("mode %v", info.Mode())
	}
	contains(w.t, w.ok("kubeconfig", "--cluster", c).stdout, "https://127.0.0.1:", "rigup-"+c)
}

// job asks the jobs-manager for a job through the API server's proxy, and waits for it to succeed. The job
// looks up a name that only the engine's name server knows, so it fails where pods cannot reach that.
func (w *world) job(c string) {
	cs := w.kube(c)
	svc := w.service(cs)
	post := func(body string) ([]byte, error) {
		return cs.CoreV1().RESTClient().Post().AbsPath(svc+"/v1/jobs").SetHeader("Content-Type", "application/json").Body([]byte(body)).DoRaw(w.ctx())
	}
	_, err := post(`{"name": "hello", "image": "busybox:1.37", "command": ["sh", "-c", "nslookup rigup-life-server-0. && echo $WHO > /data/hello-from-job && cat /data/hello-from-job"], "env": {"WHO": "ada"}, "resources": {"cpu": "100m", "memory": "64Mi"}}`)
	must(w.t, err)
	eventually(w.t, "the job succeeds", 90*time.Second, func() error {
		b, err := cs.CoreV1().RESTClient().Get().AbsPath(svc + "/v1/jobs/hello").DoRaw(w.ctx())
		if err != nil {
			return err
		}
		if !strings.Contains(strings.ReplaceAll(string(b), " ", ""), `"phase":"succeeded"`) {
			return fmt.Errorf("%s", b)
		}
		return nil
	})
	jobs, err := cs.BatchV1().Jobs("rigup").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	if len(jobs.Items) != 1 || jobs.Items[0].Status.Succeeded != 1 {
		w.t.Errorf("%+v", jobs.Items)
	}
	found := false
	filepath.WalkDir(filepath.Join(w.home, ".rigup/clusters", c, "data"), func(p string, _ os.DirEntry, _ error) error {
		found = found || filepath.Base(p) == "hello-from-job"
		return nil
	})
	if !found {
		w.t.Error("what the job wrote is not in the data directory")
	}
	if _, err := post(`{"name": "gpu", "image": "busybox:1.37", "resources": {"gpu": 1}}`); err == nil {
		w.t.Error("a GPU job was taken by a CPU cluster")
	}
	for _, bad := range []string{`{"name": "x", "image": "busybox:1.37", "comand": ["a"]}`, `{"image": ""}`, `{"name": "UPPER", "image": "busybox:1.37"}`, `not json`} {
		if _, err := post(bad); err == nil {
			w.t.Errorf("%s was accepted", bad)
		}
	}
}

// service is the path of the jobs-manager behind the API server.
func (w *world) service(cs kubernetes.Interface) string {
	l, err := cs.CoreV1().Services("rigup").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	if len(l.Items) != 1 {
		w.t.Fatalf("services %v", l.Items)
	}
	s := l.Items[0]
	return fmt.Sprintf("/api/v1/namespaces/rigup/services/%s:%d/proxy", s.Name, s.Spec.Ports[0].Port)
}

func (w *world) noGPU(c string) {
	pods, err := w.kube(c).CoreV1().Pods("").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	for _, p := range pods.Items {
		for _, k := range p.Spec.Containers {
			for name := range k.Resources.Limits {
				if strings.Contains(string(name), "/") {
					w.t.Errorf("%s asks for %s", p.Name, name)
				}
			}
		}
	}
	env := w.managerEnv(c)
	for _, key := range []string{"GPU_REQUESTS", "GPU_LIMITS", "RUNTIME_CLASS_NAME", "GPU_VISIBLE_DEVICES"} {
		if v, ok := env[key]; !ok || v != "" {
			w.t.Errorf("%s = %q, written %v: a CPU install writes it, empty", key, v, ok)
		}
	}
	if env["SINGLE_NODE"] != "true" {
		w.t.Errorf("SINGLE_NODE = %q", env["SINGLE_NODE"])
	}
}

func (w *world) managerEnv(c string) map[string]string {
	d, err := w.kube(c).AppsV1().Deployments("rigup").List(w.ctx(), metav1.ListOptions{})
	must(w.t, err)
	env := map[string]string{}
	for _, e := range d.Items[0].Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	return env
}

func (w *world) changedValue(c string) {
	before, _ := w.node(c)
	e := w.install(c, "--set", "env.LOG_LEVEL=debug")
	if !e.Result.Changed {
		w.t.Error("nothing was changed")
	}
	after, _ := w.node(c)
	if before.ID != after.ID || before.State != after.State {
		w.t.Error("the node was touched")
	}
	if v := w.managerEnv(c)["LOG_LEVEL"]; v != "debug" {
		w.t.Errorf("LOG_LEVEL = %q", v)
	}
	if w.install(c, "--set", "env.LOG_LEVEL=debug").Result.Changed {
		w.t.Error("the same value again is a change")
	}
	w.install(c)
}

// keepsake leaves something in the cluster that must survive.
func (w *world) keepsake(c, name string) {
	_, err := w.kube(c).CoreV1().ConfigMaps("default").Create(w.ctx(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	must(w.t, err)
}

func (w *world) keptsake(c, name string) {
	if _, err := w.kube(c).CoreV1().ConfigMaps("default").Get(w.ctx(), name, metav1.GetOptions{}); err != nil {
		w.t.Errorf("what was in the cluster is lost: %v", err)
	}
}

func (w *world) stopped(c string) {
	n, _ := w.node(c)
	must(w.t, w.cli.ContainerStop(w.ctx(), n.ID, container.StopOptions{}))
	r := w.run("status", "--cluster", c)
	contains(w.t, r.all(), "stopped")
	e := w.install(c)
	after, _ := w.node(c)
	if !e.Result.Changed || after.ID != n.ID || after.State != "running" {
		w.t.Errorf("changed %v, %s then %s", e.Result.Changed, n.ID, after.ID)
	}
}

func (w *world) removed(c string) {
	w.keepsake(c, "removed")
	n, _ := w.node(c)
	must(w.t, w.cli.ContainerRemove(w.ctx(), n.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	w.install(c)
	w.keptsake(c, "removed")
	after, _ := w.node(c)
	if after.ID == n.ID {
		w.t.Error("the same container")
	}
}

// pending marks the newest Helm revision as a run that was cut off leaves it.
func (w *world) pending(c string) {
	cs := w.kube(c)
	for _, status := range []string{"pending-upgrade", "pending-install", "pending-rollback"} {
		l, err := cs.CoreV1().Secrets("rigup").List(w.ctx(), metav1.ListOptions{LabelSelector: "owner=helm"})
		must(w.t, err)
		var newest *corev1.Secret
		for i, s := range l.Items {
			if newest == nil || atoi(s.Labels["version"]) > atoi(newest.Labels["version"]) {
				newest = &l.Items[i]
			}
		}
		setHelmStatus(w.t, newest, status)
		_, err = cs.CoreV1().Secrets("rigup").Update(w.ctx(), newest, metav1.UpdateOptions{})
		must(w.t, err)
		pvcs, err := cs.CoreV1().PersistentVolumeClaims("rigup").List(w.ctx(), metav1.ListOptions{})
		must(w.t, err)
		w.install(c)
		after, err := cs.CoreV1().PersistentVolumeClaims("rigup").List(w.ctx(), metav1.ListOptions{})
		must(w.t, err)
		for i := range pvcs.Items {
			if len(after.Items) != len(pvcs.Items) || after.Items[i].UID != pvcs.Items[i].UID {
				w.t.Errorf("%s: the data's claim was deleted and made again", status)
			}
		}
		if w.install(c).Result.Changed {
			w.t.Errorf("%s: not settled", status)
		}
	}
}

func (w *world) damagedState(c string) {
	file := filepath.Join(w.home, ".rigup/clusters", c, "state.json")
	whole, err := os.ReadFile(file)
	must(w.t, err)
	must(w.t, os.WriteFile(file, whole[:len(whole)/2], 0o600))
	r := w.ok("install", "--cluster", c)
	contains(w.t, r.all(), "damaged")
	kept, _ := filepath.Glob(file + ".damaged-*")
	if len(kept) != 1 {
		w.t.Errorf("kept %v", kept)
	}
	contains(w.t, w.ok("status", "--cluster", c).all(), "CPU")
	must(w.t, os.Remove(file))
	contains(w.t, w.ok("status", "--cluster", c).all(), "CPU")
	w.install(c)
	if _, err := os.Stat(file); err != nil {
		w.t.Error("the state was not rebuilt")
	}
}

func (w *world) differs(c string) {
	n, _ := w.node(c)
	w.fails(2, []string{"data", "--recreate"}, "install", "--cluster", c, "--data-dir", filepath.Join(w.home, "elsewhere"))
	w.fails(2, []string{"--recreate"}, "install", "--cluster", c, "--api-port", "16999")
	after, _ := w.node(c)
	if after.ID != n.ID {
		w.t.Error("the node was replaced without consent")
	}
	if _, err := os.Stat(filepath.Join(w.home, "elsewhere")); err == nil {
		w.t.Error("a refused directory was created")
	}
}

func (w *world) recreate(c string) {
	w.keepsake(c, "recreated")
	n, _ := w.node(c)
	w.install(c, "--recreate", "--api-port", "16999")
	after, _ := w.node(c)
	if after.ID == n.ID {
		w.t.Error("the node was not replaced")
	}
	w.keptsake(c, "recreated")
	contains(w.t, w.ok("kubeconfig", "--cluster", c).stdout, "https://127.0.0.1:16999")
}

func (w *world) uninstall(c, data string) {
	write(w.t, filepath.Join(data, "mine.txt"), "mine")
	w.ok("uninstall", "--cluster", c, "--yes")
	if _, ok := w.node(c); ok {
		w.t.Error("the node is still there")
	}
	if ns, err := w.cli.NetworkInspect(w.ctx(), "rigup-"+c, network.InspectOptions{}); err == nil {
		w.t.Error("the network is still there:", ns.Name)
	}
	if b, err := os.ReadFile(filepath.Join(w.home, ".kube/config")); err == nil && strings.Contains(string(b), "rigup-"+c) {
		w.t.Error("the context is still there")
	}
	if b, err := os.ReadFile(filepath.Join(data, "mine.txt")); err != nil || string(b) != "mine" {
		w.t.Error("the data is gone:", err)
	}
}

func (w *world) deleteData(c, data string) {
	outside := write(w.t, filepath.Join(w.home, "precious/file"), "precious")
	w.install(c)
	must(w.t, os.Symlink(filepath.Dir(outside), filepath.Join(data, "link")))
	w.ok("uninstall", "--cluster", c, "--delete-data", "--yes")
	if b, err := os.ReadFile(outside); err != nil || string(b) != "precious" {
		w.t.Error("C2: the deletion followed a link")
	}
	vs, err := w.cli.VolumeList(w.ctx(), volume.ListOptions{})
	must(w.t, err)
	for _, v := range vs.Volumes {
		if v.Labels["dev.rigup.cluster"] == c {
			w.t.Error("a volume is left:", v.Name)
		}
	}
	left, _ := filepath.Glob(filepath.Join(w.home, ".rigup/clusters", c))
	if len(left) > 0 {
		tree, _ := filepath.Glob(filepath.Join(left[0], "*"))
		w.t.Error("files are left:", tree)
	}
	w.fails(2, []string{c}, "uninstall", "--cluster", c, "--yes")
	w.untouched()
}
