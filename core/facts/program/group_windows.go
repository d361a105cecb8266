package program

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a program with its children: a job object, which ends all of them when it is closed.
type group struct {
	once sync.Once
	job  windows.Handle
}

func contain(cmd *exec.Cmd) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	g := &group{job: job}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		g.kill()
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NO_WINDOW}
	return g, nil
}

// started puts the program into the job. Children that it started before that are not in it; there is no time for
// any that does not do so as its first act.
func (g *group) started(cmd *exec.Cmd) error {
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(p)
	return windows.AssignProcessToJobObject(g.job, p)
}

func (g *group) kill() { g.once.Do(func() { _ = windows.CloseHandle(g.job) }) }

func safe(fs.FileInfo) bool { return true }

func absolute(dir string) bool { return filepath.IsAbs(dir) }

// slashed writes a directory of this machine as rooted does: /Windows/System32, on the drive that the system is on.
// Directories of other drives are left where rooted does not find them.
func slashed(dir string) string {
	return filepath.ToSlash(strings.TrimPrefix(filepath.Clean(dir), filepath.VolumeName(dir)))
}
