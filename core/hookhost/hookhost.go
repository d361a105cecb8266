// Package hookhost runs hooks: WebAssembly modules that nobody here trusts.
//
// Three layers, each of which has to hold alone: a static check of the module before any engine sees it, a child
// process that can be killed, and an interpreter that offers nothing of the machine (invariants H1, H5).
package hookhost

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

// Module is a module that may run: its bytes, as they were read once and approved.
type Module struct {
	// Name is for messages: the file, or "built in".
	Name  string
	Bytes []byte
	Sum   [sha256.Size]byte
}

// NewModule hashes the bytes of a module.
func NewModule(name string, b []byte) Module { return Module{name, b, sha256.Sum256(b)} }

// Runner asks a hook. The pipeline knows no more of hooks than this.
type Runner interface {
	// Ask gives one request to a module and returns its response, which is well formed and not checked further. The
	// error is a *Failure, or the context's.
	Ask(ctx context.Context, m Module, req sdk.Request) (Answer, error)
	// Close ends every child process.
	Close() error
}

// Answer is what a hook said.
type Answer struct {
	Response sdk.Response
	// Log is what it wrote to its standard error: at most 16 KiB, without control characters.
	Log string
	// Remembered is true when the same module had answered the same request before, so that nothing ran.
	Remembered bool
	Took       time.Duration
}

// Cause says how a hook failed.
type Cause string

// The causes.
const (
	Refused  Cause = "refused"   // the static check, or the interpreter, does not take the module
	TimedOut Cause = "timed out" // it did not end in time
	TooLarge Cause = "memory"    // it needed more memory than it may have
	Crashed  Cause = "crashed"   // it trapped, or ended with another exit code than 0
	Flooded  Cause = "flooded"   // it wrote more than it may
	Garbled  Cause = "garbled"   // it did not answer with one valid document
	Unable   Cause = "host"      // the child process could not do its work; not the hook's fault
)

// Failure is a hook that gave no usable response. It never says anything about the GPU.
type Failure struct {
	Cause Cause
	// Text goes on after "the hook NAME": "did not end within 2 s".
	Text string
	Log  string
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Cause, f.Text) }
