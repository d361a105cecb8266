package report

import (
	"fmt"
	"strings"
	"time"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
)

// The states of a cluster.
const (
	StateRunning  = "running"
	StateStarting = "starting" // the node runs, the cluster does not answer yet
	StateStopped  = "stopped"
	StateCrashed  = "crashed" // the node ended by itself
	StateMissing  = "missing"
	StateUnknown  = "unknown" // it could not be found out
)

// Status is what `rigup status` tells. What is not known is left empty.
type Status struct {
	Cluster string `json:"cluster"`
	State   string `json:"state" jsonschema:"running, starting, stopped, crashed, missing or unknown"`
	Version string `json:"version" jsonschema:"version of this rigup"`
	// Machine describes engine and system in a few words.
	Machine string `json:"machine,omitempty"`

	Mode string `json:"mode,omitempty" jsonschema:"cpu or gpu"`
	// Reason is why there is no GPU. It is empty in mode gpu.
	Reason *reason.Reason `json:"reason,omitempty"`
	// GPU is what pods can ask for; only in mode gpu.
	GPU *GPU `json:"gpu,omitempty"`
	// Problems are everything else that is not as it should be, most important first.
	Problems []reason.Reason `json:"problems,omitempty"`

	Since      string `json:"since,omitempty" jsonschema:"when the node was started, RFC 3339"`
	API        string `json:"api,omitempty" jsonschema:"address of the cluster's API"`
	Context    string `json:"context,omitempty" jsonschema:"name of the kubeconfig context"`
	Kubeconfig string `json:"kubeconfig,omitempty" jsonschema:"the file that has the context"`

	Node       string `json:"node,omitempty" jsonschema:"name of the node's container"`
	NodeImage  string `json:"nodeImage,omitempty"`
	Kubernetes string `json:"kubernetes,omitempty" jsonschema:"version that the cluster runs"`
	DataDir    string `json:"dataDir,omitempty"`
	Restart    string `json:"restart,omitempty" jsonschema:"what brings the cluster back after a restart of the machine"`

	Workload *Workload `json:"workload,omitempty"`
}

// GPU is a resource that pods can ask for now.
type GPU struct {
	Resource string `json:"resource" jsonschema:"for example nvidia.com/gpu"`
	Count    int    `json:"count" jsonschema:"allocatable on the node"`
}

// Workload is the installed release.
type Workload struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Chart     string `json:"chart" jsonschema:"chart name and version"`
	Status    string `json:"status" jsonschema:"as Helm names it: deployed, failed, pending-install, ..."`
	Parts     []Part `json:"parts"`
}

// Part is something of the release that runs pods.
type Part struct {
	Name  string `json:"name"`
	Kind  string `json:"kind" jsonschema:"Deployment, StatefulSet, DaemonSet or Job"`
	Ready int    `json:"ready" jsonschema:"pods that are ready, of a Job those that completed"`
	Total int    `json:"total" jsonschema:"pods that are wanted"`
	// OK is true when it is as its latest specification asks.
	OK bool `json:"ok"`
}

// Exit is the exit code of `rigup status`: 0 when the cluster runs and nothing is wrong with it.
func (s Status) Exit() int {
	if len(s.Problems) > 0 {
		return s.Problems[0].Exit()
	}
	if s.State != StateRunning {
		return reason.ExitFailed
	}
	return reason.ExitOK
}

// Render returns the status as one screen.
func (s Status) Render(o Options) string {
	p := &page{width: min(o.width(), maxText), st: style(o.Color), label: longLabels + 1}
	cluster := "Cluster " + clean(s.Cluster)
	color := red
	line := cluster + " "
	switch s.State {
	case StateRunning:
		color = green
		line += "is running" + since(s.Since, o.now()) + "."
	case StateStarting:
		color = yellow
		line += "is starting."
	case StateStopped:
		line += "is stopped."
	case StateCrashed:
		line += "has crashed."
	case StateMissing:
		line = "There is no cluster " + clean(s.Cluster) + " on this engine."
	default:
		line = "What cluster " + clean(s.Cluster) + " does could not be found out."
	}
	p.head(color, line)
	p.gap()
	s.mode(p)
	if w := s.Workload; w != nil {
		p.item("Workload", w.line())
		for _, part := range w.Parts {
			p.hang(strings.Repeat(" ", longLabels+5), part.line())
		}
	}
	p.gap()
	p.item("API", list(s.API, prefixed("context ", s.Context)))
	p.item("Config", clean(s.Kubeconfig))
	p.item("Data", clean(s.DataDir))
	p.item("Node", list(s.Node, s.NodeImage, prefixed("Kubernetes ", s.Kubernetes)))
	p.item("Engine", clean(s.Machine))
	p.item("Restart", clean(s.Restart))
	if s.Reason != nil && !quietMode(s.Reason) {
		p.gap()
		p.reason(*s.Reason)
	}
	for _, r := range s.Problems {
		p.gap()
		if r.ID == reason.ClusterMissing || r.ID == reason.ClusterStopped {
			r.Text = "" // the first line says it
		}
		p.reason(r)
	}
	s.next(p)
	return strings.Join(p.lines, "\n") + "\n"
}

func (s Status) mode(p *page) {
	switch {
	case s.GPU != nil && s.Mode == "gpu":
		p.item("Mode", fmt.Sprintf("GPU: pods and jobs can ask for %s (%d available)", clean(s.GPU.Resource), s.GPU.Count))
	case s.Mode == "gpu":
		p.item("Mode", "GPU")
	case s.Mode == "cpu" && s.Reason != nil && quietMode(s.Reason):
		p.item("Mode", "CPU: "+strings.TrimSuffix(lower(clean(s.Reason.Text)), "."))
	case s.Mode == "cpu" && s.Reason != nil:
		p.item("Mode", "CPU, see Why below")
	case s.Mode == "cpu":
		p.item("Mode", "CPU")
	}
}

// next offers what works in this state. A problem brings its own remedy.
func (s Status) next(p *page) {
	if s.State != StateRunning {
		if len(s.Problems) == 0 {
			p.gap()
			p.exact("Start", command("install", s.Cluster))
		}
		return
	}
	p.gap()
	namespace := ""
	if s.Workload != nil {
		namespace = s.Workload.Namespace
	}
	if s.Context != "" {
		p.next(s.Cluster, s.Context, namespace)
		p.lines = p.lines[:len(p.lines)-1] // "Look" is this very screen
	}
	p.exact("Remove", command("uninstall", s.Cluster)+"   (the data stays)")
}

func (w Workload) line() string {
	ready, total := 0, 0
	for _, p := range w.Parts {
		ready += p.Ready
		total += p.Total
	}
	line := clean(w.Chart) + " in namespace " + clean(w.Namespace)
	if w.Status != "" && w.Status != "deployed" {
		line += ", " + clean(w.Status)
	}
	return line + fmt.Sprintf(", %d of %d pods ready", ready, total)
}

func (p Part) line() string {
	if p.OK {
		return clean(p.Name) + ": ready"
	}
	return clean(p.Name) + fmt.Sprintf(": not ready, %d of %d pods", p.Ready, p.Total)
}

func since(t string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, t)
	if err != nil {
		return ""
	}
	return " since " + units.Age(now.Sub(at))
}

func list(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = clean(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, ", ")
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
