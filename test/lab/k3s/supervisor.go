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
	name string
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
	p := &process{name, c, make(chan struct{})}
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

// stop ends the components, the store last: the API server takes its address
// out of the store when it goes, and a node that comes back with another one
// is then not announced under both. What has not gone in time is killed: the
// engine that stops the container waits only a few seconds.
func (s *supervisor) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last []*process
	var first []*process
	for _, p := range s.procs {
		if p.name == "etcd" || p.name == "containerd" {
			last = append(last, p)
		} else {
			first = append(first, p)
		}
	}
	for _, group := range [][]*process{first, last} {
		for _, p := range group {
			p.cmd.Process.Signal(syscall.SIGTERM)
		}
		limit := time.After(1500 * time.Millisecond)
		for _, p := range group {
			select {
			case <-p.done:
				continue
			case <-limit:
			}
			break
		}
	}
	for _, p := range s.procs {
		p.cmd.Process.Kill()
	}
}

// kill ends the components without waiting.
func (s *supervisor) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		p.cmd.Process.Kill()
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
