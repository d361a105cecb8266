//go:build unix

package kubeconfig

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveOwner gives a new file the owner of the one it replaces, or of the directory when there is none. Only
// root can, and only root needs to.
func giveOwner(path, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	fi, err := os.Stat(like)
	if err != nil || path == like {
		if fi, err = os.Stat(filepath.Dir(like)); err != nil {
			return err
		}
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}

// accessible reports why this user could not write in a directory.
func accessible(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &os.PathError{Op: "write in", Path: dir, Err: err}
	}
	return nil
}

// alive reports whether a process of this machine exists.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
