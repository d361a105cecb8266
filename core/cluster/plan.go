package cluster

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// Action is what has to happen to the node.
type Action string

// The actions.
const (
	Nothing Action = "nothing"
	Create  Action = "create"
	Start   Action = "start"
	Restart Action = "restart" // stop, bring its files up to date, start
	Replace Action = "replace" // a new container with the old one's volumes
)

// Plan is how to get from a state to a specification.
type Plan struct {
	Spec   Spec
	State  State
	Action Action
	// Settings are those the node will have: wanted ones, except where an existing cluster's are kept.
	Settings Settings
	Changes  []event.Change
	// Differences are fields in which the cluster stays as it is although it is wanted differently.
	Differences []Difference
	// Degraded is the reason to tell (cluster.drift) while the cluster is used as it is; nil without one.
	Degraded *reason.Reason

	files    string // hash of the files that are wanted
	tryStart bool   // start the old node before it is replaced: its port only seems taken
}

// Plan decides what to do. It changes nothing. Its errors have the reasons cluster.foreign, cluster.differs
// (what the user asked for needs a rebuild and no consent was given), machine.ports, cluster.no-subnet or
// usage.value.
func (m *Manager) Plan(st State, spec Spec) (Plan, error) {
	if err := CheckName(spec.Cluster); err != nil {
		return Plan{}, err
	}
	if len(st.Foreign) > 0 {
		f := st.Foreign[0]
		return Plan{}, reason.Fail(reason.New(reason.ClusterForeign, "kind", f.Kind, "name", f.Name), nil)
	}
	p := Plan{Spec: spec, State: st, Settings: Settings{Image: spec.Image, DataDir: spec.DataDir, Args: spec.server(),
		Devices: spec.devices(), Layout: layoutHash()}}
	var err error
	switch st.Phase {
	case Absent, Partial, Unfinished:
		err = m.planNew(&p)
	default:
		err = m.planExisting(&p)
	}
	if err != nil {
		return Plan{}, err
	}
	_, p.files, err = spec.Files.render(NamesOf(spec.Cluster).Node, p.Settings.Subnet)
	if err != nil {
		return Plan{}, err
	}
	if p.files != st.files && (p.Action == Nothing || p.Action == Start) {
		if p.Action == Nothing {
			p.Action = Restart
		}
		p.Changes = []event.Change{{Action: event.Update, Kind: "node", Name: st.Node.Name, Detail: "registries, proxy or certificates changed; it restarts"}}
	}
	return p, nil
}

// planNew plans a node where there is none that could be kept.
func (m *Manager) planNew(p *Plan) (err error) {
	if p.Settings.Port, err = m.port(p.Spec.Ports, nil); err != nil {
		return err
	}
	if err = m.planNetwork(p); err != nil {
		return err
	}
	p.Action = Create
	if p.State.Phase == Unfinished {
		p.Action = Replace
		p.Changes = append(p.Changes, event.Change{Action: event.Replace, Kind: "node", Name: p.State.Node.Name, Detail: "an earlier run did not finish it"})
	} else {
		p.Changes = append(p.Changes, event.Change{Action: event.Create, Kind: "node", Name: NamesOf(p.Spec.Cluster).Node,
			Detail: p.Settings.Image + ", API on 127.0.0.1:" + strconv.Itoa(int(p.Settings.Port))})
	}
	return nil
}

// planNetwork chooses the subnet and lists what the node needs around it and lacks.
func (m *Manager) planNetwork(p *Plan) (err error) {
	names := NamesOf(p.Spec.Cluster)
	n := p.State.Network
	keep := n.ID != "" && len(n.Subnets) > 0 && (!p.Spec.Asked[FieldSubnet] || n.Subnets[0] == p.Spec.Subnet)
	if keep {
		p.Settings.Subnet = n.Subnets[0]
	} else {
		asked := p.Spec.Subnet
		if p.Settings.Subnet, err = m.subnet(p.State, asked, nil); err != nil {
			return err
		}
		a := event.Create
		if n.ID != "" {
			a = event.Replace
		}
		p.Changes = append(p.Changes, event.Change{Action: a, Kind: "network", Name: names.Network, Detail: p.Settings.Subnet.String()})
	}
	for _, v := range names.volumes() {
		if !slices.Contains(p.State.Volumes, v) {
			p.Changes = append(p.Changes, event.Change{Action: event.Create, Kind: "volume", Name: v})
		}
	}
	return nil
}

// planExisting plans for a node that was finished.
func (m *Manager) planExisting(p *Plan) error {
	st := p.State
	diffs := compare(st.Settings, p.Settings, p.Spec)
	asked := slices.ContainsFunc(diffs, func(d Difference) bool { return d.Asked })
	switch {
	case p.Spec.Recreate:
		return m.planReplace(p, diffs, "as asked")
	case asked:
		return m.refuse(p, diffs)
	}
	wanted := p.Settings
	p.Settings, p.Differences = st.Settings, diffs
	if len(diffs) > 0 {
		r := drift(st.Cluster, diffs)
		p.Degraded = &r
	}
	switch st.Phase {
	case Running:
		p.Action = Nothing
		return nil
	case Crashed:
		p.Action = Restart
		p.Changes = []event.Change{{Action: event.Start, Kind: "node", Name: st.Node.Name, Detail: "it keeps ending by itself"}}
		return nil
	}
	// A stopped node loses nothing but its name for a moment when it is made anew, so it is, where it could not
	// start as it is. Everything else stays as it was created.
	why := ""
	switch {
	case !st.attached:
		why = "its network is gone"
	case m.Host.Listen("127.0.0.1:"+strconv.Itoa(int(st.Settings.Port))) != nil:
		if p.Spec.Asked[FieldPort] && p.Spec.Ports.First == p.Spec.Ports.Last {
			return reason.Fail(reason.New(reason.MachinePorts, "range", p.Spec.Ports.String()), nil)
		}
		p.tryStart = true
		why = "another program uses its port " + strconv.Itoa(int(st.Settings.Port))
	}
	if why == "" {
		p.Action = Start
		p.Changes = []event.Change{{Action: event.Start, Kind: "node", Name: st.Node.Name}}
		return nil
	}
	p.Settings.Layout = wanted.Layout
	p.Settings.Port = 0
	p.Spec.Devices, p.Spec.Requests, p.Spec.Groups = st.node.Devices, st.node.Requests, st.node.Groups
	return m.rebuild(p, why)
}

