package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// step runs one named piece of work and prints one timed line for it; one that
// takes long says every half minute that it is alive, and what note returns.
func step(name, what string, note func() string, f func() error) error {
	begun := time.Now()
	fmt.Printf("%-12s %s\n", name, what)
	done := make(chan struct{})
	go func() {
		t := time.NewTicker(30 * time.Second)
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				extra := ""
				if note != nil {
					extra = ", " + note()
				}
				fmt.Printf("%-12s ... %s%s\n", name, time.Since(begun).Round(time.Second), extra)
			}
		}
	}()
	err := f()
	close(done)
	took := time.Since(begun).Seconds()
	if err != nil {
		fmt.Printf("%-12s FAILED after %.1fs\n", name, took)
		return fmt.Errorf("%s: %w", name, err)
	}
	fmt.Printf("%-12s done %.1fs\n", name, took)
	return nil
}

// run runs a command with a deadline; its output is part of the error only.
func run(ctx context.Context, limit time.Duration, name string, args ...string) error {
	_, err := output(ctx, limit, name, args...)
	return err
}

func output(ctx context.Context, limit time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	b, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("no end within %s", limit)
	}
	if err != nil {
		return string(b), fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, tail(string(b), 600))
	}
	return string(b), nil
}

func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}

// goRun runs the go command and counts the packages it compiles (-v prints
// each), because a cold build takes minutes and should be seen to move.
func goRun(ctx context.Context, limit time.Duration, dir, log string, count *atomic.Int64, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	f, err := os.Create(log)
	if err != nil {
		return err
	}
	defer f.Close()
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	// A go.work of the repository does not list the lab's modules.
	c.Env = append(append(os.Environ(), "GOWORK=off"), env...)
	c.Stdout, c.Stderr = f, &lineCounter{f, count}
	// The compilers are children of go: without this a cancelled build waits for them.
	c.WaitDelay = 5 * time.Second
	if err := c.Run(); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no end within %s", limit)
		}
		b, _ := os.ReadFile(log)
		return fmt.Errorf("go %s: %w: %s", args[0], err, tail(string(b), 1500))
	}
	return nil
}

type lineCounter struct {
	f *os.File
	n *atomic.Int64
}

func (l *lineCounter) Write(b []byte) (int, error) {
	l.n.Add(int64(strings.Count(string(b), "\n")))
	return l.f.Write(b)
}
