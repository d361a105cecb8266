package report

import (
	"slices"
	"strings"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// titles: the stages as people see them. Several stages may share a line.
var titles = []struct {
	title  string
	stages []string
}{
	{"Machine", []string{"observe", "preflight"}},
	{"Decision", []string{"decide"}},
	{"GPU", []string{"prove"}},
	{"Image", []string{"image"}},
	{"Cluster", []string{"cluster", "provision"}},
	{"Check", []string{"verify"}},
	{"Workload", []string{"deploy", "ready"}},
	{aside, []string{"report"}},
}

// aside is the title of the line that is only there when something went wrong on it: what rigup does for itself.
const aside = "Report"

// model is what a run has told so far.
type model struct {
	run      event.Run
	begun    time.Time
	rows     []*row
	failures []reason.Reason
	notes    []note
	changes  []change
	hooks    []event.Hook
	explain  bool // the summary says what the hooks said
	result   *event.Event
}

type note struct {
	title, text string
	reason      *reason.Reason
}

type change struct {
	row *row
	event.Change
}

// row is one line of the table.
type row struct {
	title  string
	stages []*stage
	begun  time.Time
	said   time.Time // plain: when a line about it was last written
}

type stage struct {
	name     string
	state    event.State
	text     string
	step     string
	progress *event.Progress
	reason   *reason.Reason
	took     time.Duration
}

// apply takes an event in. It returns the row that the event is about, if any.
func (m *model) apply(e event.Event, now time.Time) *row {
	if m.begun.IsZero() {
		m.begun = now
	}
	var r *row
	var s *stage
	if e.Stage != "" {
		r, s = m.stage(e.Stage)
	}
	switch e.Type {
	case event.TypeRun:
		if e.Run != nil {
			m.start(*e.Run)
		}
	case event.TypeStage:
		if s == nil {
			return nil
		}
		if r.begun.IsZero() {
			r.begun, r.said = now, now
		}
		s.state, s.reason = e.State, e.Reason
		s.text = clean(e.Text)
		if e.State != event.Running {
			s.progress, s.step = nil, ""
			s.took = time.Duration(e.Seconds * float64(time.Second))
		}
		if e.State == event.Failed && e.Reason != nil {
			m.fail(*e.Reason)
		}
		if e.State == event.Degraded && e.Reason != nil {
			m.note(r.title, "", e.Reason)
		}
	case event.TypeStep:
		if s != nil {
			s.step, s.progress = clean(e.Text), nil
		}
	case event.TypeProgress:
		if s != nil {
			s.progress = e.Progress
		}
	case event.TypeChange:
		if e.Change != nil {
			m.changes = append(m.changes, change{r, *e.Change})
		}
	case event.TypeHook:
		if e.Hook != nil {
			m.hooks = append(m.hooks, *e.Hook)
		}
	case event.TypeWarning:
		switch {
		case e.State == event.Failed && e.Reason != nil:
			m.fail(*e.Reason)
		case r != nil:
			m.note(r.title, clean(e.Text), e.Reason)
		default:
			m.note("", clean(e.Text), e.Reason)
		}
	case event.TypeResult:
		m.result = &e
	}
	return r
}

func (m *model) start(run event.Run) {
	m.run = run
	if len(m.rows) > 0 || run.Command != "install" && run.Command != "plan" {
		return // other commands have other stages: they show the lines they come to
	}
	for _, t := range titles {
		m.rows = append(m.rows, newRow(t.title, t.stages...))
	}
}

// visible are the lines of the table.
func (m *model) visible() []*row {
	return slices.DeleteFunc(slices.Clone(m.rows), func(r *row) bool {
		s := r.state(true)
		return r.title == aside && s != event.Failed && s != event.Degraded
	})
}

func newRow(title string, stages ...string) *row {
	r := &row{title: title}
	for _, s := range stages {
		r.stages = append(r.stages, &stage{name: s})
	}
	return r
}

// stage finds the stage, or makes a line for one that the table does not know.
func (m *model) stage(name string) (*row, *stage) {
	for _, r := range m.rows {
		for _, s := range r.stages {
			if s.name == name {
				return r, s
			}
		}
	}
	title := strings.ToUpper(name[:1]) + name[1:]
	for _, t := range titles {
		if slices.Contains(t.stages, name) {
			title = t.title
		}
	}
	for _, r := range m.rows {
		if r.title == title {
			s := &stage{name: name}
			r.stages = append(r.stages, s)
			return r, s
		}
	}
	r := newRow(title, name)
	m.rows = append(m.rows, r)
	return r, r.stages[0]
}

// fail keeps a failure once: a check and the stage it belongs to may both tell it.
func (m *model) fail(r reason.Reason) {
	if !has(m.failures, r) {
		m.failures = append(m.failures, r)
	}
}

func (m *model) note(title, text string, r *reason.Reason) {
	for _, n := range m.notes {
		if n.text == text && (r == nil) == (n.reason == nil) && (r == nil || n.reason.ID == r.ID && n.reason.Text == r.Text) {
			return
		}
	}
	m.notes = append(m.notes, note{title, text, r})
}

func has(list []reason.Reason, r reason.Reason) bool {
	return slices.ContainsFunc(list, func(x reason.Reason) bool { return x.ID == r.ID && x.Text == r.Text })
}

// order of the states by how much they say about a line of several stages.
var order = []event.State{event.Failed, event.Degraded, event.Planned, event.Done, event.Skipped}

// state is the state of the line: running as long as one of its stages is, or is still to come.
func (r *row) state(over bool) event.State {
	begun, open := false, false
	worst := len(order)
	for _, s := range r.stages {
		switch {
		case s.state == event.Running:
			begun, open = true, true
		case s.state == "":
			open = true
		default:
			begun = true
			worst = min(worst, slices.Index(order, s.state))
		}
	}
	switch {
	case !begun:
		return ""
	case worst == 0:
		return event.Failed // nothing comes after a failure
	case open && !over:
		return event.Running
	case worst < len(order):
		return order[worst]
	}
	return event.Running
}

// text is what was found or done on the line.
func (r *row) text(state event.State) string {
	var parts []string
	for _, s := range r.stages {
		t := s.text
		if t == "" && s.reason != nil {
			t = strings.TrimSuffix(clean(s.reason.Text), ".")
		}
		// What failed hides what went well, and what was done hides what was skipped beside it.
		hidden := (state == event.Failed || state == event.Degraded) && s.state != state ||
			s.state == event.Skipped && state != event.Skipped
		if t == "" || hidden || s.state == event.Running || slices.Contains(parts, t) {
			continue
		}
		parts = append(parts, t)
	}
	return strings.Join(parts, ", ")
}

// running is the stage that is at work, or nil.
func (r *row) running() *stage {
	for _, s := range r.stages {
		if s.state == event.Running {
			return s
		}
	}
	return nil
}

func (r *row) took() time.Duration {
	var d time.Duration
	for _, s := range r.stages {
		d += s.took
	}
	return d
}
