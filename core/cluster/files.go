package cluster

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// Files is what the node is told in files, because it may hold secrets: container variables, labels and
// arguments can be read by everybody who may inspect a container (invariant E2).
//
// They are not fixed when a node is created: a node whose files changed gets the new ones and is restarted,
// with its volumes and everything else kept. What counts as changed leaves passwords out: tokens of
// credential helpers are new at every run, and a running node is not restarted for that. New ones are written
// whenever the node is started anyway.
type Files struct {
	// Mirrors of registries, asked in this order before the registry itself.
	Mirrors []Mirror
	// Insecure are registries that the engine uses without trusting their certificate, or without encryption:
	// the node must reach them the same way. Entries that are networks are passed over; images are named by host.
	Insecure []string
	// Credentials by registry host.
	Credentials map[string]engine.Credentials
	// CA holds certificates, PEM, to trust in addition.
	CA    []byte
	Proxy Proxy
}

// Mirror is another place for a registry's images.
type Mirror struct {
	Host string   // the registry, for example docker.io
	URLs []string // with scheme
}

// Proxy is how the node reaches the network.
type Proxy struct{ HTTP, HTTPS, No string }

// The paths of the files in the node.
const (
	registriesPath = "/etc/rancher/k3s/registries.yaml"
	proxyPath      = "/etc/rigup/proxy.env"
	caPath         = "/etc/ssl/certs/rigup-ca.pem"
	// markerPath is written after all the others. A node without it was not finished by the run that made it.
	markerPath = "/etc/rigup/files"
)

// The networks of pods and services, which k3s uses unless told otherwise.
const (
	podNet     = "10.42.0.0/16"
	serviceNet = "10.43.0.0/16"
)

// AddMirror adds a mirror for a registry. Several for one registry are asked in the order in which they came.
func AddMirror(all []Mirror, host, addr string) []Mirror {
	addr = strings.TrimRight(addr, "/")
	i := slices.IndexFunc(all, func(m Mirror) bool { return m.Host == host })
	if i < 0 {
		return append(all, Mirror{Host: host, URLs: []string{addr}})
	}
	if !slices.Contains(all[i].URLs, addr) {
		all[i].URLs = append(all[i].URLs, addr)
	}
	return all
}

// WithEngineMirrors adds the engine's own mirrors of docker.io behind the user's. Those on loopback are left
// out: in the node that address is the node itself.
func WithEngineMirrors(user []Mirror, engineMirrors []string) []Mirror {
	all := make([]Mirror, 0, len(user)+1)
	for _, m := range user {
		all = append(all, Mirror{Host: m.Host, URLs: slices.Clone(m.URLs)})
	}
	for _, addr := range engineMirrors {
		if u, err := url.Parse(addr); err == nil && u.Host != "" && !loopback(u.Hostname()) {
			all = AddMirror(all, "docker.io", addr)
		}
	}
	return all
}

