package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const defaultState = "/var/lib/rigup-lab"

// stateDir holds what "up" makes and "down" removes.
func stateDir() string {
	if d := os.Getenv("RIGUP_LAB_STATE"); d != "" {
		return d
	}
	return defaultState
}

// cacheDir holds the finished pieces; only "clean" empties it.
func cacheDir() string {
	if d := os.Getenv("RIGUP_LAB_CACHE"); d != "" {
		return d
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	return filepath.Join(home, ".cache", "rigup-lab")
}

// lock keeps two runs of the lab from working on the same directory; it waits
// for the other and is released when the process ends.
func lock(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	locks = append(locks, f)
	fd := int(f.Fd())
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return nil
	}
	fmt.Fprintf(os.Stderr, "waiting for another run of the lab on %s\n", dir)
	return syscall.Flock(fd, syscall.LOCK_EX)
}

// locks keeps the files from being collected, and so the locks from being lost.
var locks []*os.File

// writeFile writes whole or not at all.
func writeFile(name string, b []byte, mode os.FileMode) error {
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, b, mode); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// writeChanged writes where the content is another, and says so.
func writeChanged(name string, b []byte, mode os.FileMode) (bool, error) {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, b) {
		return false, nil
	}
	return true, writeFile(name, b, mode)
}
