package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// buildImages writes every image the registries serve into out: blobs under
// their digests, and index.json.
func buildImages(ctx context.Context, b *builder, p *pieces, out string) error {
	w := &layerWriter{out}
	var index []image
	add := func(ref string, private bool, c containerConfig, layers ...tree) error {
		digest, err := w.image(c, layers...)
		if err != nil {
			return fmt.Errorf("image %s: %w", ref, err)
		}
		name, tag, _ := strings.Cut(strings.TrimPrefix(ref, "docker.io/"), ":")
		index = append(index, image{Name: name, Tag: tag, Manifest: digest, Private: private})
		return nil
	}
	node, userland, err := nodeTrees(ctx, b, p)
	if err != nil {
		return err
	}
	err = add(b.pins.K3sImage, false, containerConfig{
		Entrypoint: []string{"/bin/k3s"}, Cmd: []string{"agent"},
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/bin/aux",
			"CRI_CONFIG_FILE=/var/lib/rancher/k3s/agent/etc/crictl.yaml",
		},
		// As the real image declares them: whoever removes a node must remove its volumes.
		Volumes: map[string]struct{}{"/var/lib/kubelet": {}, "/var/lib/rancher/k3s": {}, "/var/lib/cni": {}, "/var/log": {}},
		Labels: map[string]string{
			"org.opencontainers.image.url":     "https://hub.docker.com/r/rancher/k3s",
			"org.opencontainers.image.source":  "https://github.com/k3s-io/k3s.git",
			"org.opencontainers.image.version": b.pins.K3sVersion,
			"dev.rigup.lab":                    "stand-in",
		},
	}, userland, node)
	if err != nil {
		return err
	}
	pause := tree{}
	pause.file("pause", filepath.Join(b.dir(p.pause), "pause"), 0o755)
	// The real image's user: a sandbox must not need root.
	for _, tag := range []string{pauseTag, oldPauseTag} {
		if err := add("rancher/mirrored-pause:"+tag, false, containerConfig{Entrypoint: []string{"/pause"}, User: "65535:65535"}, pause); err != nil {
			return err
		}
	}
	dns := tree{}
	dns.file("coredns", filepath.Join(b.dir(p.coredns), "coredns"), 0o755)
	dns.content("etc/passwd", 0o644, "root:x:0:0:root:/root:/sbin/nologin\n")
	dns.mkdir("tmp", 0o1777)
	if err := add("rancher/mirrored-coredns-coredns:"+strings.TrimPrefix(corednsVersion, "v"), false,
		containerConfig{Entrypoint: []string{"/coredns"}}, dns); err != nil {
		return err
	}
	box, err := busyboxTree(ctx, b.dir(p.userland))
	if err != nil {
		return err
	}
	sh := containerConfig{Cmd: []string{"sh"}, Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}
	if err := add("library/busybox:"+busyboxTag, false, sh, box); err != nil {
		return err
	}
	// Known to the registry with auth alone.
	if err := add("private/app:1", true, sh, box); err != nil {
		return err
	}
	j, err := json.MarshalIndent(index, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "index.json"), j, 0o644)
}

