//go:build linux || darwin

package hookhost

import (
	"fmt"
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
	time.Sleep(1)
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
