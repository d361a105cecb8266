package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/test/lab/nodeconf"
)

const (
	clusterCIDR    = "10.42.0.0/16"
	serviceCIDR    = "10.43.0.0/16"
	kubeconfigFile = "/etc/rancher/k3s/k3s.yaml"
)

// server is what a run of "k3s server" knows.
type server struct {
	o     *nodeconf.Options
	data  string
	node  string
	ip    net.IP
	creds *credentials
	sup   *supervisor
	self  string
}

func runServer(args []string) int {
	if code, done := runAsInit(); done {
		return code
	}
	conf, err := nodeconf.ConfigArgs(nodeconf.ServerFlags, args, logf)
	if err != nil {
		return fatalf("%v", err)
	}
	for _, a := range args {
		if a == "--help" || a == "-h" {
			usage()
			return 0
		}
	}
	o, err := nodeconf.ParseFlags(nodeconf.ServerFlags, conf, args)
	if err != nil {
		return usageError(err.Error())
	}
	if n := o.NotCarried(); n != "" {
		return fatalf("--%s is not carried by the lab's stand-in for k3s", n)
	}
	if err := serve(o); err != nil {
		return fatalf("%v", err)
	}
	return 0
}

// runAgent refuses as k3s does an agent that was told of no cluster, which is
// what the image runs when it is given no arguments.
func runAgent(args []string) int {
	var known []string
	for i, a := range args {
		name, _, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if _, ok := nodeconf.AgentFlags[name]; ok {
			known = append(known, a)
			if !has && i+1 < len(args) {
				known = append(known, args[i+1])
			}
		}
	}
	o, err := nodeconf.ParseFlags(nodeconf.AgentFlags, nil, known)
	switch {
	case err != nil:
		return usageError(err.Error())
	case o.Get("token", "") == "" && o.Get("token-file", "") == "":
		return fatalf("--token is required")
	case o.Get("server", "") == "":
		return fatalf("--server is required")
	}
	return fatalf("agents are not carried by the lab's stand-in for k3s")
}

func serve(o *nodeconf.Options) error {
	begun := time.Now()
	// As k3s does: what it carries is found whatever PATH the image sets.
	os.Setenv("PATH", os.Getenv("PATH")+":/bin:/bin/aux")
	logf("info", "Starting k3s %s (lab)", Version)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	s, err := prepare(o)
	if err != nil {
		return err
	}
	if err := s.run(ctx, begun); err != nil && ctx.Err() == nil {
		// k3s is one process: where a part of it fails, all ends at once.
		s.sup.kill()
		return err
	}
	logf("info", "Shutdown request received")
	s.sup.stop()
	return nil
}

