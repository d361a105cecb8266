package report

import (
	"strings"

	"rigup.dev/rigup/core/event"
)

// explanation says which hook said what, and from which facts. A hook's answers stand together, in the order in which
// they were given.
func (m *model) explanation(p *page) {
	if !m.explain || len(m.hooks) == 0 {
		return
	}
	p.gap()
	p.head(bold, "How this was decided")
	last := ""
	for _, h := range m.hooks {
		if name := h.Kind + " " + h.Name; name != last {
			last = name
			p.text("")
			p.hang("  ", clean(h.Kind)+" hook "+clean(h.Name))
			p.hang("    "+pad("matches", answerColumns), or(clean(strings.Join(h.Because, ", ")), "every machine"))
		}
		for _, c := range h.Probes {
			p.hang("    "+pad("", answerColumns), clean(c))
		}
		p.hang("    "+pad(answered(h), answerColumns), clean(why(h)))
		if h.Log != "" {
			for _, l := range cleanLines(h.Log) {
				p.hang("    "+pad("logged", answerColumns), l)
			}
		}
	}
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
