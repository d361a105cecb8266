package report

import (
	"fmt"
	"strings"
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
)

const maxText = 100 // columns; longer lines are hard to read

// interrupted reports whether the run was stopped from outside.
func (m *model) interrupted() bool {
	return m.result != nil && (exit(m.result) == reason.ExitInterrupted ||
		m.result.Reason != nil && m.result.Reason.ID == reason.Interrupted)
}

func exit(e *event.Event) int {
	if e.Exit == nil {
		return reason.ExitOK
	}
	return *e.Exit
}

// nothingToDo reports whether the run found everything as asked.
func (m *model) nothingToDo() bool {
	return m.result != nil && exit(m.result) == reason.ExitOK && m.run.Command == "install" &&
		m.result.Result != nil && !m.result.Result.Changed && m.short() == ""
}

// summary is the last screen: does it work, in which mode, what next, does it survive a restart.
func (m *model) summary(now time.Time, width int, st style) []string {
	p := page{width: min(width, maxText), st: st, label: shortLabels}
	e := m.result
	res := event.Result{}
	if e.Result != nil {
		res = *e.Result
	}
	switch {
	case m.interrupted():
		m.stopped(&p, "Interrupted")
	case exit(e) != reason.ExitOK:
		m.stopped(&p, "Stopped")
		m.explanation(&p)
	case m.run.Command == "plan":
		m.plan(&p)
		m.explanation(&p)
	case m.run.Command == "uninstall":
		m.removed(&p, res)
		return p.lines
	case m.nothingToDo():
		m.upToDate(&p, res, now)
		m.warnings(&p)
		return p.lines
	default:
		m.ready(&p, res)
	}
	if res.Log != "" && exit(e) != reason.ExitOK {
		p.gap()
		p.item("Log", clean(res.Log))
	}
	return p.lines
}

// quietMode reports whether a run without GPU is as it should be: nothing to explain, or the owner's choice.
func quietMode(r *reason.Reason) bool {
	return r == nil || len(r.Remedy) == 0 || r.ID == reason.GPUOff
}

// modeLine says the mode in a sentence, and whether a block has to explain it.
func modeLine(mode string, why *reason.Reason) (line string, block bool) {
	switch {
	case mode == "gpu":
		return "GPU ready.", false
	case why == nil:
		return "Ready on CPU.", false
	case quietMode(why):
		return "Ready on CPU: " + lower(clean(why.Text)), false
	case strings.HasPrefix(string(why.ID), "gpu.") && why.ID != reason.GPUUnknown, !reason.Listed(why.ID): // or a hook knows it
		return "Ready on CPU. This machine has a GPU that is not in use.", true
	}
	return "Ready on CPU.", true
}

func (m *model) ready(p *page, res event.Result) {
	line, block := modeLine(m.result.Mode, m.result.Reason)
	if short := m.short(); short != "" {
		mode := "CPU"
		if m.result.Mode == "gpu" {
			mode = "GPU"
		}
		p.head(yellow, "The cluster runs on "+mode+", but it is not all there yet: see "+short+".", clean(m.result.Text))
	} else {
		p.head(green, line, clean(m.result.Text))
	}
	if block {
		p.gap()
		p.reason(*m.result.Reason)
	}
	m.warnings(p)
	p.gap()
	p.label = longLabels
	p.next(m.run.Cluster, res.Context, res.Namespace)
	p.item("Data", clean(res.DataDir))
	p.item("Restart", clean(res.Restart))
}

// short names the first line that is not as it should be. The lines about the GPU do not count: the mode and
// its reason say that.
func (m *model) short() string {
	for _, r := range m.rows {
		for _, s := range r.stages {
			gpu := s.name == "decide" || s.name == "prove" || s.name == "verify" ||
				s.reason != nil && m.result.Reason != nil && s.reason.ID == m.result.Reason.ID
			if s.state == event.Degraded && !gpu {
				return r.title
			}
		}
	}
	return ""
}

func (m *model) upToDate(p *page, res event.Result, now time.Time) {
	parts := []string{}
	if since, err := time.Parse(time.RFC3339, res.Since); err == nil {
		parts = append(parts, "cluster running since "+units.Age(now.Sub(since)))
	} else {
		parts = append(parts, "cluster running")
	}
	_, block := modeLine(m.result.Mode, m.result.Reason)
	switch {
	case m.result.Mode == "gpu":
		parts = append(parts, "GPU ready")
	case m.result.Reason == nil:
		parts = append(parts, "CPU")
	case block:
		parts = append(parts, "CPU (the GPU is not in use)")
	default:
		parts = append(parts, "CPU ("+strings.TrimSuffix(lower(clean(m.result.Reason.Text)), ".")+")")
	}
	if res.Chart != "" {
		parts = append(parts, "workload "+clean(res.Chart))
	}
	p.head(green, "rigup is up to date:", strings.Join(parts, ", ")+". Checked in "+units.Duration(now.Sub(m.begun))+".")
	if block {
		p.gap()
		p.reason(*m.result.Reason)
	}
}

