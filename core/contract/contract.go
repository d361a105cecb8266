// Package contract reads a chart's contract.yaml: what the capability of a cluster means in the chart's own
// values, and which images rigup puts into the node for it.
//
// The file stands at the root of the chart. All of it but apiVersion is optional:
//
//	apiVersion: rigup.dev/v1
//	values:                        # dotted path in the chart's values -> what to write there
//	  env.GPU_LIMITS:              # both sides are required: a CPU install writes its side too,
//	    gpu: "{resource}={count}"  # so that a stale GPU value never survives (G7)
//	    cpu: ""
//	  env.SINGLE_NODE:
//	    both: "{single}"           # the same with and without a GPU
//	  gpu.count:
//	    gpu: "{count}"
//	    cpu: "0"
//	    as: number                 # string (when left out), number or bool
//	images:
//	  - helper: jobs-manager       # an image that rigup makes and loads into the node
//	    repository: image.repository
//	    tag: image.tag
//	  - engine: example.test/app:1 # an image of the engine that is loaded into the node
//	workloads:                     # what must be ready; left out: everything of the release
//	  - kind: Deployment
//	    name: "{release}-web"
//	data: hostPath.basePath        # receives the data directory's path inside the node
//
// A dot inside a key is written \. as in --set. A value may be any YAML value; placeholders are filled in its
// strings and map keys. rigup writes every key on every install and upgrade.
package contract

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"

	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
)

// File is the name of the contract in the chart.
const File = "contract.yaml"

// APIVersion is the only version of the format so far.
const APIVersion = "rigup.dev/v1"

// Contract is one chart's contract. The zero value is that of a chart without one: it writes nothing.
type Contract struct {
	chart     string
	entries   []entry // by path
	images    []Image
	workloads []Workload
	data      []string
}

// Image is an image that rigup provides in the node.
type Image struct {
	// Helper names an image that rigup makes out of its embedded programs; empty for one of the engine.
	Helper string
	// Engine is the reference of an image that the engine has or can pull; empty for a helper.
	Engine string

	repository, tag []string
}

// Workload is an object of the release that must be ready before the install counts as done.
type Workload struct {
	Kind string `json:"kind"`
	// Name may contain {release}; Workloads has it filled in.
	Name string `json:"name"`
}

// Capability is what the contract needs to know of gpu.Capability, which is the only thing that fulfils it
// in the program: GPU values come from a proof (G1).
type Capability interface {
	Available() bool
	Request() (resource string, count int)
}

// Env is what placeholders stand for.
type Env struct {
	Release string // {release}
	// RuntimeClass and VisibleDevices are what the vendor's hook asks of GPU workloads; they are not used
	// without a capability. {runtimeClass}, {visibleDevices}
	RuntimeClass   string
	VisibleDevices string
	// SingleNode says that the cluster has one node. {single} is "true" or "false".
	SingleNode bool
	// DataDir is the path inside the node under which the data directory is mounted.
	DataDir string
	// Images is the reference repository:tag under which a helper is loaded into the node, by helper name.
	Images map[string]string
}

// entry is one key that the contract writes.
type entry struct {
	path     []string
	gpu, cpu any
	as       string
}

// The placeholders, and those that mean nothing without a GPU.
var (
	placeholders = []string{"resource", "count", "runtimeClass", "visibleDevices", "single", "release"}
	gpuOnly      = []string{"resource", "count", "runtimeClass", "visibleDevices"}
	kinds        = []string{"Deployment", "StatefulSet", "DaemonSet", "Job"}
	types        = []string{"", "string", "number", "bool"}
)

// file is the YAML as it is written. Pointers tell an explicit empty value from a missing one.
type file struct {
	APIVersion string             `json:"apiVersion"`
	Values     map[string]columns `json:"values"`
	Images     []imageEntry       `json:"images"`
	Workloads  []Workload         `json:"workloads"`
	Data       string             `json:"data"`
}

type columns struct {
	GPU  *any   `json:"gpu"`
	CPU  *any   `json:"cpu"`
	Both *any   `json:"both"`
	As   string `json:"as"`
}

type imageEntry struct {
	Helper     string `json:"helper"`
	Engine     string `json:"engine"`
	Repository string `json:"repository"`
	Tag        string `json:"tag"`
}

// Parse reads the contract of a chart. Everything that the format does not know is refused; the error names
// the file, the key and what is allowed. Its reason is chart.contract.
func Parse(chart string, content []byte) (Contract, error) {
	c, err := parse(content)
	if err != nil {
		return Contract{}, fail(chart, err)
	}
	c.chart = chart
	return c, nil
}

func fail(chart string, err error) error {
	return reason.Fail(reason.New(reason.ChartContract, "chart", chart, "what", err.Error()), nil)
}

