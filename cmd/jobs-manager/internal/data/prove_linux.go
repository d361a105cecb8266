package data

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// proveAs runs this program again as uid and gid, without further groups.
func proveAs(ctx context.Context, path string, uid, gid int) error {
	// Not the path of the program: the other user may not be allowed to walk there.
	cmd := exec.CommandContext(ctx, "/proc/self/exe", ProveCommand, path)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != uid || os.Getgid() != gid {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(out) > 0 {
		return errors.New(strings.TrimSpace(string(out)))
	}
	return err
}
