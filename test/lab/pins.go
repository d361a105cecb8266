package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pins is the part of the product's pins file that the lab follows.
type pins struct {
	K3sVersion string // v1.36.3+k3s1
	K3sImage   string // docker.io/rancher/k3s:v1.36.3-k3s1
}

// sourceDir is where the lab's sources lie: the folder this file was compiled
// from, so that the program works from any directory.
func sourceDir() (string, error) {
	if d := os.Getenv("RIGUP_LAB_SRC"); d != "" {
		return d, nil
	}
	_, file, _, ok := runtime.Caller(0)
	dir := filepath.Dir(file)
	if _, err := os.Stat(filepath.Join(dir, "k3s", "go.mod")); !ok || err != nil {
		return "", fmt.Errorf("the lab's sources are not at %s (built with -trimpath?): set RIGUP_LAB_SRC", dir)
	}
	return dir, nil
}

// loadPins reads the product's pins file, RIGUP_LAB_PINS or assets/pins.yaml.
func loadPins(src string) (*pins, error) {
	file := os.Getenv("RIGUP_LAB_PINS")
	if file == "" {
		file = filepath.Join(src, "..", "..", "assets", "pins.yaml")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the product's pins: %w", err)
	}
	p, err := parsePins(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	mod, err := os.ReadFile(filepath.Join(src, "k3s", "go.mod"))
	if err != nil {
		return nil, err
	}
	if kube := kubernetesVersion(mod); !strings.HasPrefix(p.K3sVersion, kube+"+") {
		return nil, fmt.Errorf("%s pins k3s %s, the stand-in is built from Kubernetes %s: move test/lab/k3s/go.mod along", file, p.K3sVersion, kube)
	}
	return p, nil
}

// parsePins looks for a mapping "k3s" with an image, wherever the file keeps
// it; the version may be left out, the image's tag then says it.
func parsePins(b []byte) (*pins, error) {
	var doc any
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	m := findMap(doc, "k3s")
	if m == nil {
		return nil, fmt.Errorf("no mapping k3s")
	}
	p := &pins{}
	p.K3sImage, _ = m["image"].(string)
	p.K3sVersion, _ = m["version"].(string)
	p.K3sImage, _, _ = strings.Cut(p.K3sImage, "@")
	_, tag, ok := strings.Cut(p.K3sImage, ":")
	if !ok {
		return nil, fmt.Errorf("k3s.image %q has no tag", p.K3sImage)
	}
	if p.K3sVersion == "" {
		p.K3sVersion = strings.Replace(tag, "-k3s", "+k3s", 1)
	}
	return p, nil
}

func findMap(v any, key string) map[string]any {
	m, _ := v.(map[string]any)
	if found, ok := m[key].(map[string]any); ok {
		return found
	}
	for _, inner := range m {
		if found := findMap(inner, key); found != nil {
			return found
		}
	}
	return nil
}

var kubernetesLine = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// kubernetesVersion is the Kubernetes release a go.mod requires.
func kubernetesVersion(mod []byte) string {
	if m := kubernetesLine.FindSubmatch(mod); m != nil {
		return string(m[1])
	}
	return ""
}
