//go:build unix

package program

import (
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

func absolute(dir string) bool { return path.IsAbs(dir) }

func slashed(dir string) string { return path.Clean(dir) }
