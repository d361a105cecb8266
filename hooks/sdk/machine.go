package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// MachineAPI names the version of the format of machines.
const MachineAPI = "rigup.machine/v1"

// Machine is a machine written down: what rigup observes on it, and what its probes say. Hooks are tested against
// machines; rigup facts --output json writes the one it runs on, without probes.
type Machine struct {
	API   string `json:"api" jsonschema:"rigup.machine/v1"`
	Title string `json:"title" jsonschema:"one line for people"`
	// Notes says where the values come from.
	Notes  string `json:"notes,omitempty"`
	Facts  Facts  `json:"facts"`
	Probes []Case `json:"probes,omitempty"`
}

// Case is what a probe finds on a machine. The ids and the kind of the result do not count: those of the asking
// hook take their place.
type Case struct {
	Probe  Probe       `json:"probe"`
	Result ProbeResult `json:"result"`
}

// DecodeMachine reads a machine strictly: every field known, none twice, nothing after the document.
func DecodeMachine(b []byte) (Machine, error) {
	var m Machine
	if err := DecodeStrict(b, &m); err != nil {
		return m, err
	}
	if m.API != MachineAPI {
		return m, fmt.Errorf("the field api is %q, not %q", m.API, MachineAPI)
	}
	return m, nil
}

// Probe answers a probe with the result of the case that has the same arguments. Others are unknown: the file does
// not say that there is nothing.
func (m Machine) Probe(_ context.Context, p Probe) ProbeResult {
	for _, c := range m.Probes {
		if sameArguments(c.Probe, p) {
			r := c.Result
			r.ID, r.Kind = p.ID, p.Kind
			return r
		}
	}
	return ProbeResult{ID: p.ID, Kind: p.Kind, Status: Unknown, Why: "not in this case"}
}

// sameArguments compares what two probes ask for, whatever they are called. As documents, in which an empty list
// and none are the same.
func sameArguments(a, b Probe) bool {
	a.ID, b.ID = "", ""
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