func (m *model) plan(p *page) {
	if len(m.changes) == 0 {
		p.head(green, "Nothing to do:", "the machine is as asked.")
		m.why(p)
		m.warnings(p)
		return
	}
	for _, r := range m.rows {
		first := true
		for _, c := range m.changes {
			if c.row != r {
				continue
			}
			if first {
				p.text(r.title)
				first = false
			}
			what := clean(c.Kind + " " + c.Name)
			if c.Detail != "" {
				what += ": " + clean(c.Detail)
			}
			p.hang("  "+pad(would(c.Action), 15), what)
		}
	}
	p.gap()
	noun := "changes"
	if len(m.changes) == 1 {
		noun = "change"
	}
	p.head(bold, fmt.Sprintf("%d %s.", len(m.changes), noun), "Nothing was done yet. To do it: "+command("install", m.run.Cluster))
	m.why(p)
	m.warnings(p)
}

// why says for which reason a planned cluster does without a GPU.
func (m *model) why(p *page) {
	r := m.result.Reason
	switch {
	case r == nil || m.result.Mode == "gpu":
	case quietMode(r):
		p.hang("", "The cluster will run on the CPU: "+lower(clean(r.Text)))
	default:
		p.gap()
		p.reason(*r)
	}
}

func would(a event.Action) string {
	if a == event.Keep {
		return "would keep"
	}
	return "would " + string(a)
}

func (m *model) removed(p *page, res event.Result) {
	name := m.run.Cluster
	if !res.Changed {
		p.head(green, "Nothing to do:", "there is no cluster "+clean(name)+" on this engine.")
	} else {
		p.head(green, "Cluster "+clean(name)+" is removed.")
	}
	m.warnings(p)
	first := true
	for _, c := range m.changes {
		if c.Action != event.Keep {
			continue
		}
		if first {
			p.gap()
			first = false
		}
		what := clean(c.Kind + " " + c.Name)
		if c.Detail != "" {
			what += ": " + clean(c.Detail)
		}
		p.item("Kept", what)
	}
}

// stopped explains what stands in the way, all of it at once.
func (m *model) stopped(p *page, word string) {
	var why []reason.Reason
	why = append(why, m.failures...)
	if r := m.result.Reason; r != nil && !has(why, *r) {
		// The result's own reason may sum up the failures that were told one by one.
		if len(why) == 0 || r.ID != reason.Internal {
			why = append(why, *r)
		}
	}
	line := word
	for _, r := range m.rows {
		if s := r.state(true); s == event.Failed || s == event.Running {
			line += " at " + r.title
			break
		}
	}
	if len(why) > 1 {
		line += fmt.Sprintf(": %d things stand in the way", len(why))
	}
	p.head(red, line+".", clean(m.result.Text))
	for _, r := range why {
		p.gap()
		p.reason(r)
	}
	m.warnings(p)
}

// warnings shows what stopped nothing, after what matters more.
func (m *model) warnings(p *page) {
	told := m.failures
	if m.result.Reason != nil {
		told = append(told[:len(told):len(told)], *m.result.Reason)
	}
	for _, n := range m.notes {
		if n.reason != nil && has(told, *n.reason) {
			continue
		}
		p.gap()
		if n.reason == nil {
			p.item("Note", n.text)
			continue
		}
		p.reasonAs("Note", *n.reason)
	}
}

// Problems renders reasons that end a command which has no run to show.
func Problems(o Options, why ...reason.Reason) string {
	p := page{width: min(o.width(), maxText), st: style(o.Color), label: shortLabels}
	for _, r := range why {
		p.gap()
		p.reason(r)
	}
	return strings.Join(p.lines, "\n") + "\n"
}

// command is a command line for the cluster.
func command(name, cluster string) string {
	if cluster == "" || cluster == DefaultCluster {
		return "rigup " + name
	}
	return "rigup " + name + " --cluster " + clean(cluster)
}

// DefaultCluster is the cluster that a command means when none is named.
const DefaultCluster = "rigup"
