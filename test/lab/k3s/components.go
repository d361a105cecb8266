package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"rigup.dev/rigup/test/lab/nodeconf"
)

func (s *server) tls(name string) string { return filepath.Join(s.data, "server/tls", name) }

func (s *server) port() string { return s.o.Get("https-listen-port", "6443") }

func (s *server) clusterDNS() string {
	if v := s.o.Split("cluster-dns"); len(v) > 0 {
		return v[0]
	}
	// The tenth address of the services' range.
	ip, _, err := net.ParseCIDR(s.o.Get("service-cidr", serviceCIDR))
	if err != nil || ip.To4() == nil {
		return "10.43.0.10"
	}
	ip = append(net.IP{}, ip.To4()...)
	ip[3] += 10
	return ip.String()
}

func (s *server) apiserverArgs() []string {
	key := s.tls("service.key")
	return nodeconf.Merge(map[string]string{
		"advertise-address": s.o.Get("advertise-address", s.ip.String()), "allow-privileged": "true", "anonymous-auth": "false",
		"authorization-mode": "Node,RBAC", "bind-address": s.o.Get("bind-address", "0.0.0.0"), "secure-port": s.port(),
		"client-ca-file": s.tls("client-ca.crt"), "enable-admission-plugins": "NodeRestriction",
		"etcd-servers":                  "http://127.0.0.1:2379",
		"kubelet-certificate-authority": s.tls("server-ca.crt"),
		"kubelet-client-certificate":    s.tls("client-kube-apiserver.crt"), "kubelet-client-key": s.tls("client-kube-apiserver.key"),
		"kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname", "profiling": "false",
		"proxy-client-cert-file": s.tls("client-auth-proxy.crt"), "proxy-client-key-file": s.tls("client-auth-proxy.key"),
		"requestheader-allowed-names": "system:auth-proxy", "requestheader-client-ca-file": s.tls("request-header-ca.crt"),
		"requestheader-extra-headers-prefix": "X-Remote-Extra-", "requestheader-group-headers": "X-Remote-Group",
		"requestheader-username-headers": "X-Remote-User",
		"service-account-issuer":         "https://kubernetes.default.svc." + s.o.Get("cluster-domain", "cluster.local"),
		"service-account-key-file":       key, "service-account-signing-key-file": key,
		"service-cluster-ip-range": s.o.Get("service-cidr", serviceCIDR),
		"service-node-port-range":  s.o.Get("service-node-port-range", "30000-32767"),
		"tls-cert-file":            s.tls("serving-kube-apiserver.crt"), "tls-private-key-file": s.tls("serving-kube-apiserver.key"),
	}, s.o.All("kube-apiserver-arg"))
}

func (s *server) controllerArgs() []string {
	kc := s.creds.kubeconfig("kube-controller-manager")
	return nodeconf.Merge(map[string]string{
		"allocate-node-cidrs": "true", "cluster-cidr": s.o.Get("cluster-cidr", clusterCIDR), "bind-address": "127.0.0.1", "leader-elect": "false",
		"kubeconfig": kc, "authentication-kubeconfig": kc, "authorization-kubeconfig": kc,
		"cluster-signing-cert-file": s.tls("client-ca.crt"), "cluster-signing-key-file": s.tls("client-ca.key"),
		"root-ca-file": s.tls("server-ca.crt"), "service-account-private-key-file": s.tls("service.key"),
		"service-cluster-ip-range": s.o.Get("service-cidr", serviceCIDR), "use-service-account-credentials": "true", "profiling": "false",
	}, append(s.o.All("kube-controller-arg"), s.o.All("kube-controller-manager-arg")...))
}

func (s *server) schedulerArgs() []string {
	kc := s.creds.kubeconfig("kube-scheduler")
	return nodeconf.Merge(map[string]string{
		"bind-address": "127.0.0.1", "leader-elect": "false", "profiling": "false",
		"kubeconfig": kc, "authentication-kubeconfig": kc, "authorization-kubeconfig": kc,
	}, s.o.All("kube-scheduler-arg"))
}

// startAgent starts what makes the server a node as well.
func (s *server) startAgent() error {
	conf := filepath.Join(s.data, "agent/etc/kubelet.conf.d/00-k3s-defaults.conf")
	if err := os.WriteFile(conf, []byte(s.kubeletConfig()), 0o600); err != nil {
		return err
	}
	args := map[string]string{
		"config-dir": filepath.Dir(conf), "kubeconfig": s.creds.kubeconfig("node"),
		"hostname-override": s.node, "node-ip": s.ip.String(),
		"node-labels": strings.Join(append([]string{"node.kubernetes.io/instance-type=k3s"}, s.o.All("node-label")...), ","),
	}
	if t := s.o.All("node-taint"); len(t) > 0 {
		args["register-with-taints"] = strings.Join(t, ",")
	}
	if err := s.component("kubelet", nodeconf.Merge(args, s.o.All("kubelet-arg"))); err != nil {
		return err
	}
	if s.o.Is("disable-kube-proxy") {
		return nil
	}
	return s.component("kube-proxy", nodeconf.Merge(map[string]string{
		"cluster-cidr": s.o.Get("cluster-cidr", clusterCIDR), "hostname-override": s.node, "kubeconfig": s.creds.kubeconfig("kube-proxy"),
		"proxy-mode": "iptables", "healthz-bind-address": "127.0.0.1", "conntrack-max-per-core": "0",
		"conntrack-tcp-timeout-established": "0s", "conntrack-tcp-timeout-close-wait": "0s",
	}, s.o.All("kube-proxy-arg")))
}

// kubeletConfig leaves failCgroupV1 at Kubernetes' default: a caller on
// cgroup v1 must ask for it, as with k3s.
func (s *server) kubeletConfig() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
authentication: {anonymous: {enabled: false}, webhook: {enabled: true, cacheTTL: 2m}, x509: {clientCAFile: %[1]s}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
clusterDNS: [%[2]s]
clusterDomain: %[3]s
containerRuntimeEndpoint: unix://%[4]s
evictionHard: {"imagefs.available": "5%%", "nodefs.available": "5%%"}
evictionMinimumReclaim: {"imagefs.available": "10%%", "nodefs.available": "10%%"}
failSwapOn: false
fileCheckFrequency: 20s
healthzBindAddress: 127.0.0.1
podLogsDir: /var/log/pods
protectKernelDefaults: %[5]t
resolvConf: %[6]s
serializeImagePulls: false
staticPodPath: %[7]s
tlsCertFile: %[8]s
tlsPrivateKeyFile: %[9]s
volumePluginDir: /var/lib/kubelet/volumeplugins
`, s.tls("client-ca.crt"), s.clusterDNS(), s.o.Get("cluster-domain", "cluster.local"), containerdSocket, s.o.Is("protect-kernel-defaults"),
		nodeconf.ResolvConf(s.o.Get("resolv-conf", ""), s.data, logf, "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"),
		filepath.Join(s.data, "agent/pod-manifests"), s.tls("serving-kubelet.crt"), s.tls("serving-kubelet.key"))
}
