//go:build unix

package facts

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"

	"rigup.dev/rigup/hooks/sdk"
)

// describe is what the file system says of a device node.
func describe(p string, st fs.FileInfo) sdk.DeviceNode {
	n := sdk.DeviceNode{Path: p, Mode: fmt.Sprintf("%04o", st.Mode().Perm())}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		n.Group = int(sys.Gid)
		if st.Mode()&fs.ModeCharDevice != 0 {
			n.Major, n.Minor = int(unix.Major(uint64(sys.Rdev))), int(unix.Minor(uint64(sys.Rdev)))
		}
	}
	return n
}
