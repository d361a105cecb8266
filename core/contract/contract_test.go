package contract

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/reason"
)

// gpus stands in for a proven capability, which only the prove stage can make.
type gpus struct {
	resource string
	count    int
}

func (g gpus) Available() bool        { return g.count > 0 }
func (g gpus) Request() (string, int) { return g.resource, g.count }

const sample = `
apiVersion: rigup.dev/v1
values:
  env.GPU_REQUESTS: {gpu: "{resource}={count}", cpu: ""}
  env.GPU_LIMITS: {gpu: "{resource}={count}", cpu: ""}
  env.RUNTIME_CLASS_NAME: {gpu: "{runtimeClass}", cpu: ""}
  env.SINGLE_NODE: {both: "{single}"}
  gpu.count: {gpu: "{count}", cpu: "0", as: number}
  gpu.enabled: {gpu: true, cpu: false}
  node\.alpha.limits: {gpu: {"{resource}": "{count}"}, cpu: {}}
images:
  - {helper: jobs-manager, repository: image.repository, tag: image.tag}
  - engine: registry.test/app:1
workloads:
  - {kind: Deployment, name: "{release}-web"}
data: hostPath.basePath
`

var env = Env{Release: "r", RuntimeClass: "vendor", SingleNode: true, DataDir: "/data", Images: map[string]string{"jobs-manager": "registry.test:5000/jobs:abc"}}

