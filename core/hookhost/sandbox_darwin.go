package hookhost

import (
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is empty: os.Executable finds the program.
const self = ""

// ways are the ways to start a child, best first. The child notices the end of this process by the end of its input.
func ways() []func(*exec.Cmd) {
	return []func(*exec.Cmd){func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	}}
}

func hold(*os.Process, Limits) (release func(), err error) { return func() {}, nil }

// lower gives up what an interpreter does not need. macOS has no limit of memory that works for a process; there the
// child watches itself.
func lower(Limits) error {
	return setLimits([]limit{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, 0}})
}
