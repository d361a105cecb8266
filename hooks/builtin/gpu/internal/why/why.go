// Package why has every reason that the built-in gpu hooks give: its sentence, and what can be done about it in each
// surroundings. A remedy stands only where it can work.
package why

import (
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// ID is a reason's own part of its id; rigup puts the hook's before it.
type ID string

// Hook is a set of hooks. The values are bits.
type Hook uint8

// The built-in gpu hooks.
const (
	NVIDIA Hook = 1 << iota
	AMD
	Intel
)

// vendor is the name for people.
func (h Hook) vendor() string {
	switch h {
	case NVIDIA:
		return "NVIDIA"
	case AMD:
		return "AMD"
	}
	return "Intel"
}

// Where is a set of surroundings: which engine, and whose driver. Of a machine it holds one engine and at most one
// system.
type Where uint16

// The surroundings.
const (
	Native    Where = 1 << iota // Docker Engine as a service of this system
	Snap                        // Docker Engine out of a snap
	Rootless                    // Docker Engine without root rights
	Podman                      // Podman behind its Docker API
	Desktop                     // Docker Desktop on Windows, with WSL2
	Elsewhere                   // any other: in a virtual machine of its own, or on another machine
	Linux                       // the engine's containers use the drivers of this system's kernel
	Windows                     // they use those of Windows, through WSL2
)

// Anywhere is for remedies that need nothing of their surroundings.
const Anywhere Where = 0

const (
	engines = Native | Snap | Rootless | Podman | Desktop | Elsewhere
	systems = Linux | Windows
)

// Has reports whether any of w is in here.
func (w Where) Has(any Where) bool { return w&any != 0 }

// covers reports whether a remedy for w can work here. Without engines or systems it works with each of them.
func (w Where) covers(here Where) bool {
	e, s := w&engines, w&systems
	return (e == 0 || here.Has(e)) && (s == 0 || here.Has(s))
}

// engine is what the engine is called in a sentence.
func (w Where) engine() string {
	switch {
	case w.Has(Native | Snap | Rootless):
		return "Docker"
	case w.Has(Podman):
		return "Podman"
	case w.Has(Desktop):
		return "Docker Desktop"
	}
	return "the engine"
}

// cause is one reason. Names in braces are filled in.
type cause struct {
	hooks Hook
	id    ID
	text  string
	do    []remedy
}

// remedy is something to do, in the surroundings where it can work. One with a name in braces that has no value is
// left out.
type remedy struct {
	where Where
	do    string
}

// Fill are the values of the names in braces. vendor and engine are known without.
type Fill map[string]string

// Give makes a reason for the surroundings.
func Give(h Hook, id ID, here Where, fill Fill, evidence ...string) sdk.Reason {
	c := find(h, id)
	text := filled(c.text, h, here, fill)
	r := sdk.Reason{ID: string(id), Text: strings.ToUpper(text[:1]) + text[1:], Evidence: evidence}
	for _, d := range c.do {
		if !d.where.covers(here) {
			continue
		}
		if do := filled(d.do, h, here, fill); !strings.Contains(do, "{") {
			r.Remedy = append(r.Remedy, do)
		}
	}
	return r
}

func find(h Hook, id ID) cause {
	for _, c := range causes {
		if c.id == id && c.hooks&h != 0 {
			return c
		}
	}
	// The tests hold that code gives only reasons of the list.
	return cause{text: "The {vendor} GPU cannot be used."}
}

func filled(s string, h Hook, here Where, fill Fill) string {
	for from := 0; ; {
		open := strings.IndexByte(s[from:], '{')
		if open < 0 {
			return s
		}
		open += from
		end := strings.IndexByte(s[open:], '}')
		if end < 0 {
			return s
		}
		end += open
		v := fill[s[open+1:end]]
		switch s[open+1 : end] {
		case "vendor":
			v = h.vendor()
		case "engine":
			v = here.engine()
		}
		if v == "" {
			from = end
			continue
		}
		s = s[:open] + v + s[end+1:]
		from = open + len(v)
	}
}

// IDs lists the ids that a hook can give.
func IDs(h Hook) []ID {
	var out []ID
	for _, c := range causes {
		if c.hooks&h != 0 {
			out = append(out, c.id)
		}
	}
	return out
}
