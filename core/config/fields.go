package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
)

// field is one setting: its description and how a value gets into the configuration.
type field struct {
	Def
	set func(*Config, place, []string) error
	// once says why the setting has no place in a file; empty: it has.
	once string
}

// fields is the one list of settings.
var fields = []field{
	{Def: Def{Name: "cluster", Arg: "NAME", Default: "rigup", Usage: "the cluster that is meant"},
		set: one(func(c *Config) *Setting[string] { return &c.Cluster }, name(clusterName))},
	{Def: Def{Name: "engine", Arg: "ENDPOINT", Usage: "the Docker engine, for example unix:///var/run/docker.sock; found by itself when left out"},
		set: one(func(c *Config) *Setting[string] { return &c.Engine }, engine)},
	{Def: Def{Name: "output", Arg: "FORMAT", Default: "text", Usage: "text for people, or json: one event per line"},
		set: one(func(c *Config) *Setting[string] { return &c.Output }, choice[string]("text", "json"))},
	{Def: Def{Name: "verbose", Usage: "show every step"},
		set: one(func(c *Config) *Setting[bool] { return &c.Verbose }, boolean)},
	{Def: Def{Name: "yes", Usage: "answer every question with yes"},
		set: one(func(c *Config) *Setting[bool] { return &c.Yes }, boolean)},
	{Def: Def{Name: "explain", Usage: "say which hook decided what, and from which facts"},
		set: one(func(c *Config) *Setting[bool] { return &c.Explain }, boolean)},

	{Def: Def{Name: "data-dir", Arg: "DIR", Usage: "where the cluster keeps data; it survives the cluster (default: ~/.rigup/clusters/NAME/data)"},
		set: onePath(func(c *Config) *Setting[string] { return &c.DataDir })},
	{Def: Def{Name: "api-port", Arg: "N or N-M", Default: "6550-6599", Usage: "the port of the cluster's API on 127.0.0.1: the first free one of these"},
		set: one(func(c *Config) *Setting[Ports] { return &c.APIPort }, ports)},
	{Def: Def{Name: "subnet", Arg: "CIDR", Usage: "the private network of the cluster's node; a free one is found when left out"},
		set: one(func(c *Config) *Setting[netip.Prefix] { return &c.Subnet }, subnet)},
	{Def: Def{Name: "kubeconfig", Arg: "FILE", Usage: "the file that gets the cluster's context; found as kubectl does when left out"},
		set: onePath(func(c *Config) *Setting[string] { return &c.Kubeconfig })},
	{Def: Def{Name: "chart", Arg: "CHART", Usage: "another chart: a directory, a .tgz file or an oci:// reference"},
		set: oneChart(func(c *Config) *Setting[string] { return &c.Chart })},
	{Def: Def{Name: "namespace", Arg: "NAME", Default: "rigup", Usage: "the namespace of the release"},
		set: one(func(c *Config) *Setting[string] { return &c.Namespace }, name(dnsLabel(63)))},
	{Def: Def{Name: "release", Arg: "NAME", Default: "rigup", Usage: "the name of the release"},
		set: one(func(c *Config) *Setting[string] { return &c.Release }, name(dnsLabel(53)))},
	{Def: Def{Name: "values", Arg: "FILE", Many: true, Usage: "a file with values for the chart; may be repeated"},
		set: manyPaths(func(c *Config) *Setting[[]string] { return &c.Values })},
	{Def: Def{Name: "set", Arg: "KEY=VALUE", Many: true, Usage: "a value for the chart; may be repeated"},
		set: many(func(c *Config) *Setting[[]string] { return &c.SetValues }, assignment)},
	{Def: Def{Name: "reset-values", Usage: "forget the values of earlier installs; they stay when a run names none"},
		set: one(func(c *Config) *Setting[bool] { return &c.ResetValues }, boolean), once: "it is meant for one run: pass --reset-values"},
	{Def: Def{Name: "gpu", Arg: "MODE", Default: "auto", Usage: "auto uses a GPU if that can be proven to work, off leaves it alone, require fails without it"},
		set: one(func(c *Config) *Setting[GPU] { return &c.GPU }, choice(GPUAuto, GPUOff, GPURequire))},
	{Def: Def{Name: "recreate", Usage: "build the node anew if it differs from what is asked; data and cluster content stay"},
		set: one(func(c *Config) *Setting[bool] { return &c.Recreate }, boolean), once: "it is meant for one run: pass --recreate"},
	{Def: Def{Name: "registry-mirror", Arg: "HOST=URL", Many: true, Usage: "where to pull the images of a registry from; may be repeated"},
		set: many(func(c *Config) *Setting[[]Mirror] { return &c.Mirrors }, mirror)},
	{Def: Def{Name: "ca-file", Arg: "FILE", Usage: "certificates to trust, of a registry or of your network's proxy (PEM)"},
		set: onePath(func(c *Config) *Setting[string] { return &c.CAFile })},
	{Def: Def{Name: "load-image", Arg: "IMAGE", Many: true, Usage: "an image of the engine to bring into the cluster; may be repeated"},
		set: many(func(c *Config) *Setting[[]string] { return &c.LoadImages }, image)},
	{Def: Def{Name: "node-image", Arg: "IMAGE", Usage: "another image for the node, with a fixed tag or a digest"},
		set: one(func(c *Config) *Setting[string] { return &c.NodeImage }, fixedImage)},
	{Def: Def{Name: "timeout", Arg: "DURATION", Default: "1h", Usage: "when to give up, for example 20m"},
		set: one(func(c *Config) *Setting[time.Duration] { return &c.Timeout }, duration)},
	{Def: Def{Name: "delete-data", Usage: "delete the data directory too; it cannot be brought back"},
		set: one(func(c *Config) *Setting[bool] { return &c.DeleteData }, boolean), once: "it is meant for one run: pass --delete-data"},
}

