package pins

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

const root = "../.."

func TestPinsOfTheTree(t *testing.T) {
	p, err := Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if p.K3s.Version == "" || p.Engine.MinAPI == "" {
		t.Errorf("%+v", p)
	}
}

func TestN4_MovingReferencesAreRefused(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for ref, fixed := range map[string]bool{
		"registry.test/app:1":                   true,
		"registry.test:5000/app:1":              true,
		"app:1":                                 true,
		"app" + digest:                          true,
		"app:latest" + digest:                   true,
		"registry.test/app:latest":              false,
		"registry.test/app":                     false,
		"registry.test:5000/app":                false,
		"app:":                                  false,
		"":                                      false,
		"app@sha256:abc":                        false,
		"app@sha256:" + strings.Repeat("G", 64): false,
	} {
		if err := Fixed(ref); (err == nil) != fixed {
			t.Errorf("%q: %v", ref, err)
		}
	}
	for name, text := range map[string]string{
		"latest":        "k3s: {version: v1.2.3+k3s1, image: registry.test/k3s:latest}",
		"other version": "k3s: {version: v1.2.3+k3s1, image: registry.test/k3s:v1.2.4-k3s1}",
		"unknown key":   "k3s: {version: v1.2.3+k3s1, image: registry.test/k3s:v1.2.3-k3s1}\nk8s: x",
		"no image":      "k3s: {version: v1.2.3+k3s1}",
	} {
		if _, err := Read(fstest.MapFS{File: {Data: []byte(text)}}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// Every version and image reference stands once, in the pins: any other literal is found here. Tests may
// name other versions and images, but not the pinned ones, which would have to be changed with the pins.
// go.mod files carry the versions of modules; the lab has its own versions, in one file of its own.
func TestEveryReferenceStandsOnceInThePins(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("skipped: this is not a git checkout, so the tracked files cannot be listed:", err)
	}
	p, err := Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	image := regexp.MustCompile(`(?i)\b(docker\.io|ghcr\.io|nvcr\.io|quay\.io|gcr\.io|registry\.k8s\.io|mcr\.microsoft\.com|public\.ecr\.aws)/[a-z0-9._/-]+[:@][a-z0-9][a-z0-9._:+-]*`)
	k3s := regexp.MustCompile(`v?\d+\.\d+\.\d+[+-]k3s\d+`)
	latest := regexp.MustCompile(`[a-z0-9]:latest\b`)
	exempt := func(name string) bool {
		base := filepath.Base(name)
		return name == File || base == "go.mod" || base == "go.sum" || base == "LICENSE" || strings.HasSuffix(name, ".md") ||
			strings.HasPrefix(name, "test/lab/") || strings.HasSuffix(name, "pins_test.go")
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		if exempt(name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || bytes.IndexByte(b, 0) >= 0 {
			continue // deleted in the working tree, or not text
		}
		isTest := strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/")
		for i, line := range bytes.Split(b, []byte("\n")) {
			if isTest {
				for _, pinned := range []string{p.K3s.Version, strings.ReplaceAll(p.K3s.Version, "+", "-")} {
					if bytes.Contains(line, []byte(pinned)) {
						t.Errorf("%s:%d: %s stands in %s only; a test uses another version", name, i+1, pinned, File)
					}
				}
				continue
			}
			for _, re := range []*regexp.Regexp{image, k3s} {
				if m := re.Find(line); m != nil && !bytes.Contains(m, []byte(".test")) {
					t.Errorf("%s:%d: %s stands in %s only", name, i+1, m, File)
				}
			}
			if m := latest.Find(line); m != nil {
				t.Errorf("%s:%d: %s is a moving reference", name, i+1, m)
			}
		}
	}
	labMod, err := fs.ReadFile(os.DirFS(root), "test/lab/k3s/go.mod")
	if err != nil {
		t.Skip("skipped the rest: the lab is not in this tree:", err)
	}
	kubernetes, _, _ := strings.Cut(p.K3s.Version, "+")
	if !bytes.Contains(labMod, []byte("k8s.io/kubernetes "+kubernetes)) {
		t.Errorf("test/lab/k3s/go.mod is not of Kubernetes %s, which the pins name", kubernetes)
	}
}
