package hookhost

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
)

// world is what a module sees instead of the machine: the same for the same module and the same request, on every
// platform (H5).
type world struct {
	now    int64 // nanoseconds since the world began
	random *rand.ChaCha8
}

// began is when every module runs: the first second of the year 2000, UTC.
const began = 946684800

// tick is how far each look at the clock moves it. A clock that stands still keeps programs waiting forever.
const tick = 1_000_000

func newWorld(module [sha256.Size]byte, request []byte) *world {
	h := sha256.New()
	sum := sha256.Sum256(request)
	h.Write(module[:])
	h.Write(sum[:])
	return &world{random: rand.NewChaCha8([32]byte(h.Sum(nil)))}
}

func (w *world) nanotime() int64 {
	w.now += tick
	return w.now
}

func (w *world) walltime() (sec int64, nsec int32) {
	t := w.nanotime()
	return began + t/1e9, int32(t % 1e9)
}

// sleep moves the clock and does not wait.
func (w *world) sleep(ns int64) {
	const most = 1 << 60
	w.now = min(w.now+min(max(ns, 0), most), most)
}

var errFull = errors.New("no more is taken")

// output is the standard output of a module. It ends the module when it writes too much: one that does not look at
// the error would go on until its time is up, and a writer that swallowed would let one call write for minutes.
type output struct {
	bytes.Buffer
	max     int
	flooded bool
	stop    func()
}

func (o *output) Write(p []byte) (int, error) {
	if o.Len()+len(p) > o.max {
		o.flooded = true
		o.stop()
		return 0, errFull
	}
	return o.Buffer.Write(p)
}

// journal is the standard error of a module: it keeps the beginning, drops what follows, and ends a module that
// writes far too much.
type journal struct {
	output
	written int
}

// maxDropped is how much a module may write to its standard error.
const maxDropped = 1 << 20

func (j *journal) Write(p []byte) (int, error) {
	if j.written += len(p); j.written > maxDropped {
		j.flooded = true
		j.stop()
		return 0, errFull
	}
	j.Buffer.Write(p[:min(len(p), j.max-j.Len())])
	return len(p), nil
}
