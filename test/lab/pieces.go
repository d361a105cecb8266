package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// piece is one cached result of a build. Its key is a hash of everything that
// decides what comes out: sources, versions, flags, and the keys of the pieces
// it is made from.
type piece struct {
	name    string
	what    string        // for the progress line
	limit   time.Duration // of the whole build
	inputs  []string      // versions and flags
	sources []string      // folders of the lab, relative to its root
	needs   []*piece
	build   func(ctx context.Context, b *builder, out string) error
	key     string
}

// builder is what a piece's build function works with.
type builder struct {
	src, cache string
	pins       *pins
	log        string // of the piece being built
	compiled   atomic.Int64
}

func (b *builder) dir(p *piece) string { return filepath.Join(b.cache, p.name+"-"+p.key) }

// pieces are all there are.
type pieces struct{ k3s, pause, runcwrap, containerd, runc, cni, coredns, userland, images, engine29 *piece }

// list is the order of building: what is quick first, so that a machine that
// lacks something fails before the long builds.
func (p *pieces) list(engine29 bool) []*piece {
	l := []*piece{p.runcwrap, p.pause, p.userland, p.k3s, p.containerd, p.runc, p.cni, p.coredns, p.images}
	if engine29 {
		l = append(l, p.engine29)
	}
	return l
}

const (
	k3sTags        = "providerless,dockerless,nodetector"
	containerdTags = "no_btrfs no_devmapper no_zfs no_aufs"
	stripped       = "-s -w"
)

func definePieces(b *builder) *pieces {
	p := &pieces{}
	kubeFlags := k3sLinkFlags(b.pins.K3sVersion)
	p.k3s = &piece{
		name: "k3s", what: "k3s stand-in with Kubernetes " + b.pins.K3sVersion + " (6-12 min from cold)", limit: 30 * time.Minute,
		inputs: []string{k3sTags, kubeFlags}, sources: []string{"k3s", "nodeconf"},
		build: func(ctx context.Context, b *builder, out string) error {
			return goRun(ctx, 30*time.Minute, filepath.Join(b.src, "k3s"), b.log, &b.compiled, []string{"CGO_ENABLED=0"},
				"build", "-v", "-trimpath", "-tags", k3sTags, "-ldflags", kubeFlags, "-o", filepath.Join(out, "k3s"), ".")
		},
	}
	local := func(name, what, binary string) *piece {
		return &piece{
			name: name, what: what, limit: 5 * time.Minute, sources: []string{name},
			build: func(ctx context.Context, b *builder, out string) error {
				return goRun(ctx, 5*time.Minute, b.src, b.log, &b.compiled, []string{"CGO_ENABLED=0"},
					"build", "-v", "-trimpath", "-ldflags", stripped, "-o", filepath.Join(out, binary), "./"+name)
			},
		}
	}
	p.runcwrap = local("runcwrap", "runc that asks only for the capabilities the machine has", "runc")
	p.pause = local("pause", "the sandbox's first process", "pause")
	p.containerd = installed("containerd", "containerd, its shim and ctr "+containerdVersion+" (1-3 min from cold)", false, containerdTags,
		stripped+" -X github.com/containerd/containerd/v2/version.Version="+containerdVersion,
		at(containerdVersion, "github.com/containerd/containerd/v2/cmd/", "containerd", "containerd-shim-runc-v2", "ctr")...)
	p.runc = installed("runc", "runc "+runcVersion, true, "seccomp netgo osusergo",
		stripped+" -linkmode external -extldflags -static -X main.version="+strings.TrimPrefix(runcVersion, "v"),
		at(runcVersion, "github.com/opencontainers/", "runc")...)
	p.cni = installed("cni", "CNI plugins "+cniVersion, false, "", stripped,
		at(cniVersion, "github.com/containernetworking/plugins/plugins/", "main/bridge", "main/loopback", "ipam/host-local", "meta/portmap")...)
	p.coredns = installed("coredns", "CoreDNS "+corednsVersion+" (2-4 min from cold)", false, "", stripped,
		at(corednsVersion, "github.com/coredns/", "coredns")...)
	v := "github.com/moby/moby/v2/dockerversion"
	p.engine29 = installed("engine29", "dockerd 29 from moby "+mobyVersion+" (3-6 min from cold)", false, "no_btrfs exclude_graphdriver_btrfs",
		fmt.Sprintf("%s -X %[2]s.Version=%[3]s -X %[2]s.GitCommit=lab -X %[2]s.BuildTime=2026-01-01T00:00:00Z", stripped, v, engineReports),
		at(mobyVersion, "github.com/moby/moby/v2/cmd/", "dockerd", "docker-proxy")...)
	p.userland = &piece{
		name: "userland", what: "busybox, iptables and CA roots from Debian packages", limit: 10 * time.Minute,
		inputs: nodePackages, build: buildUserland,
	}
	p.images = &piece{
		name: "images", what: "image layers", limit: 10 * time.Minute,
		inputs:  []string{b.pins.K3sImage, imageFormat, pauseTag, oldPauseTag, busyboxTag, corednsVersion},
		sources: []string{"image.go", "nodeimage.go"},
		needs:   []*piece{p.k3s, p.pause, p.containerd, p.runc, p.cni, p.coredns, p.userland},
		build: func(ctx context.Context, b *builder, out string) error {
			return buildImages(ctx, b, p, out)
		},
	}
	return p
}

