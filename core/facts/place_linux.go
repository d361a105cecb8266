package facts

import (
	"os"

	"golang.org/x/sys/unix"
)

func (o Observer) fsType(path string) (string, error) {
	b, err := os.ReadFile(o.root().Path("/proc/self/mountinfo"))
	if err != nil {
		return "", err
	}
	return mountType(b, path)
}

func freeBytes(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
