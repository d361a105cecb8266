package hookhost

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

const self = ""

// ways are the ways to start a child, best first: with a token of low integrity, which may change nothing of the
// user's, or, where a policy forbids that, with the user's own.
func ways() []func(*exec.Cmd) {
	plain := func(c *exec.Cmd) {
		c.Dir = filepath.VolumeName(c.Path) + `\`
		c.SysProcAttr = &syscall.SysProcAttr{
			HideWindow:    true,
			CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
		}
	}
	token, err := lowIntegrity()
	if err != nil {
		return []func(*exec.Cmd){plain}
	}
	return []func(*exec.Cmd){func(c *exec.Cmd) {
		plain(c)
		c.SysProcAttr.Token = syscall.Token(token)
	}, plain}
}

// lowIntegrity is made once and stays open as long as the program runs.
var lowIntegrity = sync.OnceValues(lowToken)

// lowToken is a copy of this process's token with low integrity.
func lowToken() (windows.Token, error) {
	var own, low windows.Token
	const access = windows.TOKEN_DUPLICATE | windows.TOKEN_QUERY | windows.TOKEN_ASSIGN_PRIMARY | windows.TOKEN_ADJUST_DEFAULT
	if err := windows.OpenProcessToken(windows.CurrentProcess(), access, &own); err != nil {
		return 0, fmt.Errorf("open the token of this process: %w", err)
	}
	defer own.Close()
	if err := windows.DuplicateTokenEx(own, access, nil, windows.SecurityImpersonation, windows.TokenPrimary, &low); err != nil {
		return 0, fmt.Errorf("copy the token: %w", err)
	}
	sid, err := windows.CreateWellKnownSid(windows.WinLowLabelSid)
	if err == nil {
		label := windows.Tokenmandatorylabel{Label: windows.SIDAndAttributes{Sid: sid, Attributes: windows.SE_GROUP_INTEGRITY}}
		err = windows.SetTokenInformation(low, windows.TokenIntegrityLevel, (*byte)(unsafe.Pointer(&label)), label.Size())
	}
	if err != nil {
		low.Close()
		return 0, fmt.Errorf("lower the token: %w", err)
	}
	return low, nil
}

// hold puts a child into a job object: it has a limit of memory, cannot start processes, and ends with this process,
// however that ends. The child does nothing before the parent speaks to it, so it need not be started suspended.
func hold(p *os.Process, l Limits) (release func(), err error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	release = func() { _ = windows.CloseHandle(job) }
	defer func() {
		if err != nil {
			release()
		}
	}()
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY |
				windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
			ActiveProcessLimit: 1,
		},
		ProcessMemoryLimit: uintptr(l.Process + slack),
	}
	if _, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return nil, fmt.Errorf("limit the job object: %w", err)
	}
	child, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return nil, fmt.Errorf("open the child: %w", err)
	}
	defer func() { _ = windows.CloseHandle(child) }()
	if err = windows.AssignProcessToJobObject(job, child); err != nil {
		return nil, fmt.Errorf("put the child into the job object: %w", err)
	}
	return release, nil
}

// lower gives up nothing more: the token and the job object do.
func lower(Limits) error { return nil }

// worked is how long the process has worked so far.
func worked() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) } // of 100 ns
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}