func at(version, prefix string, names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = prefix + n + "@" + version
	}
	return out
}

// installed is a piece made by "go install" of packages of one module.
func installed(name, what string, cgo bool, tags, ldflags string, pkgs ...string) *piece {
	env := []string{"CGO_ENABLED=0"}
	if cgo {
		env[0] = "CGO_ENABLED=1"
	}
	return &piece{
		name: name, what: what, limit: 20 * time.Minute, inputs: append([]string{env[0], tags, ldflags}, pkgs...),
		build: func(ctx context.Context, b *builder, out string) error {
			args := append([]string{"install", "-v", "-trimpath", "-tags", tags, "-ldflags", ldflags}, pkgs...)
			return goRun(ctx, 20*time.Minute, os.TempDir(), b.log, &b.compiled, append(env, "GOBIN="+out), args...)
		},
	}
}

// k3sLinkFlags makes the components report the version k3s reports.
func k3sLinkFlags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	f := stripped + " -X main.Version=" + version + " -X main.CoreDNS=" + strings.TrimPrefix(corednsVersion, "v") + " -X main.PauseTag=" + pauseTag
	for _, p := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		f += fmt.Sprintf(" -X %[1]s.gitVersion=%s -X %[1]s.gitMajor=%s -X %[1]s.gitMinor=%s -X %[1]s.gitTreeState=clean -X %[1]s.gitCommit=lab -X %[1]s.buildDate=2026-01-01T00:00:00Z",
			p, version, major, minor)
	}
	return f
}

// buildUserland downloads Debian packages with the machine's own apt, and so
// from whatever mirror it uses, and unpacks them.
func buildUserland(ctx context.Context, b *builder, out string) error {
	debs, err := os.MkdirTemp("", "rigup-lab-debs-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(debs)
	// apt fetches as user _apt, which must be able to write here.
	if err := os.Chmod(debs, 0o777); err != nil {
		return err
	}
	download := func() error {
		script := `cd "$1"; shift; exec apt-get -q download "$@"`
		return run(ctx, 5*time.Minute, "sh", append([]string{"-c", script, "sh", debs}, nodePackages...)...)
	}
	if err := download(); err != nil {
		// A fresh machine has no package lists yet.
		if err := run(ctx, 5*time.Minute, "apt-get", "-q", "update"); err != nil {
			return err
		}
		if err := download(); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := run(ctx, time.Minute, "dpkg-deb", "-x", f, out); err != nil {
			return err
		}
	}
	return nil
}
