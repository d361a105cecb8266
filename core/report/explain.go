package report

import (
	"strings"

	"rigup.dev/rigup/core/event"
)

// explanation says which hook said what, and from which facts: the hooks in the order in which they were first asked,
// and what each said together.
func (m *model) explanation(p *page) {
	if !m.explain || len(m.hooks) == 0 {
		return
	}
	p.gap()
	p.head(bold, "How this was decided")
	var order []string
	said := map[string][]event.Hook{}
	for _, h := range m.hooks {
		title := clean(h.Kind) + " hook " + clean(h.Name)
		if said[title] == nil {
			order = append(order, title)
		}
		said[title] = append(said[title], h)
	}
	for _, title := range order {
		p.text("")
		p.hang("  ", title)
		p.hang("    "+pad("matches", answerColumns), or(clean(strings.Join(said[title][0].Because, ", ")), "every machine"))
		for _, h := range said[title] {
			p.answer(h)
		}
	}
}

// answer is one answer of a hook, with what was checked for it before.
func (p *page) answer(h event.Hook) {
	for _, c := range h.Probes {
		p.hang("    "+pad("", answerColumns), clean(c))
	}
	for _, l := range cleanLines(h.Log) { // before the answer: the results of probes that it asks for come next
		p.hang("    "+pad("logged", answerColumns), l)
	}
	p.hang("    "+pad(answered(h), answerColumns), clean(why(h)))
}

const answerColumns = 14

func answered(h event.Hook) string {
	if h.Failure != "" {
		return "failed"
	}
	return or(map[string]string{
		"decline": "declines", "probes": "has checked", "claim": "recognises", "decision": "decides", "reason": "rules out",
	}[h.Answer], h.Answer)
}

func why(h event.Hook) string {
	switch {
	case h.Failure != "":
		return "it " + h.Failure
	case len(h.Why) > 0:
		return strings.Join(h.Why, "; ")
	case h.Answer == "probes":
		return "what follows"
	}
	return "without saying why"
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}
