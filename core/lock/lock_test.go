package lock

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/reason"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func me(at time.Time) Owner {
	return Owner{PID: os.Getpid(), Host: "box", User: "ada", Command: "install", Since: at}
}

func TestC8_SecondInstallSaysWhoHoldsTheLock(t *testing.T) {
	dir := t.TempDir()
	l, err := Acquire(dir, "demo", Owner{PID: 4711, Host: "box", User: "ada", Command: "install", Since: noon})
	if err != nil || l.Stale != nil {
		t.Fatal(err, l)
	}
	_, err = Acquire(dir, "demo", me(noon.Add(3*time.Minute)))
	if err == nil {
		t.Fatal("two holders")
	}
	r := reason.Of(err)
	if r.ID != reason.LockHeld || !strings.Contains(r.Text, "process 4711 on box") || !strings.Contains(r.Text, "3 minutes ago") || !strings.Contains(r.Text, "demo") {
		t.Errorf("%+v", r)
	}
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	l, err = Acquire(dir, "demo", me(noon))
	if err != nil || l.Stale != nil {
		t.Fatal(err, "a released lock is free and explains nothing", l)
	}
	l.Release()
}

// A process that is killed leaves the file that says who it was: the next run explains it and goes on.
func TestC8_StaleLockIsExplainedAndTakenOver(t *testing.T) {
	if dir := os.Getenv("LOCK_TEST_DIR"); dir != "" {
		if _, err := Acquire(dir, "demo", Owner{PID: os.Getpid(), Host: "box", User: "bob", Command: "install", Since: noon}); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("held\n")
		select {}
	}
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run", "TestC8_StaleLock")
	c.Env = append(os.Environ(), "LOCK_TEST_DIR="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(out); s.Scan() && s.Text() != "held"; {
	}
	if _, err := Acquire(dir, "demo", me(noon)); err == nil {
		t.Fatal("the other process holds it")
	}
	c.Process.Kill()
	c.Wait()
	l, err := Acquire(dir, "demo", me(noon.Add(2*time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	if l.Stale == nil || l.Stale.ID != reason.LockStale || !strings.Contains(l.Stale.Text, "by bob") || !strings.Contains(l.Stale.Text, "2 hours ago") {
		t.Errorf("%+v", l.Stale)
	}
	l.Release()
}

func TestC8_CutOffOwnerFileStillExplains(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "lock.json"), []byte(`{"pid": 12`), 0o600)
	l, err := Acquire(dir, "demo", me(noon))
	if err != nil || l.Stale == nil || !strings.Contains(l.Stale.Text, "unknown process") {
		t.Fatal(err, l)
	}
	l.Release()
}
