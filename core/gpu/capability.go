// Package gpu holds the one value that says whether pods in this cluster can have a GPU.
package gpu

import "rigup.dev/rigup/core/reason"

// Capability is the proven ability of a cluster to run GPU pods. It is opaque: only the prove stage makes
// one that is available, and every later stage can only take it away (invariants G1, G2).
//
// Until the prove stage exists there is no constructor for an available one. The zero value is not
// available either, and says that nothing was checked.
type Capability struct {
	proven *proof
	why    reason.Reason
}

// proof is what the prove stage saw. Nothing outside this package can make one.
type proof struct {
	resource string
	count    int
}

// None is the capability of a cluster without GPU, with the reason why.
func None(why reason.Reason) Capability { return Capability{why: why} }

// Available reports whether pods can ask for a GPU.
func (c Capability) Available() bool { return c.proven != nil }

// Request returns the resource name and how many of it pods can ask for; "" and 0 when not available.
func (c Capability) Request() (resource string, count int) {
	if c.proven == nil {
		return "", 0
	}
	return c.proven.resource, c.proven.count
}

// Reason is why the capability is not there. ok is false when it is there: then there is nothing to explain.
func (c Capability) Reason() (why reason.Reason, ok bool) {
	if c.proven != nil {
		return reason.Reason{}, false
	}
	if c.why.ID == "" {
		return reason.New(reason.GPUNotChecked), true
	}
	return c.why, true
}

// Revoke takes the capability away. A capability that is already gone keeps its first reason, so that a
// run without a GPU carries exactly one (G4).
func (c Capability) Revoke(why reason.Reason) Capability {
	if c.proven == nil {
		return c
	}
	return Capability{why: why}
}
