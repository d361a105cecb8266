package hookhost

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// self is the running program even after its file was replaced, and where the way to it is closed to other users.
const self = "/proc/self/exe"

// nobody is the user and group that has no rights.
const nobody = 65534

// ways are the ways to start a child, best first: the next one is for systems on which the one before fails.
func ways() []func(*exec.Cmd) {
	plain := func(c *exec.Cmd) {
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	}
	if os.Geteuid() != 0 {
		return []func(*exec.Cmd){plain}
	}
	return []func(*exec.Cmd){func(c *exec.Cmd) {
		plain(c)
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}, plain}
}

// hold binds a child to this process. Here Pdeathsig does.
func hold(*os.Process, Limits) (release func(), err error) { return func() {}, nil }

// becomeNobody gives up root's rights where the child could not be started without them: nobody may not start a
// program that only root may, but root can become nobody. In a container that has no nobody it stays what it is, and
// all other limits hold.
func becomeNobody() {
	_ = syscall.Setgroups(nil)
	_ = syscall.Setresgid(nobody, nobody, nobody)
	if syscall.Setresuid(nobody, nobody, nobody) == nil {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) // it ended with the rights
	}
}

// lower gives up what an interpreter does not need: it cannot open a file or a socket, write a file, gain rights or
// be looked into, and has room for no more than the limit says. RLIMIT_DATA and not RLIMIT_AS, which counts what the
// Go runtime only reserves. RLIMIT_NPROC would count every thread of the user and keep Go from starting its own; that
// no process is started, and no file removed, is for the filter of system calls.
func lower(l Limits) error {
	// What a thread gives up here counts for those that it starts, and through the filter for all others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if os.Geteuid() == 0 {
		becomeNobody()
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close the process to others: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new rights: %w", err)
	}
	if err := setLimits([]limit{
		{unix.RLIMIT_DATA, l.Process + slack},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0},
	}); err != nil {
		return err
	}
	if err := filterCalls(); err != nil && !errors.Is(err, errNoFilter) {
		return err
	}
	return nil
}
