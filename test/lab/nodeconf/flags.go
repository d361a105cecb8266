// Package nodeconf reads what a k3s server is configured by: its command line,
// its configuration files, registries.yaml, the node's password. It is apart
// from the stand-in so that its tests need no Kubernetes.
package nodeconf

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
)

type kind int

const (
	text kind = iota
	list
	boolean
	integer
	duration
)

// Flag is one flag of the command line.
type Flag struct {
	name, short, env string
	kind             kind
}

// ServerFlags are the flags of "k3s server" (its pkg/cli/cmds server.go and
// agent.go, with the hidden ones). What the stand-in does not act on is
// accepted in silence, so that callers written for k3s need no change; what
// k3s does not know is refused.
var ServerFlags = defineFlags(map[kind]string{
	text: `config,c=K3S_CONFIG_FILE vmodule log,l data-dir,d=K3S_DATA_DIR bind-address advertise-address apiserver-bind-address=K3S_APISERVER_BIND_ADDRESS
service-node-port-range cluster-domain flannel-backend flannel-iface flannel-conf flannel-cni-conf egress-selector-mode servicelb-namespace
write-kubeconfig,o=K3S_KUBECONFIG_OUTPUT write-kubeconfig-mode=K3S_KUBECONFIG_MODE write-kubeconfig-group=K3S_KUBECONFIG_GROUP helm-job-image
token,t=K3S_TOKEN token-file=K3S_TOKEN_FILE agent-token=K3S_AGENT_TOKEN agent-token-file=K3S_AGENT_TOKEN_FILE server,s=K3S_URL
cluster-reset-restore-path datastore-endpoint=K3S_DATASTORE_ENDPOINT datastore-cafile=K3S_DATASTORE_CAFILE
datastore-certfile=K3S_DATASTORE_CERTFILE datastore-keyfile=K3S_DATASTORE_KEYFILE etcd-snapshot-name etcd-snapshot-schedule-cron
etcd-snapshot-dir etcd-s3-endpoint etcd-s3-endpoint-ca etcd-s3-access-key etcd-s3-secret-key etcd-s3-session-token etcd-s3-bucket
etcd-s3-bucket-lookup-type etcd-s3-region etcd-s3-folder etcd-s3-proxy etcd-s3-config-secret default-local-storage-path
system-default-registry=K3S_SYSTEM_DEFAULT_REGISTRY private-registry pause-image snapshotter container-runtime-endpoint default-runtime
image-service-endpoint image-credential-provider-bin-dir image-credential-provider-config resolv-conf=K3S_RESOLV_CONF
node-name=K3S_NODE_NAME secrets-encryption-provider vpn-auth=K3S_VPN_AUTH vpn-auth-file=K3S_VPN_AUTH_FILE`,
	list: `tls-san cluster-cidr service-cidr cluster-dns disable kube-apiserver-arg etcd-arg kube-scheduler-arg kube-controller-manager-arg
kube-cloud-controller-manager-arg kube-controller-arg kube-cloud-controller-arg kubelet-arg kube-proxy-arg airgap-extra-registry
node-label node-taint node-ip,i node-external-ip node-internal-dns node-external-dns`,
	boolean: `debug=K3S_DEBUG alsologtostderr tls-san-security flannel-ipv6-masq flannel-external-ip cluster-init=K3S_CLUSTER_INIT
cluster-reset=K3S_CLUSTER_RESET kine-tls etcd-expose-metrics etcd-disable-snapshots etcd-snapshot-compress etcd-s3 etcd-s3-skip-ssl-verify
etcd-s3-insecure disable-scheduler disable-cloud-controller disable-kube-proxy disable-network-policy disable-helm-controller
disable-apiserver disable-controller-manager disable-etcd embedded-registry supervisor-metrics disable-agent
disable-default-registry-endpoint nonroot-devices docker with-node-id protect-kernel-defaults selinux=K3S_SELINUX secrets-encryption
enable-pprof rootless prefer-bundled-bin`,
	integer: `v https-listen-port advertise-port supervisor-port=K3S_SUPERVISOR_PORT apiserver-port=K3S_APISERVER_PORT
etcd-snapshot-retention etcd-s3-retention lb-server-port=K3S_LB_SERVER_PORT`,
	duration: `etcd-snapshot-reconcile-interval etcd-s3-timeout`,
})

