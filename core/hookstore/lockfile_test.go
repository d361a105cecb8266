package hookstore

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"rigup.dev/rigup/core/reason"
)

// Many at once: every approval is in the lock in the end.
func TestConcurrentApprovals(t *testing.T) {
	k := newKit(t)
	const n = 12
	var wg sync.WaitGroup
	for i := range n {
		m := manifest(fmt.Sprintf("hook-%c 1.0.0", 'a'+i))
		k.drop(m.ID+".wasm", m, k.key)
		wg.Go(func() {
			r, err := k.Review(m.ID, Options{})
			if err == nil {
				_, err = k.Approve(t.Context(), r, r.Accepts())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(k.List().Usable()); got != n+2 {
		t.Errorf("%d usable", got)
	}
}

func TestAnotherRigupAtWork(t *testing.T) {
	k := newKit(t)
	k.drop("mtgpu.wasm", manifest("mtgpu 1.0.0"), k.key)
	other := flock.New(filepath.Join(k.Dir, ".lock"))
	must(t, other.Lock())
	k.patience = 50 * time.Millisecond
	_, _, err := k.SetEnabled(t.Context(), "nvidia", false)
	wantReason(t, err, reason.HookBusy)
	k.state("mtgpu.wasm", Pending, reason.HookPending) // looking needs no lock
	must(t, other.Unlock())
	_, _, err = k.SetEnabled(t.Context(), "nvidia", false)
	must(t, err)
}

// FuzzLock: whatever stands in the file, reading it ends, and what is taken is exactly what rigup writes.
func FuzzLock(f *testing.F) {
	good, err := encodeLock(lock{Off: []string{"nvidia"}, Hooks: []Entry{{ID: "mtgpu", File: "a.wasm", Size: 1, Manifest: manifest("mtgpu 1.0.0"),
		SHA256: fmt.Sprintf("%064x", 1), Approved: time.Unix(1, 0).UTC(), Enabled: true}}})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{good, bytes.Replace(good, []byte(`"format": 1`), []byte(`"format": 2`), 1), good[:len(good)/2],
		[]byte(`{"format":1,"sum":"","lock":null}`), []byte(`{"format":1}`), []byte("null"), []byte("[]"), nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, format, err := decodeLock(b)
		if err != nil || format > lockFormat {
			if len(l.Hooks)+len(l.Off) > 0 {
				t.Errorf("a refused lock says %+v", l)
			}
			return
		}
		again, err := encodeLock(l)
		if err != nil || !bytes.Equal(compact(again), compact(b)) {
			t.Errorf("%q was taken for %q", b, again)
		}
	})
}
