// Package hookstore keeps the hooks that this machine has: which files there are, which of them a person approved,
// and for what.
//
// A folder holds the files, and hooks.lock.json what was approved. Only bytes that are in the lock run (invariant
// H2); approval pins the bytes, the publisher's key and the permissions (H3). Nothing here ever runs a hook: what
// is known of one that was not approved is read out of its file as data.
package hookstore

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"rigup.dev/rigup/core/decision"
	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/hooks/sdk"
)

// Store is the folder of hooks, together with those that come with the program.
type Store struct {
	// Dir is the folder. It need not exist.
	Dir     string
	BuiltIn []BuiltIn
	// Now is the clock, and By the user who approves, both for the lock.
	Now func() time.Time
	By  string

	patience time.Duration // how long another rigup may keep the lock; 0: busyLimit
}

// BuiltIn is a module that comes with the program, and the hooks in it.
type BuiltIn struct {
	Module    hookhost.Module
	Manifests []sdk.Manifest
}

// State says whether a hook is used, and if not, why.
type State string

// The states.
const (
	InProgram  State = "built-in"   // comes with the program, and is used
	Approved   State = "approved"   // and is used
	Disabled   State = "disabled"   // switched off by its id
	Overridden State = "overridden" // built in, but an approved hook has its id
	Pending    State = "pending"    // in the folder, never approved
	Update     State = "update"     // another version of an approved hook
	Changed    State = "changed"    // not the bytes, or not the permissions, that were approved: quarantined
	Copied     State = "copy"       // the same bytes as an approved file
	Missing    State = "missing"    // approved, and its file is gone
	Broken     State = "broken"     // no hook
)

// Hook is one hook of this machine, or a file that should have been one.
type Hook struct {
	ID string // empty when the file does not say
	// File is its name in the folder; empty for one that is built in.
	File     string
	State    State
	Manifest sdk.Manifest
	Size     int64 // of the file, in bytes
	Sum      [sha256.Size]byte
	// Source is where a file came from that waits for approval, as in an Entry.
	Source string
	// Module may run. It is there only for hooks that are used, and were read (List).
	Module hookhost.Module
	// Entry is what the lock says about the id; nil when it says nothing.
	Entry *Entry
	// Signature is who vouches for these bytes; the zero value when nobody does.
	Signature Signature
	// Changes says, for an update, what differs from what was approved. Each is a sentence.
	Changes []string
	// Problem says why it is not used, and what to do.
	Problem *reason.Reason

	load     func() (hookhost.Module, error) // for hooks that are used, and were not read (Glance)
	writable bool                            // by other users
	claims   bool                            // it has a signature, which was not, or not yet, found to be valid
}

// Digest is the hash of the file as people write it: sha256:...
func (h Hook) Digest() string { return digest(h.Sum) }

func digest(sum [sha256.Size]byte) string { return "sha256:" + hex.EncodeToString(sum[:]) }

// BuiltIn reports whether the hook comes with the program.
func (h Hook) BuiltIn() bool { return h.File == "" && h.Entry == nil }

// Unsigned is true for a hook whose publisher nobody vouches for.
func (h Hook) Unsigned() bool {
	return !h.BuiltIn() && h.State != Broken && h.State != Missing && h.Signature.Key == "" && !h.claims
}

// used reports whether the hook may run.
func (h Hook) used() bool { return h.State == InProgram || h.State == Approved }

// View is what the folder and the lock said at one moment.
type View struct {
	Dir string
	// Hooks are in order: built-in ones as the program has them, then by file.
	Hooks []Hook
	// Problems are those of the store as a whole: a damaged lock, a folder that others can write to.
	Problems []reason.Reason
}

// Usable are the hooks that may run: built in or approved, enabled, with the bytes that were approved.
func (v View) Usable() []decision.Hook {
	var out []decision.Hook
	for _, h := range v.Hooks {
		if !h.used() {
			continue
		}
		d := decision.Hook{Manifest: h.Manifest, Grant: h.Manifest.Permissions, Module: h.Module, Load: h.load, BuiltIn: h.BuiltIn(), Unsigned: h.Unsigned()}
		if h.Entry != nil {
			d.Grant = h.Entry.Grant
		}
		out = append(out, d)
	}
	return out
}

// Pending are the hooks that wait for a person: new ones, and updates.
func (v View) Pending() []Hook {
	var out []Hook
	for _, h := range v.Hooks {
		if h.State == Pending && h.Problem != nil && h.Problem.ID == reason.HookDowngrade {
			continue // an older file beside the approved one waits for nothing
		}
		if h.State == Pending || h.State == Update {
			out = append(out, h)
		}
	}
	return out
}

// Notes is what a run should say about hooks that it does not use, though somebody may think so.
func (v View) Notes() []reason.Reason {
	out := append([]reason.Reason(nil), v.Problems...)
	for _, h := range v.Pending() {
		why := *h.Problem
		if why.ID != reason.HookPending { // what stands in the way of an approval is evidence, as long as nobody tries it
			why = reason.New(reason.HookPending, "hook", h.Manifest.ID+" "+h.Manifest.Version, "name", h.File).With(why.Text)
		}
		out = append(out, why)
	}
	for _, h := range v.Hooks {
		if h.State == Changed || h.State == Missing || h.State == Broken {
			out = append(out, *h.Problem)
		}
	}
	return out
}
