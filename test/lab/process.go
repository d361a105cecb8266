package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// daemon is a long-running process of an engine. It is known by its command
// line: a number in a file may be another process's by now, or be lost while
// the process lives on and holds its locks.
type daemon struct {
	name    string
	program string // file name of the executable
	dir     string // the engine's state, where the log is
	mark    string // an argument that no other process has: its configuration file
}

func (d daemon) logFile() string { return filepath.Join(d.dir, d.name+".log") }

// pid is the running process, or 0.
func (d daemon) pid() int {
	for _, p := range processes() {
		args := strings.Fields(commandLine(p))
		if len(args) < 2 || args[len(args)-1] != d.mark {
			continue
		}
		// nsenter is what it was a moment ago, under the same number.
		if name := filepath.Base(args[0]); (name == d.program || name == "nsenter") && !isZombie(p) {
			return p
		}
	}
	return 0
}

// start runs the command in the engine's network namespace, apart from this
// process, which ends long before it.
func (d daemon) start(ns string, env []string, argv ...string) error {
	log, err := os.OpenFile(d.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c := exec.Command("nsenter", append([]string{"--net=" + ns, "--"}, argv...)...)
	c.Env, c.Dir = env, "/"
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	// Not waited for by anyone else: without this it stays a zombie while "up" runs.
	go c.Wait()
	return nil
}

// stop ends the process, by force if it does not go within the limit.
func (d daemon) stop(limit time.Duration) {
	pid := d.pid()
	if pid != 0 {
		syscall.Kill(pid, syscall.SIGTERM)
		if !gone(pid, limit) {
			syscall.Kill(pid, syscall.SIGKILL)
			gone(pid, 5*time.Second)
		}
	}
}

func gone(pid int, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || isZombie(pid) {
			return true
		}
	}
	return false
}

func commandLine(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return string(bytes.ReplaceAll(b, []byte{0}, []byte{' '}))
}

// stat returns a process's state and parent.
func stat(pid int) (state string, parent int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The name in parentheses may hold anything: fields start after the last ")".
	_, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " ")
	f := strings.Fields(rest)
	if len(f) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(f[1])
	return f[0], parent
}

func isZombie(pid int) bool { s, _ := stat(pid); return s == "Z" || s == "X" || s == "" }

func processes() []int {
	names, _ := filepath.Glob("/proc/[0-9]*")
	var out []int
	for _, n := range names {
		if pid, err := strconv.Atoi(filepath.Base(n)); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// killLeft ends every process whose command line names the folder (containers'
// shims do) with all it started. It is for what an engine that died left.
func killLeft(ctx context.Context, mark string) {
	for range 20 {
		all := processes()
		children := map[int][]int{}
		for _, p := range all {
			_, parent := stat(p)
			children[parent] = append(children[parent], p)
		}
		found := false
		var kill func(int)
		kill = func(pid int) {
			found = true
			for _, c := range children[pid] {
				kill(c)
			}
			syscall.Kill(pid, syscall.SIGKILL)
		}
		for _, p := range all {
			if p != os.Getpid() && !isZombie(p) && strings.HasPrefix(filepath.Base(firstWord(commandLine(p))), "containerd-shim") &&
				strings.Contains(commandLine(p), mark) {
				kill(p)
			}
		}
		if !found || ctx.Err() != nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func firstWord(s string) string { w, _, _ := strings.Cut(s, " "); return w }

// unmountUnder detaches every mount below dir, the deepest first.
func unmountUnder(dir string) {
	b, _ := os.ReadFile("/proc/self/mountinfo")
	lines := strings.Split(string(b), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		f := strings.Fields(lines[i])
		if len(f) > 4 && strings.HasPrefix(f[4], dir+"/") {
			syscall.Unmount(f[4], syscall.MNT_DETACH)
		}
	}
}
