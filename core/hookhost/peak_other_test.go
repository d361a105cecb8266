//go:build !unix

package hookhost

import "os"

// peakMemory is not told by the system.
func peakMemory(*os.ProcessState) int64 { return 0 }

func resetPeak() int64 { return 0 }
