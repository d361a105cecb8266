package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// supervisor runs the components as children; the first that ends takes the
// node down, as a component that ends does in k3s.
type supervisor struct {
	mu    sync.Mutex
	procs []*process
	dead  chan error
}

type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (s *supervisor) start(name, bin string, argv []string) error {
	c := exec.Command(bin, argv...)
	// Nothing may outlive this process, even killed: a second start would find
	// the ports taken.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	c.Stdout, c.Stderr = w, w
	if err := c.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.Close()
	go copyLines(r)
	p := &process{c, make(chan struct{})}
	s.mu.Lock()
	s.procs = append(s.procs, p)
	s.mu.Unlock()
	go func() {
		err := c.Wait()
		close(p.done)
		select {
		case s.dead <- fmt.Errorf("%s exited: %v", name, err):
		default:
		}
	}()
	return nil
}

// stop ends the components, the last started first, and by force what has not
// gone in time: the engine that stops the container waits only a few seconds.
func (s *supervisor) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.procs) - 1; i >= 0; i-- {
		s.procs[i].cmd.Process.Signal(syscall.SIGTERM)
	}
	limit := time.After(2 * time.Second)
	for _, p := range s.procs {
		select {
		case <-p.done:
		case <-limit:
			for _, p := range s.procs {
				p.cmd.Process.Kill()
			}
			return
		}
	}
}

// waitFor calls f until it succeeds or ctx ends; it returns f's last error.
func waitFor(ctx context.Context, every time.Duration, f func() error) error {
	return waitEvery(ctx, f, func(error) time.Duration { return every })
}

func waitEvery(ctx context.Context, f func() error, pause func(error) time.Duration) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause(err)):
		}
	}
}
