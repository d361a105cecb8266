package report

import (
	"strings"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
	"rigup.dev/rigup/hooks/sdk"
)

// HookList is what `rigup hooks list` and `rigup hooks info` tell.
type HookList struct {
	Dir      string          `json:"dir" jsonschema:"the folder of hooks"`
	Hooks    []Hook          `json:"hooks"`
	Problems []reason.Reason `json:"problems,omitempty"`
}

// Hook is one hook of this machine, or a file that should have been one. What is not known is left empty.
type Hook struct {
	ID        string     `json:"id,omitempty"`
	Version   string     `json:"version,omitempty"`
	Title     string     `json:"title,omitempty"`
	Publisher string     `json:"publisher,omitempty"`
	Homepage  string     `json:"homepage,omitempty"`
	Kinds     []sdk.Kind `json:"kinds,omitempty" jsonschema:"environment, gpu or both"`
	State     string     `json:"state" jsonschema:"built-in, approved, disabled, overridden, pending, update, changed, copy, missing or broken"`
	Used      bool       `json:"used"`
	File      string     `json:"file,omitempty" jsonschema:"its name in the folder; empty for a built-in hook"`
	Size      int64      `json:"size,omitempty" jsonschema:"bytes"`
	Digest    string     `json:"digest,omitempty" jsonschema:"sha256:..."`
	// Key is the publisher's key that its signature was made with; nil when nobody vouches for it.
	Key      *HookKey  `json:"key,omitempty"`
	Unsigned bool      `json:"unsigned,omitempty"`
	Source   string    `json:"source,omitempty" jsonschema:"where the approved file came from"`
	Approved string    `json:"approved,omitempty" jsonschema:"when, RFC 3339"`
	By       string    `json:"by,omitempty" jsonschema:"who approved it"`
	Match    sdk.Match `json:"match,omitzero"`
	// Asks is what the file asks for, May what it was granted. Words are those of them that count, in plain words.
	Asks    sdk.Permissions  `json:"asks,omitzero"`
	May     *sdk.Permissions `json:"may,omitempty"`
	Words   []string         `json:"words,omitempty"`
	Changes []string         `json:"changes,omitempty" jsonschema:"what an update changes"`
	Problem *reason.Reason   `json:"problem,omitempty" jsonschema:"why it is not used, and what to do"`
}

// HookKey is a publisher's minisign public key.
type HookKey struct {
	ID     string `json:"id" jsonschema:"as minisign writes it"`
	Public string `json:"public" jsonschema:"base64"`
	From   string `json:"from" jsonschema:"given on the command line, trusted (in the folder of keys), or beside the hook"`
}

// HookChange is what a command did about a hook.
type HookChange struct {
	Action  string   `json:"action" jsonschema:"add, approve, remove, enable or disable"`
	Changed bool     `json:"changed" jsonschema:"false when all was as asked before"`
	Hook    *Hook    `json:"hook,omitempty" jsonschema:"as it is now"`
	Text    []string `json:"text" jsonschema:"what was done, in sentences"`
	Files   []string `json:"files,omitempty" jsonschema:"files that were removed from the folder"`
}

// Render returns what was done.
func (c HookChange) Render(o Options) string {
	p := hookPage(o)
	for _, t := range c.Text {
		p.hang("", clean(t))
	}
	return p.string()
}

// HookApproval is what a person is shown who has to approve a hook.
type HookApproval struct {
	Hook      Hook
	Questions []string // why a person has to decide
	More      []string // what it asks for beyond what is approved, in plain words; only for an update
}

// Render returns everything that the decision is about.
func (a HookApproval) Render(o Options) string {
	p := hookPage(o)
	p.head(bold, a.Hook.name(), "wants to be used by rigup.")
	for _, q := range a.Questions {
		p.hang("  ", clean(q))
	}
	p.gap()
	a.Hook.identity(p)
	a.Hook.runs(p)
	for i, w := range a.More {
		p.item(label("New", i), "It wants to "+clean(w)+".")
	}
	if len(a.More) == 0 {
		a.Hook.permissions(p)
	}
	p.gap()
	return p.string()
}

