package e2e

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// purgeRelease takes rigup's mark off the release, as if somebody else had installed it.
func (w *world) purgeRelease(c string) {
	w.t.Helper()
	cs := w.kube(c)
	l, err := cs.CoreV1().Secrets("rigup").List(w.ctx(), metav1.ListOptions{LabelSelector: "owner=helm"})
	must(w.t, err)
	for i := range l.Items {
		s := &l.Items[i]
		for k := range s.Labels {
			if strings.Contains(k, "rigup.dev") || strings.Contains(k, "dev.rigup") || strings.Contains(s.Labels[k], "rigup-") {
				delete(s.Labels, k)
			}
		}
		_, err := cs.CoreV1().Secrets("rigup").Update(w.ctx(), s, metav1.UpdateOptions{})
		must(w.t, err)
	}
}

// TestN3_E2_PrivateRegistry pulls the node image with credentials of the Docker config, hands them to the
// node, and looks for the planted secrets everywhere they must not be.
func TestN3_E2_PrivateRegistry(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("private")
	reg := w.lab.Registry
	pinned := w.pinnedImage()
	image := reg.Address + "/private/k3s:" + pinned[strings.LastIndexByte(pinned, ':')+1:]
	auth := base64.StdEncoding.EncodeToString([]byte(reg.User + ":" + reg.Password))
	dockerConfig := filepath.Join(w.home, ".docker")
	w.login()
	w.docker("pull", pinned)
	w.docker("tag", pinned, image)
	w.docker("push", image)
	w.docker("rmi", image)
	t.Cleanup(func() {
		_ = w.dockerCommand("rmi", "-f", image).Run()
	})

	t.Run("without credentials the registry's refusal is the reason", func(t *testing.T) {
		must(t, os.Rename(dockerConfig, dockerConfig+".away"))
		defer func() { must(t, os.Rename(dockerConfig+".away", dockerConfig)) }()
		w.at(t).fails(1, []string{"refused access", "docker login " + reg.Address}, "install", "--cluster", c, "--node-image", image)
	})

	const proxyPassword = "proxy-pass-4711"
	proxy := "http://ada:" + proxyPassword + "@192.0.2.9:3128"
	env := []string{"HTTPS_PROXY=" + proxy, "HTTP_PROXY=" + proxy, "NO_PROXY=" + w.lab.Address}
	r := w.runEnv(env, "install", "--cluster", c, "--node-image", image, "--verbose")
	if r.exit != 0 {
		t.Fatal("install failed")
	}

	t.Run("the node pulls with the same credentials", func(t *testing.T) {
		w := w.at(t)
		cs := w.kube(c)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "private"}, Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "c", Image: reg.Address + "/private/app:1", Command: []string{"/bin/busybox", "true"}, ImagePullPolicy: corev1.PullAlways}},
		}}
		_, err := cs.CoreV1().Pods("default").Create(w.ctx(), pod, metav1.CreateOptions{})
		must(t, err)
		w.podPulls(cs, "private")
	})

	t.Run("no secret is anywhere", func(t *testing.T) {
		w := w.at(t)
		secrets := []string{reg.Password, auth, proxyPassword}
		var places []string
		n, _ := w.node(c)
		places = append(places, "inspect\n"+w.docker("inspect", n.ID), "output\n"+r.all(),
			"node log\n"+w.docker("logs", n.ID), "processes\n"+w.docker("top", n.ID, "-eo", "pid,args"))
		files := 0
		filepath.WalkDir(filepath.Join(w.home, ".rigup"), func(p string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				b, _ := os.ReadFile(p)
				places = append(places, p+"\n"+string(b))
				files++
			}
			return nil
		})
		if files < 2 {
			t.Errorf("only %d files of ours were found", files)
		}
		for _, place := range places {
			for _, s := range secrets {
				if strings.Contains(place, s) {
					name, _, _ := strings.Cut(place, "\n")
					t.Errorf("%q is in %s", s, name)
				}
			}
		}
	})
}