// AgentFlags are those "k3s agent" is told its cluster by; the stand-in looks
// at no others.
var AgentFlags = defineFlags(map[kind]string{text: "token,t=K3S_TOKEN token-file=K3S_TOKEN_FILE server,s=K3S_URL"})

func defineFlags(byKind map[kind]string) map[string]Flag {
	m := map[string]Flag{}
	for k, words := range byKind {
		for _, w := range strings.Fields(words) {
			names, env, _ := strings.Cut(w, "=")
			name, short, _ := strings.Cut(names, ",")
			d := Flag{name, short, env, k}
			m[name] = d
			if short != "" {
				m[short] = d
			}
		}
	}
	return m
}

// Options are the values given, the last one winning where only one counts.
type Options struct{ values map[string][]string }

// ParseFlags reads arguments as k3s does: config is what the configuration
// files say and comes before them, the environment counts where neither speaks.
func ParseFlags(defs map[string]Flag, config, args []string) (*Options, error) {
	o := &Options{values: map[string][]string{}}
	for _, part := range [][]string{config, args} {
		if err := o.add(defs, part); err != nil {
			return nil, err
		}
	}
	for _, d := range defs {
		if v := os.Getenv(d.env); d.env != "" && v != "" && o.values[d.name] == nil {
			if err := o.set(d, v); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

func (o *Options) add(defs map[string]Flag, args []string) error {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !strings.HasPrefix(a, "-") || a == "-" {
			// k3s ignores what follows its flags.
			return nil
		}
		name, val, has := strings.Cut(strings.TrimLeft(a, "-"), "=")
		d, ok := defs[name]
		switch {
		case !ok:
			return fmt.Errorf("flag provided but not defined: -%s", name)
		case !has && d.kind == boolean:
			val = "true"
		case !has:
			if i++; i >= len(args) {
				return fmt.Errorf("flag needs an argument: -%s", name)
			}
			val = args[i]
		}
		if err := o.set(d, val); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) set(d Flag, val string) error {
	var err error
	switch d.kind {
	case boolean:
		_, err = strconv.ParseBool(val)
	case integer:
		_, err = strconv.Atoi(val)
	case duration:
		_, err = time.ParseDuration(val)
	}
	if err != nil {
		return fmt.Errorf("invalid value %q for flag -%s: parse error", val, d.name)
	}
	o.values[d.name] = append(o.values[d.name], val)
	return nil
}

// Get returns a value that counts once, or def.
func (o *Options) Get(name, def string) string {
	if v := o.values[name]; len(v) > 0 && v[len(v)-1] != "" {
		return v[len(v)-1]
	}
	return def
}

// Is says whether a switch is on.
func (o *Options) Is(name string) bool {
	b, _ := strconv.ParseBool(o.Get(name, "false"))
	return b
}

// All returns a list's values as given: k3s does not split these at commas.
func (o *Options) All(name string) []string { return o.values[name] }

// Split is for the lists that k3s does split at commas.
func (o *Options) Split(name string) []string {
	var out []string
	for _, v := range o.values[name] {
		for _, s := range strings.Split(v, ",") {
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// Merge puts a component's extra arguments (--kubelet-arg=a=b and the like)
// over its own: k3s replaces an argument of the same name.
func Merge(own map[string]string, extra []string) []string {
	args := map[string]string{}
	for k, v := range own {
		args[k] = v
	}
	for _, e := range extra {
		k, v, ok := strings.Cut(strings.TrimLeft(e, "-"), "=")
		if !ok {
			v = "true"
		}
		args[k] = v
	}
	out := make([]string, 0, len(args))
	for k, v := range args {
		out = append(out, "--"+k+"="+v)
	}
	sort.Strings(out)
	return out
}

// NotCarried names a flag that changes what runs in a way the stand-in cannot
// follow: to go on in silence would make a test pass on something else.
func (o *Options) NotCarried() string {
	for _, n := range []string{"rootless", "docker", "cluster-reset", "disable-agent", "disable-apiserver", "disable-etcd", "disable-controller-manager", "disable-scheduler"} {
		if o.Is(n) {
			return n
		}
	}
	for _, n := range []string{"server", "datastore-endpoint", "container-runtime-endpoint"} {
		if o.Get(n, "") != "" {
			return n
		}
	}
	return ""
}