func parse(content []byte) (Contract, error) {
	var f file
	if err := yaml.UnmarshalStrict(content, &f); err != nil {
		return Contract{}, fmt.Errorf("%s: %s", File, plain(err))
	}
	if f.APIVersion != APIVersion {
		return Contract{}, fmt.Errorf("%s: apiVersion is %q, allowed is %s", File, f.APIVersion, APIVersion)
	}
	var c Contract
	written := map[string]string{} // path -> the key of the file that writes it
	claim := func(key, dotted string) ([]string, error) {
		path, err := split(dotted)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %q is not a path in the values: %w", File, key, dotted, err)
		}
		for other, by := range written {
			if overlaps(other, strings.Join(path, "\x00")) {
				return nil, fmt.Errorf("%s: %s and %s both write %s", File, by, key, dotted)
			}
		}
		written[strings.Join(path, "\x00")] = key
		return path, nil
	}
	for _, dotted := range sorted(f.Values) {
		path, err := claim("values."+dotted, dotted)
		if err != nil {
			return Contract{}, err
		}
		e, err := f.Values[dotted].entry()
		if err != nil {
			return Contract{}, fmt.Errorf("%s: values.%s: %w", File, dotted, err)
		}
		e.path = path
		c.entries = append(c.entries, e)
	}
	for i, w := range f.Images {
		img, err := w.image(fmt.Sprintf("images[%d]", i), claim)
		if err != nil {
			return Contract{}, err
		}
		c.images = append(c.images, img)
	}
	for i, w := range f.Workloads {
		if !slices.Contains(kinds, w.Kind) {
			return Contract{}, fmt.Errorf("%s: workloads[%d].kind is %q, allowed are %s", File, i, w.Kind, strings.Join(kinds, ", "))
		}
		if w.Name == "" {
			return Contract{}, fmt.Errorf("%s: workloads[%d].name is missing", File, i)
		}
		if err := known(w.Name, []string{"release"}); err != nil {
			return Contract{}, fmt.Errorf("%s: workloads[%d].name: %w", File, i, err)
		}
	}
	c.workloads = f.Workloads
	if f.Data != "" {
		path, err := claim("data", f.Data)
		if err != nil {
			return Contract{}, err
		}
		c.data = path
	}
	return c, nil
}

// entry checks the two sides of one key: both must be there (G7), and the CPU side may not name GPU things.
func (v columns) entry() (entry, error) {
	if !slices.Contains(types, v.As) {
		return entry{}, fmt.Errorf("as is %q, allowed are string, number, bool", v.As)
	}
	e := entry{as: v.As}
	switch {
	case v.Both != nil && (v.GPU != nil || v.CPU != nil):
		return entry{}, errors.New("either both, or gpu and cpu")
	case v.Both != nil:
		e.gpu, e.cpu = *v.Both, *v.Both
	case v.GPU == nil:
		return entry{}, errors.New("gpu is missing: say what a cluster with a GPU gets")
	case v.CPU == nil:
		return entry{}, errors.New(`cpu is missing: say what a cluster without a GPU gets ("" for nothing)`)
	default:
		e.gpu, e.cpu = *v.GPU, *v.CPU
	}
	if err := check(e.gpu, placeholders); err != nil {
		return entry{}, err
	}
	allowed := slices.DeleteFunc(slices.Clone(placeholders), func(p string) bool { return slices.Contains(gpuOnly, p) })
	if err := check(e.cpu, allowed); err != nil {
		return entry{}, fmt.Errorf("without a GPU: %w", err)
	}
	return e, nil
}

func (v imageEntry) image(key string, claim func(key, dotted string) ([]string, error)) (Image, error) {
	img := Image{Helper: v.Helper, Engine: v.Engine}
	if (v.Helper == "") == (v.Engine == "") {
		return img, fmt.Errorf("%s: %s: needs either helper or engine", File, key)
	}
	if v.Engine != "" {
		if v.Repository != "" || v.Tag != "" {
			return img, fmt.Errorf("%s: %s: repository and tag go with helper; an engine image keeps its own name", File, key)
		}
		if err := pins.Fixed(v.Engine); err != nil {
			return img, fmt.Errorf("%s: %s.engine: %s: %w", File, key, v.Engine, err)
		}
		return img, nil
	}
	var err error
	if v.Repository == "" || v.Tag == "" {
		return img, fmt.Errorf("%s: %s: helper %s needs repository and tag, the values that receive its name", File, key, v.Helper)
	}
	if img.repository, err = claim(key+".repository", v.Repository); err != nil {
		return img, err
	}
	img.tag, err = claim(key+".tag", v.Tag)
	return img, err
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// plain takes the package names of the decoder out of its errors.
func plain(err error) string {
	return strings.NewReplacer("error unmarshaling JSON: ", "", "error converting YAML to JSON: ", "", "while decoding JSON: ", "", "json: ", "", "yaml: ", "", "unmarshal errors:\n  ", "").Replace(err.Error())
}