// prepare lays out files and certificates; nothing runs yet.
func prepare(o *nodeconf.Options) (*server, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	s := &server{
		o: o, data: o.Get("data-dir", "/var/lib/rancher/k3s"), node: strings.ToLower(o.Get("node-name", host)),
		sup: &supervisor{dead: make(chan error, 1)},
	}
	if s.self, err = os.Executable(); err != nil {
		return nil, err
	}
	if v := o.Split("node-ip"); len(v) > 0 {
		if s.ip = net.ParseIP(v[0]); s.ip == nil {
			return nil, fmt.Errorf("invalid node-ip: invalid ip format '%s'", v[0])
		}
	} else if s.ip, err = nodeAddress(); err != nil {
		return nil, err
	}
	for _, d := range []string{"server/tls", "server/cred", "server/manifests", "server/db/etcd", "agent/pod-manifests", "agent/images", "agent/etc/kubelet.conf.d"} {
		if err := os.MkdirAll(filepath.Join(s.data, d), 0o700); err != nil {
			return nil, err
		}
	}
	for _, d := range []string{"/var/log/pods", "/etc/rancher/k3s"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if s.creds, err = makeCredentials(s); err != nil {
		return nil, err
	}
	return s, s.writeToken()
}

// writeToken keeps the cluster's token: what was first used is what counts.
func (s *server) writeToken() error {
	file := filepath.Join(s.data, "server/token")
	given := s.o.Get("token", "")
	if f := s.o.Get("token-file", ""); f != "" {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		given = strings.TrimSpace(string(b))
	}
	secret := func(t string) string {
		if i := strings.LastIndex(t, "::"); i >= 0 {
			t = strings.TrimPrefix(t[i+2:], "server:")
		}
		return t
	}
	if b, err := os.ReadFile(file); err == nil {
		if given != "" && secret(given) != secret(strings.TrimSpace(string(b))) {
			return errors.New("failed to bootstrap cluster data: bootstrap data already found and encrypted with different token")
		}
		return nil
	}
	if given = secret(given); given == "" {
		b := make([]byte, 16)
		rand.Read(b)
		given = hex.EncodeToString(b)
	}
	sum := sha256.Sum256(s.creds.serverCA.pem)
	if err := os.WriteFile(file, []byte(fmt.Sprintf("K10%x::server:%s\n", sum, given)), 0o600); err != nil {
		return err
	}
	for _, n := range []string{"node-token", "agent-token"} {
		link := filepath.Join(s.data, "server", n)
		os.Remove(link)
		if err := os.Symlink(file, link); err != nil {
			return err
		}
	}
	return nil
}

// run starts everything in the order of need and stays until ctx ends or a
// component does.
func (s *server) run(ctx context.Context, begun time.Time) error {
	// containerd first: it needs longest of what does not wait for the server.
	if err := startContainerd(s.sup, s.data, s.o); err != nil {
		return err
	}
	if err := s.component("etcd", []string{"--data-dir=" + filepath.Join(s.data, "server/db/etcd")}); err != nil {
		return err
	}
	if err := s.component("kube-apiserver", s.apiserverArgs()); err != nil {
		return err
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", s.creds.kubeconfig("admin"))
	if err != nil {
		return err
	}
	cfg.QPS, cfg.Burst = 100, 200
	cs, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	if err := s.await(ctx, func(ctx context.Context) error { return apiReady(ctx, cs) }); err != nil {
		return err
	}
	logf("info", "Kube API server is now running (%s)", time.Since(begun).Round(10*time.Millisecond))
	if err := s.component("kube-controller-manager", s.controllerArgs()); err != nil {
		return err
	}
	if err := s.component("kube-scheduler", s.schedulerArgs()); err != nil {
		return err
	}
	if err := stageManifests(filepath.Join(s.data, "server/manifests"), s.o, s.clusterDNS()); err != nil {
		return err
	}
	go deployManifests(ctx, cfg, filepath.Join(s.data, "server/manifests"), s.node, s.o.Split("disable"))
	go s.nodeHosts(ctx, cs)
	logf("info", "k3s is up and running")
	if err := s.await(ctx, waitContainerd); err != nil {
		return err
	}
	logf("info", "containerd is now running (%s)", time.Since(begun).Round(10*time.Millisecond))
	go importImages(ctx, s.data)
	if err := s.await(ctx, func(ctx context.Context) error { return admitNode(ctx, cs, s.node) }); err != nil {
		return err
	}
	if err := s.startAgent(); err != nil {
		return err
	}
	go s.labelNode(ctx, cs)
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.sup.dead:
		return err
	}
}

// await waits for f unless a component ends first.
func (s *server) await(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case err := <-s.sup.dead:
		return err
	}
}

func apiReady(ctx context.Context, cs kubernetes.Interface) error {
	return waitFor(ctx, 50*time.Millisecond, func() error {
		_, err := cs.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// component runs one of the components this executable carries.
func (s *server) component(name string, args []string) error {
	logf("info", "Running %s %s", name, strings.Join(args, " "))
	return s.sup.start(name, s.self, append([]string{name}, args...))
}

// nodeAddress is the address of the first interface that is not Kubernetes'.
func nodeAddress() (net.IP, error) {
	ifs, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, i := range ifs {
		if i.Flags&net.FlagLoopback != 0 || i.Flags&net.FlagUp == 0 || strings.HasPrefix(i.Name, "cni") || strings.HasPrefix(i.Name, "veth") {
			continue
		}
		as, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range as {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				return n.IP.To4(), nil
			}
		}
	}
	return nil, errors.New("unable to select an IP from default routes")
}

// labelNode sets what the kubelet may not set on itself, and k3s's cloud
// controller does.
func (s *server) labelNode(ctx context.Context, cs kubernetes.Interface) {
	patch := []byte(`{"metadata":{"labels":{"node-role.kubernetes.io/control-plane":"true","node.kubernetes.io/instance-type":"k3s"}},"spec":{"providerID":"k3s://` + s.node + `"}}`)
	waitFor(ctx, 200*time.Millisecond, func() error {
		_, err := cs.CoreV1().Nodes().Patch(ctx, s.node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}

// nodeHosts tells CoreDNS the node's name and address; its pod starts only
// when the key is there.
func (s *server) nodeHosts(ctx context.Context, cs kubernetes.Interface) {
	patch := []byte(fmt.Sprintf(`{"data":{"NodeHosts":"%s %s\n"}}`, s.ip, s.node))
	waitFor(ctx, 200*time.Millisecond, func() error {
		_, err := cs.CoreV1().ConfigMaps(metav1.NamespaceSystem).Patch(ctx, "coredns", types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}
