package hookhost

import (
	"cmp"
	"time"
)

// Limits are the numbers that a hook is held to. A zero field means its default. The parent tells them to the child.
type Limits struct {
	// Run is how long one request may take; Kill is when the child ends itself, for some things that a module can do are
	// not interrupted by the interpreter, such as recursion. Both are times of work, as long as a busy machine gives
	// the child less of it than time passes; but nothing takes longer than Stretch times as much. That is when the
	// parent, which does not rely on the child, ends it.
	Run, Kill time.Duration
	Stretch   int
	// Start is how long a child may take to start, which no hook has a part in: on Windows, a virus scanner may.
	Start time.Duration
	// Decode is how long decoding the module may take, which happens once for all requests: this much, DecodeMiB more
	// for every MiB of the module, and never more than DecodeMax. A Go module of 3.3 MiB takes a quarter of a second on
	// two busy cores; this leaves a slow machine thirty times that.
	Decode, DecodeMiB, DecodeMax time.Duration
	// Pages is how much memory the module may have, in pages of 64 KiB. Process is how many bytes the whole child may
	// need: the interpreter's form of the code, and the memory three to four times, as it is copied when it grows.
	Pages   uint32
	Process uint64
	// Output is the most bytes of an answer, Log of what is kept of the standard error, and Request of a request.
	Output, Log, Request int
}

// withDefaults fills in what is not set.
func (l Limits) withDefaults() Limits {
	return Limits{
		Run:       cmp.Or(l.Run, 2*time.Second),
		Kill:      cmp.Or(l.Kill, 2500*time.Millisecond),
		Stretch:   cmp.Or(l.Stretch, 4),
		Start:     cmp.Or(l.Start, 10*time.Second),
		Decode:    cmp.Or(l.Decode, 2500*time.Millisecond),
		DecodeMiB: cmp.Or(l.DecodeMiB, 2*time.Second),
		DecodeMax: cmp.Or(l.DecodeMax, 10*time.Second),
		Pages:     cmp.Or(l.Pages, 1024),
		Process:   cmp.Or(l.Process, 400<<20),
		Output:    cmp.Or(l.Output, 1<<20),
		Log:       cmp.Or(l.Log, 16<<10),
		Request:   cmp.Or(l.Request, 8<<20),
	}
}

// decode is the time that a module of so many bytes has to be decoded.
func (l Limits) decode(size int) time.Duration {
	return min(l.Decode+time.Duration(size>>20)*l.DecodeMiB, l.DecodeMax)
}

// Limits of the static check. Real hooks are far below: a Go module with encoding/json has 4,000 functions, a table of
// 6,000 and 37,000 data segments, and its largest function is 29 KiB.
const (
	maxModule    = 16 << 20
	maxItems     = 200_000 // of any section, and of all element segments together
	maxBody      = 1 << 20 // bytes of one function
	maxLocals    = 50_000  // of one function
	maxAllLocals = 500_000 // of all functions
	maxTable     = 100_000
	maxPages     = 1024
	maxParams    = 1000
	maxManifest  = 64 << 10
	maxManifests = 64
)

// Limits of what a response may carry, where the protocol has no number of its own.
const (
	maxText  = 1000 // bytes of one string
	maxList  = 256
	maxEntry = 64 // entries of a map
)

// maxChildren is how many children live at once. One that is idle ends when another module needs one.
const maxChildren = 4
