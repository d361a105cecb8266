// Package event defines what a run tells its audience: stages, progress, changes, warnings and the result.
// With --output json each event is one line.
package event

import "rigup.dev/rigup/core/reason"

// Schema is the version of the event stream. It grows when a field changes its meaning; new fields do not count.
const Schema = 1

// Type says which fields of an Event are filled.
type Type string

// The types of events, in the order in which a run sends them.
const (
	TypeRun      Type = "run"      // the first: what runs, on which cluster
	TypeStage    Type = "stage"    // a stage began or ended
	TypeStep     Type = "step"     // a stage began one of its steps
	TypeProgress Type = "progress" // how far a step is
	TypeChange   Type = "change"   // what a stage would do (plan) or does (install)
	TypeWarning  Type = "warning"  // something to know that stops nothing
	TypeHook     Type = "hook"     // a hook was asked, and what it said
	TypeResult   Type = "result"   // the last: how the run ended
)

// State is where a stage is.
type State string

// The states of a stage; all but Running are final.
const (
	Running  State = "running"
	Done     State = "done"
	Skipped  State = "skipped"
	Degraded State = "degraded"
	Failed   State = "failed"
	Planned  State = "planned" // plan only: the stage has changes to make
)

// Event is one thing that happened. Fields that a type does not use are left out.
type Event struct {
	Type Type `json:"type"`
	// Time is RFC 3339 in UTC with milliseconds.
	Time string `json:"time"`

	Run      *Run           `json:"run,omitempty"`
	Stage    string         `json:"stage,omitempty" jsonschema:"the stage this is about"`
	State    State          `json:"state,omitempty" jsonschema:"stage events: where the stage is"`
	Text     string         `json:"text,omitempty" jsonschema:"what was found or done, for people"`
	Seconds  float64        `json:"seconds,omitempty" jsonschema:"stage events: how long it took"`
	Progress *Progress      `json:"progress,omitempty"`
	Change   *Change        `json:"change,omitempty"`
	Hook     *Hook          `json:"hook,omitempty"`
	Reason   *reason.Reason `json:"reason,omitempty"`

	// Result events. Exit is a pointer so that 0 is written.
	Mode   string  `json:"mode,omitempty" jsonschema:"result: cpu or gpu"`
	Exit   *int    `json:"exit,omitempty" jsonschema:"result: the exit code"`
	Result *Result `json:"result,omitempty"`
}

// Run is what a run is about.
type Run struct {
	Schema  int    `json:"schema" jsonschema:"version of this event stream"`
	Command string `json:"command" jsonschema:"install, plan or uninstall"`
	Cluster string `json:"cluster"`
	Version string `json:"version" jsonschema:"version of rigup"`
	// Machine describes engine and system in a few words; empty until it was observed.
	Machine string `json:"machine,omitempty"`
}

// Unit is what progress is counted in.
type Unit string

// Progress is counted in one of these.
const (
	Bytes   Unit = "bytes"
	Pods    Unit = "pods"
	Seconds Unit = "seconds"
)

// Progress is how far a step is. Total is 0 while it is not known.
type Progress struct {
	Unit  Unit   `json:"unit"`
	Done  int64  `json:"done"`
	Total int64  `json:"total,omitempty"`
	What  string `json:"what,omitempty" jsonschema:"what is being moved or awaited"`
}

// Action is what a change does.
type Action string

// The actions of a change.
const (
	Create  Action = "create"
	Update  Action = "update"
	Start   Action = "start"
	Replace Action = "replace"
	Delete  Action = "delete"
	Pull    Action = "pull"
	Load    Action = "load"
	Keep    Action = "keep" // uninstall: deliberately left
)

// Change is one thing that a stage makes different.
type Change struct {
	Action Action `json:"action"`
	Kind   string `json:"kind" jsonschema:"node, network, volume, image, kubeconfig, release, file, ..."`
	Name   string `json:"name"`
	// Detail is what becomes different, for people.
	Detail string `json:"detail,omitempty"`
}

// Hook is one question to a hook, and what it said.
type Hook struct {
	Name  string `json:"name" jsonschema:"id, version and where it comes from"`
	Kind  string `json:"kind" jsonschema:"environment or gpu"`
	Phase string `json:"phase" jsonschema:"detect, decide or diagnose"`
	// Because is why it was asked: the facts that it is for. Probes are what was checked for it since it was last
	// asked.
	Because []string `json:"because,omitempty" jsonschema:"the facts for which it was asked"`
	Probes  []string `json:"probes,omitempty" jsonschema:"what was checked for it, and what came of it"`
	// Answer is the kind of its response; empty when there was none that could be used: then Failure says why.
	Answer  string   `json:"answer,omitempty" jsonschema:"decline, probes, claim, decision or reason"`
	Why     []string `json:"why,omitempty" jsonschema:"what the answer rests on, in the hook's words"`
	Failure string   `json:"failure,omitempty"`
	Log     string   `json:"log,omitempty" jsonschema:"what the hook logged"`
	// Remembered is true when the same question had been answered before, so that nothing ran.
	Remembered bool `json:"remembered,omitempty"`
}

// Result is what a finished run leaves behind.
type Result struct {
	// Changed is false when there was nothing to do.
	Changed bool   `json:"changed"`
	Context string `json:"context,omitempty" jsonschema:"name of the kubeconfig context"`
	// Kubeconfig is the file that has the context.
	Kubeconfig string `json:"kubeconfig,omitempty"`
	API        string `json:"api,omitempty" jsonschema:"address of the cluster's API"`
	Release    string `json:"release,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Chart      string `json:"chart,omitempty" jsonschema:"chart name and version"`
	DataDir    string `json:"dataDir,omitempty"`
	// Restart says what brings the cluster back after a restart of the machine.
	Restart string `json:"restart,omitempty"`
	// Since is when the node was started, RFC 3339.
	Since string `json:"since,omitempty"`
	Log   string `json:"log,omitempty" jsonschema:"the log file of this run"`
}

// Sink receives events. It must not block for long: it is called from the middle of the work.
type Sink interface {
	Emit(Event)
}
