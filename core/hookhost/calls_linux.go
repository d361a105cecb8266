package hookhost

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errNoFilter is the error where the system has no filter of system calls, or forbids to set one. The other limits
// hold without it.
var errNoFilter = errors.New("this system does not filter system calls")

// calls are the system calls that a Go program needs to compute and to use files that it has open. All others fail.
func calls() []uint32 {
	return []uint32{
		unix.SYS_READ, unix.SYS_WRITE, unix.SYS_PREAD64, unix.SYS_CLOSE, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
		unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_FUTEX, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
		unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
		unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
		unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE,
		unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER,
		unix.SYS_PRCTL, unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST, unix.SYS_MEMBARRIER,
	}
}

// Places in what a filter sees of a call (struct seccomp_data).
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16 // the lower half, as on every platform that this is for
	dataArg1   = 24
	dataArg2   = 32
)

// Instructions of a filter.
func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(test uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jt: yes, Jf: no}
}

func give(result uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: result}
}

// filterCalls makes every thread of the process fail at the calls that it does not need. It can start threads but no
// processes, signal itself but no others, and make no memory executable.
func filterCalls() error {
	arch := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if arch == 0 {
		return errNoFilter
	}
	denied, allowed := give(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM)), give(unix.SECCOMP_RET_ALLOW)
	f := []unix.SockFilter{load(dataArch), jump(unix.BPF_JEQ, arch, 1, 0), denied, load(dataNumber)}
	for _, nr := range calls() {
		f = append(f, jump(unix.BPF_JEQ, nr, 0, 1), allowed)
	}
	// A call with a condition: look at an argument, and come to a decision.
	when := func(nr, arg uint32, test uint16, k uint32, yes, no unix.SockFilter) {
		f = append(f, jump(unix.BPF_JEQ, nr, 0, 4), load(arg), jump(test, k, 0, 1), yes, no)
	}
	self := uint32(os.Getpid())
	when(unix.SYS_CLONE, dataArg0, unix.BPF_JSET, unix.CLONE_THREAD, allowed, denied)
	when(unix.SYS_MMAP, dataArg2, unix.BPF_JSET, unix.PROT_EXEC, denied, allowed)
	when(unix.SYS_MPROTECT, dataArg2, unix.BPF_JSET, unix.PROT_EXEC, denied, allowed)
	when(unix.SYS_TGKILL, dataArg0, unix.BPF_JEQ, self, allowed, denied)
	// What comes after F_SETFL could have the kernel send signals to others (F_SETOWN, F_SETSIG).
	when(unix.SYS_FCNTL, dataArg1, unix.BPF_JGT, unix.F_SETFL, denied, allowed)
	when(unix.SYS_KILL, dataArg0, unix.BPF_JEQ, self, allowed, denied)
	// C libraries fall back from this one only when it does not exist.
	f = append(f, jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), give(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)), denied)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	switch errno {
	case 0:
		return nil
	case unix.ENOSYS, unix.EINVAL, unix.EPERM, unix.EACCES:
		return fmt.Errorf("%w: %w", errNoFilter, errno)
	}
	return fmt.Errorf("filter system calls: %w", errno)
}
