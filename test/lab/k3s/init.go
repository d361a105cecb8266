package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// reexecEnv marks the process that the first process of a container started.
const reexecEnv = "_K3S_LOG_REEXEC_"

// runAsInit is for process 1, as k3s does it: the work is done in a child,
// process 1 reaps whatever ends up with it and passes signals on. It returns
// false where this process is to do the work itself.
func runAsInit() (code int, done bool) {
	if os.Getpid() != 1 || os.Getenv(reexecEnv) != "" {
		return 0, false
	}
	if err := evacuateCgroup2("/sys/fs/cgroup"); err != nil {
		return fatalf("failed to evacuate root cgroup: %v", err), true
	}
	self, err := os.Executable()
	if err != nil {
		return fatalf("%v", err), true
	}
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGCHLD)
	c := exec.Command(self, os.Args[1:]...)
	c.Args[0] = os.Args[0]
	c.Env = append(os.Environ(), reexecEnv+"=true")
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		return fatalf("%v", err), true
	}
	for s := range signals {
		if s != syscall.SIGCHLD {
			c.Process.Signal(s)
			continue
		}
		for {
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			if pid <= 0 {
				break
			}
			if pid == c.Process.Pid {
				if status.Signaled() {
					return 128 + int(status.Signal()), true
				}
				return status.ExitStatus(), true
			}
		}
	}
	return 1, true
}

// evacuateCgroup2 empties the container's root group on cgroup v2 and turns
// the controllers on for its children, without which the kubelet cannot make
// groups of its own. On v1 there is nothing to do. It has only ever run on v1:
// the v2 path is untested.
func evacuateCgroup2(root string) error {
	b, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return nil
	}
	dir := filepath.Join(root, "init")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	p, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(p)) {
		// One that has ended meanwhile is no error.
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pid), 0o644); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	for _, c := range strings.Fields(string(b)) {
		if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+"+c), 0o644); err != nil {
			return err
		}
	}
	return nil
}
