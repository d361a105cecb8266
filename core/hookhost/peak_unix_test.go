//go:build unix

package hookhost

import (
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// peakMemory is the most memory that a process had, in bytes.
func peakMemory(s *os.ProcessState) int64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// resetPeak makes Linux forget the most memory that this process had: a child inherits that number when it starts.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}