func hookPage(o Options) *page {
	return &page{width: min(o.width(), maxText), st: style(o.Color), label: longLabels + 1}
}

func (p *page) string() string { return strings.Join(p.lines, "\n") + "\n" }

// label is the label of the first line of several.
func label(s string, i int) string {
	if i > 0 {
		return ""
	}
	return s
}

func (h Hook) name() string {
	return clean(strings.TrimSpace(or(h.ID, h.File) + " " + h.Version))
}

// RenderList returns all hooks, one or two lines each, and what to do next.
func (l HookList) RenderList(o Options) string {
	p := hookPage(o)
	names, kinds := 0, 0
	for _, h := range l.Hooks {
		names, kinds = max(names, columns(h.short())), max(kinds, columns(h.kinds()))
	}
	for _, h := range l.Hooks {
		h.row(p, names, kinds)
	}
	if len(l.Hooks) == 0 {
		p.text("There are no hooks.")
	}
	l.problems(p)
	p.gap()
	p.hang("", "Hooks of others: rigup hooks add FILE, or put NAME.wasm into "+clean(l.Dir)+".")
	return p.string()
}

func (l HookList) problems(p *page) {
	for _, r := range l.Problems {
		p.gap()
		p.reason(r)
	}
}

// short is the name in a list, where a long one must not push everything else away.
func (h Hook) short() string { return clip(h.name(), 30) }

func (h Hook) kinds() string {
	var out []string
	for _, k := range h.Kinds {
		out = append(out, clean(string(k)))
	}
	return strings.Join(out, ", ")
}

// row is a hook in the list.
func (h Hook) row(p *page, names, kinds int) {
	const narrow = 40
	sign, color := h.mark()
	prefix := "  " + p.st.paint(color, sign) + "  "
	indent := 6
	if rest := p.width - 6 - names - kinds - 4; rest < narrow {
		p.text(prefix + strings.TrimRight(pad(h.short(), names)+"  "+h.kinds(), " "))
		prefix = strings.Repeat(" ", indent)
	} else {
		prefix += pad(h.short(), names) + "  " + pad(h.kinds(), kinds) + "  "
		indent += names + kinds + 4
	}
	p.hang(prefix, h.line())
	if h.Problem == nil || len(h.Problem.Remedy) == 0 {
		return
	}
	defer func(n int) { p.label = n }(p.label)
	p.label = indent - 2
	p.remedy("", clean(h.Problem.Remedy[0]))
}

func (h Hook) mark() (sign, color string) {
	switch {
	case h.Used:
		return "ok", green
	case h.State == "changed" || h.State == "missing" || h.State == "broken":
		return "!!", red
	case h.State == "disabled" || h.State == "overridden":
		return "--", dim
	}
	return " !", yellow
}

// line is who made it and what its state is. A problem that the state does not say stands in its place.
func (h Hook) line() string {
	s := list(h.Publisher, h.vouched(), h.state())
	if h.Problem == nil {
		return s
	}
	switch h.Problem.ID {
	case reason.HookPending, reason.HookMissing, reason.HookUnsigned, reason.HookChanged:
		return s
	}
	if h.State == "broken" || h.State == "copy" {
		return clean(h.Problem.Text)
	}
	return s + ". " + clean(h.Problem.Text)
}

func (h Hook) vouched() string {
	if h.Unsigned {
		return "unsigned"
	}
	return ""
}

func (h Hook) state() string {
	s, ok := map[string]string{
		"built-in": "built in", "disabled": "switched off", "overridden": "replaced by an approved hook of this id",
		"pending": "waits for approval", "update": "an update that waits for approval", "changed": "changed since its approval, so not used",
		"copy": "not used", "missing": "its file is gone", "broken": "not used",
	}[h.State]
	if !ok {
		return clean(h.State)
	}
	return s
}

