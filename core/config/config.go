// Package config holds what the owner asked for: every setting with its value and where it came from.
// A flag goes before the environment, that before the configuration file, that before the default.
package config

import (
	"net/netip"
	"path/filepath"
	"time"
)

// Source is where a setting's value came from.
type Source string

// The sources, weakest first.
const (
	Default Source = "default"
	File    Source = "file"
	Env     Source = "environment"
	Flag    Source = "flag"
)

// Setting is a value and where it came from.
type Setting[T any] struct {
	Value T
	From  Source
}

// Set reports whether the owner asked for the value. A default is not held against an existing cluster.
func (s Setting[T]) Set() bool { return s.From != Default && s.From != "" }

// GPU says what to do about a GPU.
type GPU string

// The values of --gpu.
const (
	GPUAuto    GPU = "auto"    // use it if it can be used
	GPUOff     GPU = "off"     // leave it alone
	GPURequire GPU = "require" // fail without it
)

// Ports is a range of TCP ports, both ends included.
type Ports struct{ First, Last int }

// Mirror says where the images of a registry are pulled from.
type Mirror struct {
	Host string // registry as in image references, with port if it has one
	URL  string // http or https, without credentials
}

// Config is everything that can be asked for.
type Config struct {
	// File is the configuration file that was read; empty when there is none.
	File string
	// Home is the folder of all that rigup keeps: $RIGUP_HOME or ~/.rigup.
	Home string

	Cluster Setting[string]
	Engine  Setting[string] // endpoint; empty: found by itself
	Output  Setting[string] // text or json
	Verbose Setting[bool]
	Yes     Setting[bool]
	Explain Setting[bool] // of a plan: which hook said what

	DataDir    Setting[string] // absolute; below the cluster's folder by default
	APIPort    Setting[Ports]
	Subnet     Setting[netip.Prefix] // invalid: found by itself
	Kubeconfig Setting[string]       // empty: as kubectl finds it

	Chart     Setting[string] // directory, .tgz or oci:// reference; empty: the built-in chart
	Namespace Setting[string]
	Release   Setting[string]
	Values    Setting[[]string] // files, later ones win
	SetValues Setting[[]string] // KEY=VALUE as Helm reads them
	// ResetValues forgets the values of earlier installs. They stay when a run names none.
	ResetValues Setting[bool]

	GPU        Setting[GPU]
	Recreate   Setting[bool]
	Mirrors    Setting[[]Mirror]
	CAFile     Setting[string]
	LoadImages Setting[[]string]
	NodeImage  Setting[string] // empty: the pinned one
	Timeout    Setting[time.Duration]

	DeleteData Setting[bool]
}

// Dir is the folder that holds all of the cluster.
func (c Config) Dir() string { return filepath.Join(c.Home, "clusters", c.Cluster.Value) }

// Def describes a setting for the command line.
type Def struct {
	Name    string // the flag without dashes; also the key in the file
	Arg     string // what the value is, in capitals; empty for a switch
	Usage   string
	Default string // shown in the help
	Many    bool   // may be given several times
}

// Env is the environment variable of a setting.
func (d Def) Env() string { return envName(d.Name) }

// Defs are the settings in the order in which a help shows them.
func Defs() []Def {
	out := make([]Def, len(fields))
	for i, f := range fields {
		out[i] = f.Def
	}
	return out
}
