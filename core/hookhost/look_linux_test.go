package hookhost

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// view is what a child can reach.
type view struct {
	UID     int
	Folder  string
	Env     []string
	Group   bool   // it leads a process group of its own
	Problem string // why it could not give up everything
	// Inherited are its files that the parent gave it, and Reached is what it could do and should not.
	Inherited []int
	Reached   []string
	Filtered  bool
}

func look() view {
	v := view{UID: os.Getuid(), Env: os.Environ(), Group: syscall.Getpgrp() == os.Getpid()}
	v.Folder, _ = os.Getwd()
	if err := lower(Limits{}.withDefaults()); err != nil {
		v.Problem = err.Error()
	}
	for fd := range 1024 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			v.Inherited = append(v.Inherited, fd)
		}
	}
	reached := func(what string, err error) {
		if err == nil {
			v.Reached = append(v.Reached, what)
		}
	}
	_, err := os.ReadFile("/etc/passwd")
	reached("read a file", err)
	err = os.WriteFile("/tmp/rigup-look", nil, 0o600)
	reached("write a file", err)
	_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	reached("open a socket", err)
	_, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	reached("open a local socket", err)
	reached("start a program", exec.Command("/bin/true").Run())
	reached("lift its limits", syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: 64}))
	_, err = syscall.Mmap(-1, 0, 400<<20+slack, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	reached("more memory", err)
	reached("use a right of root", unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_SYS_PACCT, 0, 0, 0))
	reached("look into its parent", syscall.PtraceAttach(os.Getppid()))
	const filtering = 2
	mode, _ := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if v.Filtered = mode == filtering; !v.Filtered {
		return v
	}
	// These would fail without the filter too, or do harm. With it the system does not even look.
	filtered := func(what string, err error) {
		if !errors.Is(err, unix.EPERM) {
			v.Reached = append(v.Reached, what)
		}
	}
	filtered("remove a file", os.Remove("/rigup-look/file"))
	filtered("make a folder", os.Mkdir("/rigup-look/folder", 0o700))
	filtered("rename a file", os.Rename("/rigup-look/a", "/rigup-look/b"))
	filtered("signal others", syscall.Kill(os.Getppid(), 0))
	_, err = unix.FcntlInt(1, unix.F_SETOWN, os.Getppid())
	filtered("have the system signal others", err)
	_, err = unix.FcntlInt(1, unix.F_SETSIG, int(syscall.SIGKILL))
	filtered("choose the signal", err)
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	filtered("a process of its own", errno)
	_, err = syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	filtered("executable memory", err)
	_, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	filtered("call for a socket", err)
	filtered("become a program", syscall.Exec("/proc/self/exe", []string{"x", evilArg, "gone"}, nil))
	return v
}

// TestH1ChildReachesNothing holds that not even the process of the interpreter reaches anything of the machine.
func TestH1ChildReachesNothing(t *testing.T) {
	t.Setenv("RIGUP_TEST_SECRET", "planted")
	// A file as one gets it from a shell: it stays open in every program that is started.
	f, err := syscall.Open("/etc/hostname", syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(f)
	c, err := start("", []string{lookArg}, Limits{}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	defer c.end()
	text, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err, c.errs.String())
	}
	var v view
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	if !v.Filtered {
		t.Log("SKIPPED the filter of system calls: this system has none")
	}
	if len(v.Env) > 0 || v.Folder != "/" || !v.Group || v.Problem != "" || len(v.Reached) > 0 {
		t.Errorf("the child sees or reaches %+v", v)
	}
	if os.Getuid() == 0 && v.UID != nobody {
		t.Errorf("the child of root runs as %d", v.UID)
	}
	if !slices.Equal(v.Inherited, []int{0, 1, 2}) {
		t.Errorf("the child has the files %v", v.Inherited)
	}
}

// TestH1ChildOfRootIsNobody holds that root's child gives up its rights also where it had to be started with them.
func TestH1ChildOfRootIsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: this is for root")
	}
	for i, way := range ways() {
		c, err := startIn(way, self, []string{lookArg}, Limits{}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		text, err := c.out.ReadString('\n')
		c.end()
		var v view
		if err == nil {
			err = json.Unmarshal([]byte(text), &v)
		}
		if err != nil || v.Problem != "" || len(v.Reached) > 0 {
			t.Errorf("way %d: %+v %v", i, v, err)
		}
	}
}

// TestE1ChildDiesWithParent holds that a child that nothing interrupts ends with a parent that is killed.
func TestE1ChildDiesWithParent(t *testing.T) {
	parent := exec.Command("/proc/self/exe", parentArg)
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	text, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // it was killed
	for begin := time.Now(); running(child); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > slow {
			_ = syscall.Kill(child, syscall.SIGKILL)
			t.Fatalf("the child %d outlives its parent", child)
		}
	}
}

// running reports whether a process is there and no zombie.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z")
}