// nodeTrees lays the node image out as k3s's is: from scratch, everything
// under /bin, nothing that needs the libc of a base it is copied onto. The
// userland is a layer of its own, because the k3s binary changes more often.
func nodeTrees(ctx context.Context, b *builder, p *pieces) (node, userland tree, err error) {
	debs := b.dir(p.userland)
	userland, err = busyboxTree(ctx, debs)
	if err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		p     *piece
		names []string
	}{
		{p.containerd, []string{"containerd", "containerd-shim-runc-v2"}},
		{p.runc, []string{"runc"}},
		{p.cni, []string{"bridge", "loopback", "host-local", "portmap"}},
	} {
		for _, n := range x.names {
			userland.file("bin/"+n, filepath.Join(b.dir(x.p), n), 0o755)
		}
	}
	// In the real image ctr is a link to the k3s binary, which sets k3s's
	// address and namespace; here k3s does the same and then runs this one.
	userland.file("bin/aux/ctr", filepath.Join(b.dir(p.containerd), "ctr"), 0o755)
	if err := addIptables(userland, debs); err != nil {
		return nil, nil, err
	}
	roots, err := caBundle(debs)
	if err != nil {
		return nil, nil, err
	}
	userland.content("etc/ssl/certs/ca-certificates.crt", 0o644, roots)
	userland.content("etc/passwd", 0o644, "root:x:0:0:root:/:/bin/sh\n")
	userland.content("etc/group", 0o644, "root:x:0:\n")
	userland.content("etc/nsswitch.conf", 0o644, "hosts: files dns\n")
	userland.content("etc/os-release", 0o644, fmt.Sprintf("PRETTY_NAME=\"K3s %s\"\n", b.pins.K3sVersion))
	for _, d := range []string{"run", "var/run", "lib/modules", "lib/firmware", "usr/share/zoneinfo"} {
		userland.mkdir(d, 0o755)
	}
	userland.mkdir("tmp", 0o1777)
	node = tree{}
	node.file("bin/k3s", filepath.Join(b.dir(p.k3s), "k3s"), 0o755)
	for _, n := range []string{"kubectl", "ctr"} {
		node.link("bin/"+n, "k3s")
	}
	return node, userland, nil
}

// busyboxTree is busybox with a link for each of its applets.
func busyboxTree(ctx context.Context, debs string) (tree, error) {
	bin := firstFile(filepath.Join(debs, "bin/busybox"), filepath.Join(debs, "usr/bin/busybox"))
	if bin == "" {
		return nil, fmt.Errorf("no busybox in Debian's package")
	}
	list, err := output(ctx, 10*time.Second, bin, "--list")
	if err != nil {
		return nil, err
	}
	t := tree{}
	t.file("bin/busybox", bin, 0o755)
	for _, a := range strings.Fields(list) {
		if a != "busybox" {
			t.link("bin/"+a, "busybox")
		}
	}
	t.mkdir("tmp", 0o1777)
	return t, nil
}

func firstFile(names ...string) string {
	for _, n := range names {
		if st, err := os.Stat(n); err == nil && st.Mode().IsRegular() {
			return n
		}
	}
	return ""
}

// addIptables puts Debian's iptables and the libraries it is linked with into
// bin/aux, each name a script that starts it through its own loader.
func addIptables(t tree, debs string) error {
	const home = "bin/aux/xt"
	wanted := []string{
		"xtables-nft-multi", "ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libxtables.so.12", "libmnl.so.0", "libnftnl.so.11",
		"libnfnetlink.so.0", "libnetfilter_conntrack.so.3", "libip4tc.so.2", "libip6tc.so.2",
	}
	found := map[string]string{}
	err := filepath.WalkDir(debs, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := filepath.Base(p)
		if strings.HasSuffix(filepath.Dir(p), "/xtables") && strings.HasSuffix(name, ".so") {
			if d.Type().IsRegular() {
				t.file(home+"/xtables/"+name, p, 0o755)
			} else if to, err := os.Readlink(p); err == nil {
				t.link(home+"/xtables/"+name, to)
			}
		}
		if _, err := os.Stat(p); err == nil && found[name] == "" {
			found[name], err = filepath.EvalSymlinks(p)
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range wanted {
		if found[n] == "" {
			return fmt.Errorf("no %s in Debian's packages", n)
		}
		t.file(home+"/"+n, found[n], 0o755)
	}
	for _, n := range []string{"iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore"} {
		t.content("bin/aux/"+n, 0o755, fmt.Sprintf(
			"#!/bin/sh\nXTABLES_LIBDIR=/%[1]s/xtables exec /%[1]s/ld-linux-x86-64.so.2 --library-path /%[1]s /%[1]s/xtables-nft-multi %[2]s \"$@\"\n", home, n))
	}
	return nil
}

// caBundle joins Debian's CA certificates.
func caBundle(debs string) (string, error) {
	files, err := filepath.Glob(filepath.Join(debs, "usr/share/ca-certificates/mozilla/*.crt"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no CA certificates in Debian's package: %v", err)
	}
	var s strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		s.Write(b)
	}
	return s.String(), nil
}
