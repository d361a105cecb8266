//go:build unix

package program

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"syscall"
)

// group is a program with its children.
type group struct{ cmd *exec.Cmd }

// contain puts the program into a session of its own: its children are killed with it, and none of them has a
// terminal to ask for a password.
func contain(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return &group{cmd}, nil
}

func (g *group) started(*exec.Cmd) error { return nil }

func (g *group) kill() {
	if g.cmd.Process != nil {
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// safe reports whether root may run a program with this file or directory: nobody else can have put something else in
// its place. Root's PATH can have directories of the user who called it.
func safe(info fs.FileInfo) bool {
	sys, ok := info.Sys().(*syscall.Stat_t)
	return os.Geteuid() != 0 || ok && sys.Uid == 0 && info.Mode().Perm()&0o002 == 0
}

func absolute(dir string) bool { return path.IsAbs(dir) }

func slashed(dir string) string { return path.Clean(dir) }