func TestG7_AllKeysAreWrittenOnEveryInstall(t *testing.T) {
	c, err := Parse("x", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		capability Capability
		want       string
	}{
		"gpu": {gpus{"v.test/gpu", 2}, `{"env":{"GPU_LIMITS":"v.test/gpu=2","GPU_REQUESTS":"v.test/gpu=2","RUNTIME_CLASS_NAME":"vendor","SINGLE_NODE":"true"},"gpu":{"count":2,"enabled":true},"hostPath":{"basePath":"/data"},"image":{"repository":"registry.test:5000/jobs","tag":"abc"},"node.alpha":{"limits":{"v.test/gpu":"2"}}}`},
		"cpu": {gpu.None(reason.New(reason.GPUNone)), `{"env":{"GPU_LIMITS":"","GPU_REQUESTS":"","RUNTIME_CLASS_NAME":"","SINGLE_NODE":"true"},"gpu":{"count":0,"enabled":false},"hostPath":{"basePath":"/data"},"image":{"repository":"registry.test:5000/jobs","tag":"abc"},"node.alpha":{"limits":{}}}`},
		// The zero capability is "not checked", and a resource without devices is nothing to ask for (G1).
		"not checked": {gpu.Capability{}, ""},
		"no device":   {gpus{"v.test/gpu", 0}, ""},
		"nothing":     {nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := c.Values(tt.capability, env)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				tt.want = tests["cpu"].want
			}
			if got, _ := json.Marshal(v); string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestContract_NoFileWritesNothing(t *testing.T) {
	v, err := Contract{}.Values(gpus{"v.test/gpu", 1}, env)
	if err != nil || len(v) != 0 {
		t.Errorf("got %v, %v", v, err)
	}
	if (Contract{}).WritesGPU() {
		t.Error("a chart without contract does not know GPUs")
	}
}

func TestContract_ImagesAndWorkloads(t *testing.T) {
	c, err := Parse("x", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Workloads("r"); !reflect.DeepEqual(got, []Workload{{"Deployment", "r-web"}}) {
		t.Errorf("workloads %v", got)
	}
	if got := c.Images(); len(got) != 2 || got[0].Helper != "jobs-manager" || got[1].Engine != "registry.test/app:1" {
		t.Errorf("images %v", got)
	}
	if !c.WritesGPU() {
		t.Error("it writes GPU keys")
	}
	if _, err := c.Values(nil, Env{DataDir: "/d", Images: map[string]string{"other": "a:1"}}); err == nil || !strings.Contains(err.Error(), `"jobs-manager", allowed are other`) {
		t.Errorf("unknown helper: %v", err)
	}
	if _, err := c.Values(nil, Env{Images: env.Images}); err == nil || !strings.Contains(err.Error(), "data: ") {
		t.Errorf("no data directory: %v", err)
	}
}

// Every mistake names the file, the key and what is allowed.
func TestContract_Mistakes(t *testing.T) {
	const head = "apiVersion: rigup.dev/v1\n"
	tests := map[string]struct {
		content string
		want    []string
	}{
		"not YAML":         {"a: [", []string{File}},
		"version":          {"apiVersion: v9\n", []string{File, "apiVersion", `"v9"`, "rigup.dev/v1"}},
		"no version":       {"values: {}\n", []string{File, "apiVersion", "rigup.dev/v1"}},
		"unknown key":      {head + "valuse: {}\n", []string{File, "valuse"}},
		"unknown column":   {head + "values: {a: {gpu: x, cup: y}}\n", []string{File, "cup"}},
		"repeated key":     {head + "values: {}\nvalues: {}\n", []string{File, "values"}},
		"G7 no cpu side":   {head + "values: {env.X: {gpu: x}}\n", []string{File, "values.env.X", "cpu is missing"}},
		"G7 no gpu side":   {head + "values: {env.X: {cpu: x}}\n", []string{File, "values.env.X", "gpu is missing"}},
		"both and gpu":     {head + "values: {env.X: {gpu: x, both: y}}\n", []string{File, "values.env.X", "either both"}},
		"placeholder":      {head + "values: {a: {gpu: \"{resorce}\", cpu: x}}\n", []string{File, "values.a", "{resorce}", "{resource}"}},
		"deep placeholder": {head + "values: {a: {gpu: {b: [\"{x}\"]}, cpu: x}}\n", []string{File, "values.a", "{x}"}},
		"G1 gpu on cpu":    {head + "values: {a: {gpu: x, cpu: \"{resource}=1\"}}\n", []string{File, "values.a", "without a GPU", "{resource}"}},
		"G1 gpu in both":   {head + "values: {a: {both: \"{count}\"}}\n", []string{File, "values.a", "without a GPU", "{count}"}},
		"type":             {head + "values: {a: {both: x, as: text}}\n", []string{File, "values.a", `"text"`, "string, number, bool"}},
		"list path":        {head + "values: {\"a[0]\": {both: x}}\n", []string{File, "a[0]", "lists"}},
		"empty part":       {head + "values: {a..b: {both: x}}\n", []string{File, "a..b", "empty"}},
		"two writers":      {head + "values: {a: {both: x}}\ndata: a.b\n", []string{File, "values.a", "data", "both write"}},
		"image of nothing": {head + "images: [{repository: a, tag: b}]\n", []string{File, "images[0]", "helper or engine"}},
		"image no tag":     {head + "images: [{helper: h, repository: a}]\n", []string{File, "images[0]", "repository and tag"}},
		"N4 moving tag":    {head + "images: [{engine: registry.test/app}]\n", []string{File, "images[0].engine", "registry.test/app", "tag"}},
		"workload kind":    {head + "workloads: [{kind: Pod, name: x}]\n", []string{File, "workloads[0].kind", `"Pod"`, "Deployment"}},
		"workload name":    {head + "workloads: [{kind: Job}]\n", []string{File, "workloads[0].name"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x", []byte(tt.content))
			if err == nil {
				t.Fatal("accepted")
			}
			if id := reason.Of(err).ID; id != reason.ChartContract {
				t.Errorf("reason %s", id)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "unmarshal") {
				t.Errorf("%q speaks of the decoder", err)
			}
		})
	}
}

func TestContract_NotANumber(t *testing.T) {
	c, err := Parse("x", []byte("apiVersion: rigup.dev/v1\nvalues: {a: {both: many, as: number}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Values(nil, Env{}); err == nil || !strings.Contains(err.Error(), `values.a: "many" is not a number`) {
		t.Error(err)
	}
}
