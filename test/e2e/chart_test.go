package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// pinnedImage is the node image that the pins name.
func (w *world) pinnedImage() string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(tree(), "assets/pins.yaml"))
	must(w.t, err)
	var p struct{ K3s struct{ Image string } }
	must(w.t, yaml.Unmarshal(b, &p))
	return p.K3s.Image
}

// login writes a Docker configuration with the lab registry's credentials.
func (w *world) login() {
	w.t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(w.lab.Registry.User + ":" + w.lab.Registry.Password))
	config, err := json.Marshal(map[string]any{"auths": map[string]any{w.lab.Registry.Address: map[string]string{"auth": auth}}})
	must(w.t, err)
	write(w.t, filepath.Join(w.home, ".docker/config.json"), string(config))
}

// pushChart puts a chart archive into the lab's registry, as helm push does.
func (w *world) pushChart(archive, repository string) (ref string) {
	w.t.Helper()
	b, err := os.ReadFile(archive)
	must(w.t, err)
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), "application/vnd.cncf.helm.config.v1+json")
	img, err = mutate.AppendLayers(img, static.NewLayer(b, "application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
	must(w.t, err)
	ref = w.lab.Registry.Address + "/" + repository
	tag, err := name.ParseReference(ref)
	must(w.t, err)
	must(w.t, remote.Write(tag, img, remote.WithAuth(&authn.Basic{Username: w.lab.Registry.User, Password: w.lab.Registry.Password})))
	return ref
}

// podPulls waits until the pod's image was pulled and its container ran.
func (w *world) podPulls(cs kubernetes.Interface, name string) {
	w.t.Helper()
	eventually(w.t, "the pod runs", time.Minute, func() error {
		p, err := cs.CoreV1().Pods("default").Get(w.ctx(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, s := range p.Status.ContainerStatuses {
			if s.ImageID != "" {
				return nil
			}
		}
		return fmt.Errorf("%+v", p.Status.ContainerStatuses)
	})
}

const ispTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
        imagePullPolicy: Never
        command: [/bin/busybox, httpd, -f, -p, "8080"]
        env:
        - {name: GPU, value: {{ .Values.gpu.limits | quote }}}
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
`

const ispContract = `apiVersion: rigup.dev/v1
values:
  gpu.limits:
    gpu: "{resource}={count}"
    cpu: ""
images:
- engine: vendor.test/web:1
`

// TestBringYourOwnChart installs the chart of an ISV: its own contract, and an image that only the engine has.
func TestBringYourOwnChart(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("isv")
	dir := w.chart("isv", ispTemplate, "")
	write(t, filepath.Join(dir, "values.yaml"), "image: {repository: vendor.test/web, tag: '1'}\ngpu: {limits: 'stale=1'}\n")
	write(t, filepath.Join(dir, "contract.yaml"), ispContract)
	w.docker("pull", "busybox:1.37")
	w.docker("tag", "busybox:1.37", "vendor.test/web:1")
	defer w.cli.ImageRemove(w.ctx(), "vendor.test/web:1", image.RemoveOptions{})

	w.install(c, "--chart", dir, "--release", "isv", "--namespace", "isv")
	d, err := w.kube(c).AppsV1().Deployments("isv").Get(w.ctx(), "isv-web", metav1.GetOptions{})
	must(t, err)
	k := d.Spec.Template.Spec.Containers[0]
	if d.Status.ReadyReplicas != 1 || k.Image != "vendor.test/web:1" || k.Env[0].Value != "" {
		t.Errorf("%d ready, image %s, GPU %q", d.Status.ReadyReplicas, k.Image, k.Env[0].Value)
	}
	if w.install(c, "--chart", dir, "--release", "isv", "--namespace", "isv").Result.Changed {
		t.Error("the second run changed something")
	}
	t.Run("as an archive", func(t *testing.T) {
		tgz := filepath.Join(w.home, "isv-1.0.0.tgz")
		if out, err := exec.Command("tar", "-C", filepath.Dir(dir), "-czf", tgz, "isv").CombinedOutput(); err != nil {
			t.Fatalf("%s", out)
		}
		if w.at(t).install(c, "--chart", tgz, "--release", "isv", "--namespace", "isv").Result.Changed {
			t.Error("the same chart, packed, is a change")
		}
	})
	t.Run("from a registry, with credentials", func(t *testing.T) {
		w := w.at(t)
		ref := w.pushChart(filepath.Join(w.home, "isv-1.0.0.tgz"), "private/isv:1.0.0")
		args := []string{"--chart", "oci://" + ref, "--release", "isv", "--namespace", "isv"}
		w.fails(1, []string{"refused access", w.lab.Registry.Address}, append([]string{"install", "--cluster", c}, args...)...)
		w.login()
		if w.install(c, args...).Result.Changed {
			t.Error("the same chart, from a registry, is a change")
		}
	})
	t.Run("a workload that cannot start says why", func(t *testing.T) {
		w := w.at(t)
		write(t, filepath.Join(dir, "templates/all.yaml"), strings.Replace(ispTemplate, "httpd, -f", "nosuchapplet, -f", 1))
		r := w.fails(1, []string{"isv-web", "logs"}, "install", "--cluster", c, "--chart", dir, "--release", "isv", "--namespace", "isv")
		if r.took > 4*time.Minute {
			t.Errorf("it took %v to say so", r.took)
		}
		write(t, filepath.Join(dir, "templates/all.yaml"), ispTemplate)
		w.install(c, "--chart", dir, "--release", "isv", "--namespace", "isv")
	})
}

// TestC6_DataThatCannotBeWritten: a data directory that no repair makes writable is named, and once it is
// writable again the next run is well.
func TestC6_DataThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("data")
	w.install(c)
	var dirs []string
	data := filepath.Join(w.home, ".rigup/clusters", c, "data")
	must(t, filepath.WalkDir(data, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && p != data {
			dirs = append(dirs, p)
		}
		return err
	}))
	if len(dirs) == 0 {
		t.Fatal("the workload made no directories")
	}
	freeze := func(flag string) {
		t.Helper()
		if out, err := exec.Command("chattr", append([]string{flag}, dirs...)...).CombinedOutput(); err != nil {
			t.Fatalf("chattr %s: %v: %s", flag, err, out)
		}
	}
	freeze("+i")
	defer exec.Command("chattr", append([]string{"-i"}, dirs...)...).Run()
	must(t, w.kube(c).CoreV1().Pods("rigup").DeleteCollection(w.ctx(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	w.fails(1, []string{"cannot write to its data directory", data}, "install", "--cluster", c)
	contains(t, w.run("status", "--cluster", c).all(), "cannot write to its data directory")
	freeze("-i")
	w.install(c)
}
