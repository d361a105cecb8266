// Package lock makes sure that one rigup at a time works on a cluster (invariant C8).
package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
)

// Owner is who holds a lock.
type Owner struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	User    string    `json:"user"`
	Command string    `json:"command"`
	Since   time.Time `json:"since"`
}

func (o Owner) String() string {
	if o.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("rigup %s by %s, process %d on %s", o.Command, o.User, o.PID, o.Host)
}

// Lock is held until Release, or until the process ends: the kernel lets go of it then, so a killed run
// never blocks the next one.
type Lock struct {
	file  *flock.Flock
	owner string
	// Stale is set when an earlier owner ended without releasing, and says who.
	Stale *reason.Reason
}

// Acquire takes the lock of a cluster in its folder. When another process has it, the error says who and
// since when. It does not wait: a second install is a mistake more often than a plan.
//
// Two files are used, because Windows does not let others read a file that is locked: "lock" is locked,
// "lock.json" says by whom.
func Acquire(dir, cluster string, me Owner) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, reason.Fail(reason.New(reason.StateWrite, "path", dir), err)
	}
	l := &Lock{file: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600)), owner: filepath.Join(dir, "lock.json")}
	got, err := l.file.TryLock()
	if err != nil {
		return nil, reason.Fail(reason.New(reason.StateWrite, "path", l.file.Path()), err)
	}
	before, known := readOwner(l.owner)
	if !got {
		age := "an unknown time"
		if known {
			age = units.Age(me.Since.Sub(before.Since)) + " ago"
		}
		return nil, reason.Fail(reason.New(reason.LockHeld, "cluster", cluster, "holder", before.String(), "age", age), nil)
	}
	if known {
		r := reason.New(reason.LockStale, "cluster", cluster, "holder", before.String(), "age", units.Age(me.Since.Sub(before.Since)))
		l.Stale = &r
	}
	b, err := json.Marshal(me)
	if err == nil {
		err = os.WriteFile(l.owner, b, 0o600)
	}
	if err != nil {
		return nil, errors.Join(reason.Fail(reason.New(reason.StateWrite, "path", l.owner), err), l.file.Unlock())
	}
	return l, nil
}

// Release lets go of the lock. The lock file itself stays: removing it would let two processes lock two
// files of one name.
func (l *Lock) Release() error {
	return errors.Join(os.Remove(l.owner), l.file.Unlock())
}

// readOwner reads who holds the lock. A file that cannot be read, or was cut off, names nobody.
func readOwner(path string) (Owner, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Owner{}, false
	}
	var o Owner
	if json.Unmarshal(b, &o) != nil {
		return Owner{}, true
	}
	return o, true
}