// CredentialHosts lists the registries whose credentials the node needs: those of the images and of the
// mirrors, each once.
func CredentialHosts(mirrors []Mirror, images ...string) []string {
	var hosts []string
	add := func(h string) {
		if h != "" && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	for _, i := range images {
		if h, err := engine.RegistryHost(i); err == nil {
			add(h)
		}
	}
	for _, m := range mirrors {
		add(m.Host)
		for _, addr := range m.URLs {
			if u, err := url.Parse(addr); err == nil {
				add(u.Host)
			}
		}
	}
	return hosts
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ProxyOf is the proxy the node should use: the engine's, else that of this process's environment. A proxy
// on loopback is left out: in the node that address is the node itself. Where the engine hides a proxy's
// password, the environment's address of the same proxy is used.
func ProxyOf(in engine.Info, env func(string) string) Proxy {
	pick := func(fromEngine, name string) string {
		own := env(name)
		if own == "" {
			own = env(strings.ToLower(name))
		}
		e, o := parseProxy(fromEngine), parseProxy(own)
		switch {
		case e == nil:
			e = o
		case e.User != nil && strings.Trim(e.User.Username(), "x") == "":
			if e.User = nil; o != nil && o.Host == e.Host {
				e = o
			}
		}
		if e == nil || loopback(e.Hostname()) {
			return ""
		}
		return e.String()
	}
	p := Proxy{HTTP: pick(in.HTTPProxy, "HTTP_PROXY"), HTTPS: pick(in.HTTPSProxy, "HTTPS_PROXY"), No: in.NoProxy}
	if p.No == "" {
		if p.No = env("NO_PROXY"); p.No == "" {
			p.No = env("no_proxy")
		}
	}
	return p
}

func parseProxy(s string) *url.URL {
	if s == "" {
		return nil
	}
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// noProxy is what is never reached through a proxy: the cluster's own networks and names, and this machine.
// 0.0.0.0 is where servers say that they listen, and some clients ask them there.
func noProxy(user, node string, subnet netip.Prefix) string {
	all := []string{"localhost", "127.0.0.0/8", "0.0.0.0", podNet, serviceNet, subnet.String(), ".svc", ".cluster.local", node}
	for _, v := range strings.FieldsFunc(user, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ",")
}

// render makes the files for a node, and the hash that says whether they changed.
func (f Files) render(node string, subnet netip.Prefix) ([]engine.File, string, error) {
	full, err := f.content(node, subnet, false)
	if err != nil {
		return nil, "", err
	}
	public, err := f.content(node, subnet, true)
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	for _, p := range public {
		fmt.Fprintf(h, "%s %o %d\n%s\n", p.Path, p.Mode, len(p.Data), p.Data)
	}
	return full, hex.EncodeToString(h.Sum(nil))[:16], nil
}

// content lists the files. All are always written, so that one that is no longer wanted becomes empty.
func (f Files) content(node string, subnet netip.Prefix, public bool) ([]engine.File, error) {
	reg, err := f.registries(public)
	if err != nil {
		return nil, err
	}
	if len(f.CA) > 0 {
		if block, _ := pem.Decode(f.CA); block == nil || block.Type != "CERTIFICATE" {
			return nil, reason.Fail(reason.New(reason.UsageValue, "flag", "--ca-file", "value", "this file", "allowed", "it must hold certificates in PEM form"), nil)
		}
	}
	return []engine.File{
		// The image may lack these directories.
		{Path: "/etc/rancher/", Mode: 0o755}, {Path: "/etc/rancher/k3s/", Mode: 0o755},
		{Path: "/etc/rigup/", Mode: 0o755}, {Path: "/etc/ssl/", Mode: 0o755}, {Path: "/etc/ssl/certs/", Mode: 0o755},
		{Path: registriesPath, Mode: 0o600, Data: reg},
		{Path: proxyPath, Mode: 0o600, Data: f.Proxy.env(node, subnet, public)},
		// Programs read every certificate in this directory in addition to the image's bundle.
		{Path: caPath, Mode: 0o644, Data: f.CA},
	}, nil
}

func (f Files) registries(public bool) ([]byte, error) {
	type auth struct {
		Username      string `json:"username,omitempty"`
		Password      string `json:"password,omitempty"`
		Auth          string `json:"auth,omitempty"`
		IdentityToken string `json:"identity_token,omitempty"`
	}
	type endpoints struct {
		Endpoint []string `json:"endpoint"`
	}
	type tls struct {
		SkipVerify bool `json:"insecure_skip_verify"`
	}
	type config struct {
		Auth *auth `json:"auth,omitempty"`
		TLS  *tls  `json:"tls,omitempty"`
	}
	out := struct {
		Mirrors map[string]endpoints `json:"mirrors,omitempty"`
		Configs map[string]config    `json:"configs,omitempty"`
	}{Mirrors: map[string]endpoints{}, Configs: map[string]config{}}
	for _, m := range f.Mirrors {
		out.Mirrors[m.Host] = endpoints{m.URLs}
	}
	hosts := make([]string, 0, len(f.Credentials))
	for h := range f.Credentials {
		hosts = append(hosts, h)
	}
	sort.Strings(hosts)
	for _, h := range hosts {
		c := f.Credentials[h]
		a := auth{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken}
		if public {
			a = auth{Username: c.Username}
		}
		names := []string{h}
		if h == "docker.io" {
			// containerd looks the host up under the name that it connects to, k3s under the image's.
			names = append(names, "registry-1.docker.io", "index.docker.io")
		}
		for _, n := range names {
			out.Configs[n] = config{Auth: &a}
		}
	}
	for _, h := range f.Insecure {
		if strings.Contains(h, "/") {
			continue
		}
		c := out.Configs[h]
		c.TLS = &tls{SkipVerify: true}
		out.Configs[h] = c
		if _, ok := out.Mirrors[h]; !ok {
			// With TLS settings, containerd tries an http endpoint encrypted first, as the engine does. k3s adds the
			// https endpoint by itself, and must not find it here already.
			out.Mirrors[h] = endpoints{[]string{"http://" + h}}
		}
	}
	if len(out.Mirrors)+len(out.Configs) == 0 {
		return nil, nil
	}
	return yaml.Marshal(out)
}

// env is a file for the shell that starts k3s; k3s hands the variables on to containerd.
func (p Proxy) env(node string, subnet netip.Prefix, public bool) []byte {
	if p.HTTP == "" && p.HTTPS == "" {
		return nil
	}
	var b bytes.Buffer
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", p.HTTP}, {"HTTPS_PROXY", p.HTTPS}, {"NO_PROXY", noProxy(p.No, node, subnet)},
	} {
		if public {
			v.value = withoutPassword(v.value)
		}
		if v.value != "" {
			q := "'" + strings.ReplaceAll(v.value, "'", `'\''`) + "'"
			// Programs do not agree on the case.
			fmt.Fprintf(&b, "export %s=%s %s=%s\n", v.name, q, strings.ToLower(v.name), q)
		}
	}
	return b.Bytes()
}

func withoutPassword(s string) string {
	if u, err := url.Parse(s); err == nil && u.User != nil {
		u.User = url.User(u.User.Username())
		return u.String()
	}
	return s
}
