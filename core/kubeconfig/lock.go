package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"rigup.dev/rigup/core/reason"
)

// The lock of a kubeconfig is a file beside it, made with O_EXCL: that is what kubectl and everything built on
// client-go's clientcmd look at, so both sides wait for each other. Their lock is empty and unreadable, ours
// says who holds it. A lock is held for one read and one write only.
const lockSuffix = ".lock"

// staleAge is the age at which a lock whose holder is unknown counts as left behind. Nobody holds one for more
// than some milliseconds; kubectl itself never takes one over.
const staleAge = 30 * time.Second

// lockPoll is how often a held lock is looked at again.
const lockPoll = 20 * time.Millisecond

type lock struct {
	path string
	info os.FileInfo
}

// acquire takes the lock of a kubeconfig. A lock that was left behind is taken over, and the returned reason
// explains that.
func acquire(ctx context.Context, file string, wait time.Duration, now func() time.Time) (*lock, *reason.Reason, error) {
	path := file + lockSuffix
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	var stale *reason.Reason
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err == nil {
			l, err := own(f, path)
			return l, stale, err
		}
		// Windows answers "access denied" for a lock that is being removed at this moment.
		if !errors.Is(err, fs.ErrExist) && !(errors.Is(err, fs.ErrPermission) && exists(path)) {
			return nil, nil, reason.Fail(reason.New(reason.KubeconfigWrite, "path", file), err)
		}
		if r := takeOver(path, now()); r != nil {
			stale = r
			continue
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the lock %s: %w", path, ctx.Err())
		case <-deadline.C:
			return nil, nil, reason.Fail(reason.New(reason.KubeconfigLocked, "path", file, "lock", path, "limit", wait.String()), nil)
		case <-time.After(lockPoll):
		}
	}
}

// own writes who holds the lock into it.
func own(f *os.File, path string) (*lock, error) {
	host, _ := os.Hostname()
	_, err := fmt.Fprintf(f, "rigup %d %s\n", os.Getpid(), host)
	info, serr := f.Stat()
	if err = errors.Join(err, serr, f.Close()); err != nil {
		os.Remove(path)
		return nil, reason.Fail(reason.New(reason.KubeconfigWrite, "path", strings.TrimSuffix(path, lockSuffix)), err)
	}
	// A run as root must leave a lock that its user can remove should the run be killed.
	_ = giveOwner(path, strings.TrimSuffix(path, lockSuffix))
	return &lock{path: path, info: info}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// release gives the lock back, unless somebody has taken it over meanwhile.
func (l *lock) release() {
	if fi, err := os.Lstat(l.path); err == nil && os.SameFile(fi, l.info) {
		os.Remove(l.path)
	}
}

// takeOver removes a lock that was left behind and says whose it was; nil when it may be held.
func takeOver(path string, now time.Time) *reason.Reason {
	seen, err := os.Lstat(path)
	if err != nil || !seen.Mode().IsRegular() {
		return nil
	}
	age := now.Sub(seen.ModTime())
	holder := "another program"
	pid, host, known := holderOf(path)
	if self, _ := os.Hostname(); known {
		holder = fmt.Sprintf("rigup (process %d on %s)", pid, host)
		if host == self && alive(pid) && age < 10*staleAge {
			return nil
		}
		if host != self && age < staleAge {
			return nil
		}
	} else if age < staleAge {
		return nil
	}
	// The rename picks exactly one of those who try. If in between the lock changed hands, it goes back.
	aside := fmt.Sprintf("%s.%d-%d", path, os.Getpid(), now.UnixNano())
	if os.Rename(path, aside) != nil {
		return nil
	}
	if fi, err := os.Lstat(aside); err == nil && !os.SameFile(fi, seen) {
		_ = os.Link(aside, path)
		os.Remove(aside)
		return nil
	}
	os.Remove(aside)
	r := reason.New(reason.KubeconfigStale, "lock", path, "age", max(age, 0).Round(time.Second).String(), "holder", holder)
	return &r
}

// holderOf reads who holds a lock of ours.
func holderOf(path string) (pid int, host string, ok bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, "", false
	}
	f := strings.Fields(string(b))
	if len(f) < 2 || f[0] != "rigup" {
		return 0, "", false
	}
	if len(f) > 2 {
		host = f[2]
	}
	pid, err = strconv.Atoi(f[1])
	return pid, host, err == nil && pid > 0
}
