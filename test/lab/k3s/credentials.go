package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rigup.dev/rigup/test/lab/nodeconf"
)

// credentials are the cluster's authorities and what they have signed.
type credentials struct {
	serverCA *authority
	dir      string // of the components' kubeconfig files
}

func (c *credentials) kubeconfig(who string) string { return filepath.Join(c.dir, who+".kubeconfig") }

// makeCredentials makes authorities where there are none, and every leaf
// anew: the node's address may be another one than last time.
func makeCredentials(s *server) (*credentials, error) {
	tls := filepath.Join(s.data, "server/tls")
	c := &credentials{dir: filepath.Join(s.data, "server/cred")}
	var err error
	if c.serverCA, err = loadCA(tls, "server-ca"); err != nil {
		return nil, err
	}
	clientCA, err := loadCA(tls, "client-ca")
	if err != nil {
		return nil, err
	}
	frontCA, err := loadCA(tls, "request-header-ca")
	if err != nil {
		return nil, err
	}
	if err := serviceKey(filepath.Join(tls, "service.key")); err != nil {
		return nil, err
	}
	names, ips, err := apiNames(s)
	if err != nil {
		return nil, err
	}
	loopback := net.IPv4(127, 0, 0, 1)
	for _, l := range []struct {
		ca       *authority
		file, cn string
		org      []string
		names    []string
		ips      []net.IP
	}{
		{c.serverCA, "serving-kube-apiserver", "kube-apiserver", nil, names, ips},
		{c.serverCA, "serving-kubelet", s.node, nil, []string{s.node, "localhost"}, []net.IP{loopback, s.ip}},
		{frontCA, "client-auth-proxy", "system:auth-proxy", nil, nil, nil},
		{clientCA, "client-kube-apiserver", "system:apiserver", []string{"system:masters"}, nil, nil},
	} {
		if _, _, err := l.ca.issue(tls, l.file, l.cn, l.org, l.names, l.ips); err != nil {
			return nil, err
		}
	}
	for _, u := range []struct {
		who, cn string
		org     []string
	}{
		{"admin", "system:admin", []string{"system:masters"}},
		{"kube-controller-manager", "system:kube-controller-manager", nil},
		{"kube-scheduler", "system:kube-scheduler", nil},
		{"kube-proxy", "system:kube-proxy", nil},
		{"node", "system:node:" + s.node, []string{"system:nodes"}},
	} {
		cert, key, err := clientCA.issue(tls, "client-"+u.who, u.cn, u.org, nil, nil)
		if err != nil {
			return nil, err
		}
		conf := kubeconfig("https://127.0.0.1:"+s.port(), c.serverCA.pem, cert, key)
		if err := os.WriteFile(c.kubeconfig(u.who), conf, 0o600); err != nil {
			return nil, err
		}
		if u.who == "admin" {
			if err := writeAdmin(s.o, conf); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// writeAdmin writes the user's kubeconfig, where and with what mode was asked.
func writeAdmin(o *nodeconf.Options, conf []byte) error {
	mode := os.FileMode(0o600)
	if v := o.Get("write-kubeconfig-mode", ""); v != "" {
		m, err := strconv.ParseUint(v, 8, 32)
		if err != nil {
			return fmt.Errorf("invalid write-kubeconfig-mode %q: %w", v, err)
		}
		mode = os.FileMode(m)
	}
	file := o.Get("write-kubeconfig", kubeconfigFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(file, conf, mode); err != nil {
		return err
	}
	logf("info", "Wrote kubeconfig %s", file)
	return os.Chmod(file, mode)
}

// serviceKey makes the key that signs service accounts' tokens.
func serviceKey(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return os.WriteFile(file, keyPEM(k), 0o600)
}

// apiNames are the names and addresses the API server answers to.
func apiNames(s *server) ([]string, []net.IP, error) {
	service, _, err := net.ParseCIDR(s.o.Get("service-cidr", serviceCIDR))
	if err != nil || service.To4() == nil {
		return nil, nil, fmt.Errorf("invalid service-cidr %q: %v", s.o.Get("service-cidr", ""), err)
	}
	// The API's own service has the first address of the range.
	service = append(net.IP{}, service.To4()...)
	service[3]++
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + s.o.Get("cluster-domain", "cluster.local"), "localhost", s.node}
	ips := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, s.ip, service}
	for _, x := range s.o.Split("tls-san") {
		if a := net.ParseIP(x); a != nil {
			ips = append(ips, a)
		} else {
			names = append(names, strings.ToLower(x))
		}
	}
	return names, ips, nil
}
