//go:build linux || darwin

package hookhost

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

type limit struct {
	resource int
	most     uint64
}

// setLimits lowers limits of the process for good. That of open files can be 0 once the Go runtime has the ones for its
// poller, which it opens when something sleeps for the first time.
func setLimits(limits []limit) error {
	closeInherited()
	time.Sleep(time.Nanosecond)
	for _, l := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.resource, &now); err != nil {
			return fmt.Errorf("read the limit %d: %w", l.resource, err)
		}
		most := min(l.most, now.Max)
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("lower the limit %d to %d: %w", l.resource, most, err)
		}
	}
	return nil
}

// closeInherited closes the files that this process got from its parent, which may have got them from its own without
// knowing. Those are the ones that stay open when another program is started; Go opens none of that kind.
func closeInherited() {
	open := func(fd int) bool {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil && flags&unix.FD_CLOEXEC == 0
	}
	last := 255
	if list, err := os.ReadDir("/dev/fd"); err == nil {
		for _, f := range list {
			if n, err := strconv.Atoi(f.Name()); err == nil {
				last = max(last, n)
			}
		}
	}
	for fd := 3; fd <= last; fd++ {
		if open(fd) {
			_ = unix.Close(fd) // nothing was written to it
		}
	}
}

// worked is how long the process has worked so far.
func worked() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