// planReplace plans a rebuild to which the user agreed.
func (m *Manager) planReplace(p *Plan, diffs []Difference, why string) error {
	st := p.State
	if older(p.Settings.Image, st.Settings.Image) && !p.Spec.Asked[FieldImage] {
		// Kubernetes does not read a newer version's database. Going back takes an explicit image.
		p.Settings.Image = st.Settings.Image
		i := slices.IndexFunc(diffs, func(d Difference) bool { return d.Field == FieldImage })
		p.Differences = diffs[i : i+1]
		r := drift(st.Cluster, p.Differences)
		p.Degraded = &r
	}
	// The port is kept where it may be: other programs know it.
	if p.Spec.Ports.Has(st.Settings.Port) {
		p.Settings.Port = st.Settings.Port
	}
	if len(diffs) > 0 {
		why = list(diffs, func(d Difference) string { return string(d.Field) })
	}
	return m.rebuild(p, why)
}

func (m *Manager) rebuild(p *Plan, why string) (err error) {
	if p.Settings.Port == 0 {
		if p.Settings.Port, err = m.port(p.Spec.Ports, nil); err != nil {
			return err
		}
	}
	if err = m.planNetwork(p); err != nil {
		return err
	}
	p.Action = Replace
	p.Changes = append(p.Changes, event.Change{Action: event.Replace, Kind: "node", Name: p.State.Node.Name, Detail: why + "; its data stays"})
	return nil
}

func (m *Manager) refuse(p *Plan, diffs []Difference) error {
	var asked []Difference
	for _, d := range diffs {
		if d.Asked {
			asked = append(asked, d)
		}
	}
	return reason.Fail(reason.New(reason.ClusterDiffers, "cluster", p.State.Cluster,
		"have", list(asked, func(d Difference) string { return inWords(d.Field) + " " + d.Have }),
		"want", list(asked, func(d Difference) string { return inWords(d.Field) + " " + d.Want }),
		"flags", strings.Join(flags(asked), " ")), nil)
}

func drift(cluster string, diffs []Difference) reason.Reason {
	return reason.New(reason.ClusterDrift, "cluster", cluster,
		"have", list(diffs, func(d Difference) string { return inWords(d.Field) + " " + d.Have }),
		"want", list(diffs, func(d Difference) string { return inWords(d.Field) + " " + d.Want }))
}

// compare lists where a node differs from what is wanted. Ports and subnets differ only from explicit ones:
// a default is a choice among many, and the node's was one of them.
func compare(have, want Settings, spec Spec) []Difference {
	var out []Difference
	add := func(f Field, h, w, flag string) {
		if h != w {
			out = append(out, Difference{Field: f, Have: orNone(h), Want: orNone(w), Asked: spec.Asked[f], Flag: flag})
		}
	}
	add(FieldImage, have.Image, want.Image, "--node-image "+want.Image)
	add(FieldData, have.DataDir, want.DataDir, "--data-dir "+want.DataDir)
	if spec.Asked[FieldPort] && !spec.Ports.Has(have.Port) {
		add(FieldPort, strconv.Itoa(int(have.Port)), spec.Ports.String(), "--api-port "+spec.Ports.String())
	}
	if spec.Asked[FieldSubnet] && spec.Subnet.IsValid() && have.Subnet.IsValid() {
		add(FieldSubnet, have.Subnet.String(), spec.Subnet.String(), "--subnet "+spec.Subnet.String())
	}
	add(FieldDevices, have.Devices, want.Devices, "")
	if !slices.Equal(have.Args, want.Args) {
		add(FieldArgs, strings.Join(without(have.Args, want.Args), " "), strings.Join(without(want.Args, have.Args), " "), "")
	}
	add(FieldLayout, have.Layout, want.Layout, "")
	return out
}

// without is what is in a and not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// inWords is a field in the user's words.
func inWords(f Field) string {
	switch f {
	case FieldData:
		return "the data directory"
	case FieldPort:
		return "the API port"
	case FieldArgs:
		return "the arguments"
	case FieldLayout:
		return "the container layout"
	}
	return "the " + string(f)
}

func list(diffs []Difference, f func(Difference) string) string {
	var out []string
	for _, d := range diffs {
		out = append(out, f(d))
	}
	return strings.Join(out, " and ")
}

func flags(diffs []Difference) []string {
	var out []string
	for _, d := range diffs {
		if d.Flag != "" {
			out = append(out, d.Flag)
		}
	}
	return out
}

var version = regexp.MustCompile(`:v(\d+)\.(\d+)\.(\d+)(?:-k3s(\d+))?`)

// older reports whether image a has an older Kubernetes than b, as far as their tags tell.
func older(a, b string) bool {
	va, vb := version.FindStringSubmatch(a), version.FindStringSubmatch(b)
	if va == nil || vb == nil {
		return false
	}
	for i := 1; i < len(va); i++ {
		x, _ := strconv.Atoi(va[i])
		y, _ := strconv.Atoi(vb[i])
		if x != y {
			return x < y
		}
	}
	return false
}
