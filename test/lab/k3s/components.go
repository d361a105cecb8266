package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func (s *server) tls(name string) string { return filepath.Join(s.data, "server/tls", name) }

func (s *server) port() string { return s.o.get("https-listen-port", "6443") }

func (s *server) clusterDNS() string {
	if v := s.o.split("cluster-dns"); len(v) > 0 {
		return v[0]
	}
	// The tenth address of the services' range.
	ip, _, err := net.ParseCIDR(s.o.get("service-cidr", serviceCIDR))
	if err != nil || ip.To4() == nil {
		return "10.43.0.10"
	}
	ip = append(net.IP{}, ip.To4()...)
	ip[3] += 10
	return ip.String()
}

func (s *server) apiserverArgs() []string {
	key := s.tls("service.key")
	return merge(map[string]string{
		"advertise-address": s.o.get("advertise-address", s.ip.String()), "allow-privileged": "true", "anonymous-auth": "false",
		"authorization-mode": "Node,RBAC", "bind-address": s.o.get("bind-address", "0.0.0.0"), "secure-port": s.port(),
		"client-ca-file": s.tls("client-ca.crt"), "enable-admission-plugins": "NodeRestriction",
		"etcd-servers":                  "http://127.0.0.1:2379",
		"kubelet-certificate-authority": s.tls("server-ca.crt"),
		"kubelet-client-certificate":    s.tls("client-kube-apiserver.crt"), "kubelet-client-key": s.tls("client-kube-apiserver.key"),
		"kubelet-preferred-address-types": "InternalIP,ExternalIP,Hostname", "profiling": "false",
		"proxy-client-cert-file": s.tls("client-auth-proxy.crt"), "proxy-client-key-file": s.tls("client-auth-proxy.key"),
		"requestheader-allowed-names": "system:auth-proxy", "requestheader-client-ca-file": s.tls("request-header-ca.crt"),
		"requestheader-extra-headers-prefix": "X-Remote-Extra-", "requestheader-group-headers": "X-Remote-Group",
		"requestheader-username-headers": "X-Remote-User",
		"service-account-issuer":         "https://kubernetes.default.svc." + s.o.get("cluster-domain", "cluster.local"),
		"service-account-key-file":       key, "service-account-signing-key-file": key,
		"service-cluster-ip-range": s.o.get("service-cidr", serviceCIDR),
		"service-node-port-range":  s.o.get("service-node-port-range", "30000-32767"),
		"tls-cert-file":            s.tls("serving-kube-apiserver.crt"), "tls-private-key-file": s.tls("serving-kube-apiserver.key"),
	}, s.o.all("kube-apiserver-arg"))
}

func (s *server) controllerArgs() []string {
	kc := s.creds.kubeconfig("kube-controller-manager")
	return merge(map[string]string{
		"allocate-node-cidrs": "true", "cluster-cidr": s.o.get("cluster-cidr", clusterCIDR), "bind-address": "127.0.0.1", "leader-elect": "false",
		"kubeconfig": kc, "authentication-kubeconfig": kc, "authorization-kubeconfig": kc,
		"cluster-signing-cert-file": s.tls("client-ca.crt"), "cluster-signing-key-file": s.tls("client-ca.key"),
		"root-ca-file": s.tls("server-ca.crt"), "service-account-private-key-file": s.tls("service.key"),
		"service-cluster-ip-range": s.o.get("service-cidr", serviceCIDR), "use-service-account-credentials": "true", "profiling": "false",
	}, append(s.o.all("kube-controller-arg"), s.o.all("kube-controller-manager-arg")...))
}

func (s *server) schedulerArgs() []string {
	kc := s.creds.kubeconfig("kube-scheduler")
	return merge(map[string]string{
		"bind-address": "127.0.0.1", "leader-elect": "false", "profiling": "false",
		"kubeconfig": kc, "authentication-kubeconfig": kc, "authorization-kubeconfig": kc,
	}, s.o.all("kube-scheduler-arg"))
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
		"node-labels": strings.Join(append([]string{"node.kubernetes.io/instance-type=k3s"}, s.o.all("node-label")...), ","),
	}
	if t := s.o.all("node-taint"); len(t) > 0 {
		args["register-with-taints"] = strings.Join(t, ",")
	}
	if err := s.component("kubelet", merge(args, s.o.all("kubelet-arg"))); err != nil {
		return err
	}
	if s.o.is("disable-kube-proxy") {
		return nil
	}
	return s.component("kube-proxy", merge(map[string]string{
		"cluster-cidr": s.o.get("cluster-cidr", clusterCIDR), "hostname-override": s.node, "kubeconfig": s.creds.kubeconfig("kube-proxy"),
		"proxy-mode": "iptables", "healthz-bind-address": "127.0.0.1", "conntrack-max-per-core": "0",
		"conntrack-tcp-timeout-established": "0s", "conntrack-tcp-timeout-close-wait": "0s",
	}, s.o.all("kube-proxy-arg")))
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
`, s.tls("client-ca.crt"), s.clusterDNS(), s.o.get("cluster-domain", "cluster.local"), containerdSocket, s.o.is("protect-kernel-defaults"),
		resolvConf(s.o.get("resolv-conf", ""), s.data, "/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"),
		filepath.Join(s.data, "agent/pod-manifests"), s.tls("serving-kubelet.crt"), s.tls("serving-kubelet.key"))
}

var nameserver = regexp.MustCompile(`(?m)^nameserver\s+(\S+)`)

// resolvConf picks the file pods' names are resolved by: one whose servers can
// be reached from a pod, which loopback addresses (an engine's own resolver)
// cannot; where there is none, k3s writes one.
func resolvConf(given, data string, candidates ...string) string {
	if given != "" {
		return given
	}
	for _, f := range candidates {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		servers := nameserver.FindAllSubmatch(b, -1)
		good := len(servers) > 0
		for _, m := range servers {
			if ip := net.ParseIP(string(m[1])); ip == nil || !ip.IsGlobalUnicast() {
				good = false
			}
		}
		if good {
			return f
		}
	}
	f := filepath.Join(data, "agent/etc/resolv.conf")
	if err := os.WriteFile(f, []byte("nameserver 8.8.8.8\n"), 0o644); err != nil {
		logf("error", "Failed to write %s: %v", f, err)
		return ""
	}
	logf("warning", "Host resolv.conf includes loopback, multicast, or link-local nameservers - kubelet will use autogenerated resolv.conf with nameserver 8.8.8.8")
	return f
}
