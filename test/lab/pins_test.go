package main

import "testing"

func TestParsePins(t *testing.T) {
	for name, c := range map[string]struct {
		text, version, image string
		fails                bool
	}{
		"plain":              {text: "k3s: {version: v1.2.3+k3s1, image: docker.io/rancher/k3s:v1.2.3-k3s1}", version: "v1.2.3+k3s1", image: "docker.io/rancher/k3s:v1.2.3-k3s1"},
		"more beside it":     {text: "engine: {minApi: '1.41'}\nk3s:\n  image: rancher/k3s:v1.2.3-k3s1\n  version: v1.2.3+k3s1\n  more: 1", version: "v1.2.3+k3s1", image: "rancher/k3s:v1.2.3-k3s1"},
		"deeper":             {text: "images: {k3s: {image: 'rancher/k3s:v1.2.3-k3s2'}}", version: "v1.2.3+k3s2", image: "rancher/k3s:v1.2.3-k3s2"},
		"digest is left out": {text: "k3s: {image: 'rancher/k3s:v1.2.3-k3s1@sha256:00'}", version: "v1.2.3+k3s1", image: "rancher/k3s:v1.2.3-k3s1"},
		"no tag":             {text: "k3s: {image: rancher/k3s}", fails: true},
		"no k3s":             {text: "other: 1", fails: true},
		"no yaml":            {text: "\t{", fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := parsePins([]byte(c.text))
			if (err != nil) != c.fails {
				t.Fatalf("error %v", err)
			}
			if err == nil && (p.K3sVersion != c.version || p.K3sImage != c.image) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

func TestKubernetesVersion(t *testing.T) {
	mod := "module x\n\nrequire (\n\tk8s.io/kubectl v0.0.0\n\tk8s.io/kubernetes v1.2.3\n)\nreplace k8s.io/kubectl => k8s.io/kubectl v0.2.3\n"
	if got := kubernetesVersion([]byte(mod)); got != "v1.2.3" {
		t.Errorf("got %q", got)
	}
	if got := kubernetesVersion([]byte("module x\n")); got != "" {
		t.Errorf("got %q", got)
	}
}