// RenderInfo returns everything about the hooks of the list.
func (l HookList) RenderInfo(o Options) string {
	p := hookPage(o)
	for _, h := range l.Hooks {
		p.gap()
		h.info(p)
	}
	l.problems(p)
	return p.string()
}

func (h Hook) info(p *page) {
	color := green
	if !h.Used {
		color = yellow
	}
	p.head(color, h.name()+": "+h.state()+".")
	p.gap()
	h.identity(p)
	if h.Approved != "" {
		at, _, _ := strings.Cut(h.Approved, "T")
		p.item("Approved", list(at, prefixed("by ", h.By)))
	}
	h.runs(p)
	h.permissions(p)
	for i, c := range h.Changes {
		p.item(label("Changes", i), clean(c))
	}
	if h.Problem != nil {
		p.gap()
		p.reason(*h.Problem)
	}
}

// subjects are what the hook decides about.
func (h Hook) subjects() string {
	var out []string
	for _, k := range h.Kinds {
		switch k {
		case sdk.GPUHook:
			out = append(out, "GPUs")
		case sdk.EnvironmentHook:
			out = append(out, "the engine's surroundings")
		}
	}
	return strings.Join(out, " and ")
}

// identity is what the hook is and who vouches for it.
func (h Hook) identity(p *page) {
	p.item("Title", clean(h.Title))
	p.item("Publisher", list(h.Publisher, h.Homepage))
	switch {
	case h.Unsigned:
		p.item("Signed", "no: nobody vouches for it")
	case h.Key != nil:
		p.item("Signed", "with key "+clean(h.Key.ID)+", which "+keyFrom(h.Key.From))
		p.exact("", clean(h.Key.Public))
	}
	p.item("Kind", h.kinds())
	if h.File != "" {
		p.item("File", list(h.File, size(h.Size)))
	}
	p.item("Source", source(h.Source))
	if h.Digest != "" {
		p.exact("Digest", clean(h.Digest))
	}
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return units.Size(n)
}

func keyFrom(from string) string {
	return or(map[string]string{
		"given":   "was given on the command line",
		"trusted": "is in the folder of trusted keys",
		"beside":  "came together with the hook: only who serves the hook vouches for it",
		"pinned":  "is that of the approved version",
	}[from], clean(from))
}

func source(s string) string {
	if s == "folder" {
		return "was put into the folder"
	}
	return clean(s)
}

// runs says on which machines the hook is asked.
func (h Hook) runs(p *page) {
	if h.ID == "" || h.State == "missing" {
		return
	}
	m := h.Match
	var where []string
	if len(m.OS) > 0 {
		where = append(where, "systems: "+strings.Join(m.OS, ", "))
	}
	var gpu []string
	if len(m.PCI) > 0 {
		gpu = append(gpu, "PCI devices of vendor "+strings.Join(m.PCI, ", "))
	}
	if len(m.Devices) > 0 {
		gpu = append(gpu, "device nodes "+strings.Join(m.Devices, ", "))
	}
	if len(gpu) > 0 {
		where = append(where, "with "+strings.Join(gpu, " or "))
	}
	if len(m.Engines) > 0 {
		where = append(where, "engines: "+strings.Join(m.Engines, ", "))
	}
	p.item("Asked on", or(clean(strings.Join(where, "; ")), "every machine"))
}

// permissions says in plain words what the hook may do.
func (h Hook) permissions(p *page) {
	what := "May"
	if h.May == nil {
		what = "Wants to"
	}
	for i, w := range h.Words {
		p.item(label(what, i), clean(w))
	}
	if len(h.Words) == 0 && h.ID != "" && h.State != "missing" {
		p.item(what, "decide about "+h.subjects()+", and nothing else")
	}
}