func find(name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.Name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

// one makes a setting of a single value. Where it is given several times the last counts, as everywhere.
func one[T any](get func(*Config) *Setting[T], parse func(string) (T, error)) func(*Config, place, []string) error {
	return func(c *Config, p place, raw []string) error {
		last := raw[len(raw)-1]
		v, err := parse(last)
		if err != nil {
			return p.refuse(last, err)
		}
		*get(c) = Setting[T]{v, p.source}
		return nil
	}
}

func many[T any](get func(*Config) *Setting[[]T], parse func(string) (T, error)) func(*Config, place, []string) error {
	return func(c *Config, p place, raw []string) error {
		var all []T
		for _, r := range raw {
			v, err := parse(r)
			if err != nil {
				return p.refuse(r, err)
			}
			all = append(all, v)
		}
		*get(c) = Setting[[]T]{all, p.source}
		return nil
	}
}

func onePath(get func(*Config) *Setting[string]) func(*Config, place, []string) error {
	return func(c *Config, p place, raw []string) error { return one(get, p.path)(c, p, raw) }
}

func manyPaths(get func(*Config) *Setting[[]string]) func(*Config, place, []string) error {
	return func(c *Config, p place, raw []string) error { return many(get, p.path)(c, p, raw) }
}

func oneChart(get func(*Config) *Setting[string]) func(*Config, place, []string) error {
	return func(c *Config, p place, raw []string) error {
		return one(get, func(s string) (string, error) {
			if strings.HasPrefix(s, "oci://") {
				return s, nil
			}
			return p.path(s)
		})(c, p, raw)
	}
}

// The parsers. Their errors say what is allowed, as the end of a sentence.

func boolean(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, errors.New("it is true or false")
}

func choice[T ~string](values ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		if i := slices.Index(values, T(s)); i >= 0 {
			return values[i], nil
		}
		words := make([]string, len(values))
		for i, v := range values {
			words[i] = string(v)
		}
		last := len(words) - 1
		return "", errors.New("it is " + strings.Join(words[:last], ", ") + " or " + words[last])
	}
}

// A rule of names: what they look like, how long they may be, and how that is said.
type naming struct {
	form *regexp.Regexp
	max  int
	says string
}

// clusterName is shorter than Docker and Kubernetes allow, because names are made from it.
var clusterName = naming{regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`), 32,
	"use up to 32 lower-case letters, digits and dashes, beginning with a letter"}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// dnsLabel is what Kubernetes asks of names; Helm allows 53 characters for a release.
func dnsLabel(max int) naming {
	return naming{label, max, fmt.Sprintf("use up to %d lower-case letters, digits and dashes", max)}
}

func name(n naming) func(string) (string, error) {
	return func(s string) (string, error) {
		if len(s) > n.max || !n.form.MatchString(s) {
			return "", errors.New(n.says)
		}
		return s, nil
	}
}

func engine(s string) (string, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if ok && rest != "" && slices.Contains([]string{"unix", "npipe", "tcp", "http", "https", "ssh"}, scheme) {
		return s, nil
	}
	return "", errors.New("use unix://PATH, npipe://PATH or tcp://HOST:PORT")
}

func ports(s string) (Ports, error) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	a, errA := strconv.Atoi(strings.TrimSpace(first))
	b, errB := strconv.Atoi(strings.TrimSpace(last))
	switch {
	case errA != nil || errB != nil || a < 1024 || b > 65535:
		return Ports{}, errors.New("use a port from 1024 to 65535, or a range such as 6550-6599")
	case a > b:
		return Ports{}, fmt.Errorf("a range goes up: %d-%d", b, a)
	}
	return Ports{a, b}, nil
}

func subnet(s string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil || !p.Addr().Is4():
		return netip.Prefix{}, errors.New("use an IPv4 network such as 10.123.0.0/24")
	case !p.Addr().IsPrivate():
		return netip.Prefix{}, errors.New("use a private network, in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")
	case p.Bits() < 16 || p.Bits() > 28:
		return netip.Prefix{}, errors.New("use a size from /16 to /28")
	case p != p.Masked():
		return netip.Prefix{}, fmt.Errorf("the network of this address is %s", p.Masked())
	}
	return p, nil
}

func assignment(s string) (string, error) {
	if k, _, ok := strings.Cut(s, "="); !ok || strings.TrimSpace(k) == "" {
		return "", errors.New("use KEY=VALUE")
	}
	return s, nil
}

var host = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?$`)

func mirror(s string) (Mirror, error) {
	h, raw, ok := strings.Cut(s, "=")
	if !ok || !host.MatchString(h) {
		return Mirror{}, errors.New("use HOST=URL, for example docker.io=https://mirror.example.com")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return Mirror{}, errors.New("use an http or https address after the =, for example docker.io=https://mirror.example.com")
	case u.User != nil:
		return Mirror{}, errors.New("leave out user and password, which others could read here, and run docker login " + u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return Mirror{}, errors.New("use an address without ? and #")
	}
	return Mirror{h, raw}, nil
}

func image(s string) (string, error) {
	if s == "" || strings.ContainsAny(s, " \t\n") || strings.Contains(s, "://") {
		return "", errors.New("use an image reference such as registry.example.com/app:1")
	}
	return s, nil
}

func fixedImage(s string) (string, error) {
	if _, err := image(s); err != nil {
		return "", err
	}
	if err := pins.Fixed(s); err != nil {
		return "", reason.Fail(reason.New(reason.ImageMovingTag, "image", s, "why", err.Error()), nil)
	}
	return s, nil
}

func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, errors.New("use a duration such as 90s, 20m or 1h")
	}
	return d, nil
}
