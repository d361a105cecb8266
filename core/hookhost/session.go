package hookhost

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// child is a process that has one module decoded and answers requests to it. One request at a time.
type child struct {
	limits  Limits
	process *os.Process
	in      *os.File // what it reads
	out     *bufio.Reader
	outFile *os.File
	errs    head
	release func()

	hello bool        // it has started and is confined
	late  atomic.Bool // it was ended because its time was up
	gone  chan struct{}
	state *os.ProcessState // once it is gone
}

// start starts a child in the best way that works.
func start(exe string, args []string, l Limits) (*child, error) {
	if exe == "" {
		exe = self
	}
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
	}
	if len(os.Args) > 1 && os.Args[1] == ChildArg {
		return nil, errors.New("this program does not know the argument that makes it a child, and would start itself again and again")
	}
	var errs []error
	for _, way := range ways() {
		c, err := startIn(way, exe, args, l)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func startIn(way func(*exec.Cmd), exe string, args []string, l Limits) (*child, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe: %w", err), childIn.Close(), in.Close())
	}
	c := &child{limits: l, in: in, out: bufio.NewReader(out), outFile: out, gone: make(chan struct{}), release: func() {}}
	cmd := exec.Command(exe, args...)
	cmd.Env = []string{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, &c.errs
	cmd.WaitDelay = time.Second
	way(cmd)
	started := make(chan error)
	go c.wait(cmd, started)
	err = <-started
	_ = childIn.Close() // the child has its own
	_ = childOut.Close()
	if err == nil {
		var release func()
		if release, err = hold(cmd.Process, l); err == nil {
			c.release = release
		} else {
			_ = cmd.Process.Kill()
			<-c.gone
		}
	}
	if err != nil {
		_ = in.Close()
		_ = out.Close()
		return nil, fmt.Errorf("start the process that runs hooks: %w", err)
	}
	return c, nil
}

// wait starts the process and stays on its thread until the process is gone: on Linux the process is told to end
// when the thread that started it does.
func (c *child) wait(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Start()
	c.process = cmd.Process
	started <- err
	if err == nil {
		_ = cmd.Wait() // the state says more
		c.state = cmd.ProcessState
		close(c.gone)
	}
}

// end ends the process and waits until it is gone.
func (c *child) end() {
	_ = c.process.Kill() // it may be gone
	<-c.gone
	_ = c.in.Close()
	_ = c.outFile.Close()
	c.release()
}

// alive reports whether the process is there.
func (c *child) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// within runs one exchange and ends the process when the time is up or the context ends.
func (c *child) within(ctx context.Context, d time.Duration, exchange func() error) error {
	t := time.AfterFunc(d, func() {
		c.late.Store(true)
		_ = c.process.Kill()
	})
	defer t.Stop()
	defer context.AfterFunc(ctx, func() { _ = c.process.Kill() })()
	return exchange()
}

// read reads the next frame of the child.
func (c *child) read() (byte, []byte, error) { return readFrame(c.out, c.limits.fromChild) }

// load waits for the child to start and gives it its module. After an error the child is of no more use.
func (c *child) load(ctx context.Context, module []byte) *Failure {
	err := c.within(ctx, c.limits.Start, func() error {
		setup, err := json.Marshal(c.limits)
		if err != nil {
			return err
		}
		if err := writeFrame(c.in, frameSetup, setup); err != nil {
			return err
		}
		kind, _, err := c.read()
		if err != nil || kind != frameHello {
			return errors.Join(err, errStrange)
		}
		c.hello = true
		return nil
	})
	if err != nil {
		return c.explain(err, "")
	}
	d := c.limits.decode(len(module))
	err = c.within(ctx, d, func() error {
		if err := writeFrame(c.in, frameModule, module); err != nil {
			return err
		}
		kind, text, err := c.read()
		if err == nil && kind == frameFailure {
			return failureFrom(text)
		}
		if err != nil || kind != frameDecoded {
			return errors.Join(err, errStrange)
		}
		return nil
	})
	return c.explain(err, "could not be decoded within "+seconds(d))
}

// ask gives the child a request. After an error the child is of no more use.
func (c *child) ask(ctx context.Context, m Module, request []byte) (answer, log []byte, f *Failure) {
	err := c.within(ctx, c.limits.Kill*time.Duration(c.limits.Stretch), func() error {
		if err := writeFrame(c.in, frameRequest, m.Sum[:], request); err != nil {
			return err
		}
		kind, b, err := c.read()
		if err != nil || kind != frameLog {
			return errors.Join(err, errStrange)
		}
		log = b
		switch kind, b, err = c.read(); {
		case err != nil:
			return err
		case kind == frameFailure:
			return failureFrom(b)
		case kind != frameAnswer:
			return errStrange
		}
		answer = b
		return nil
	})
	return answer, log, c.explain(err, late(c.limits.Run))
}

var errStrange = errors.New("the process that runs hooks does not speak its protocol")

// failureFrom reads the failure that a child reports. It is not believed more than that it can be shown.
func failureFrom(b []byte) error {
	cause, text, _ := bytes.Cut(b, []byte("\n"))
	switch c := Cause(cause); c {
	case Refused, TimedOut, Crashed, Flooded:
		return &Failure{Cause: c, Text: line(string(text), 500)}
	}
	return errStrange
}

// explain turns the end of an exchange into a failure.
func (c *child) explain(err error, tooLate string) *Failure {
	if err == nil {
		return nil
	}
	if f := (*Failure)(nil); errors.As(err, &f) {
		return f
	}
	_ = c.process.Kill()
	<-c.gone
	said := c.errs.String()
	seen := firstLine(said)
	if seen == "" {
		seen = firstLine(err.Error())
	}
	seen = line(seen+" ("+c.state.String()+")", 300)
	switch code := c.state.ExitCode(); {
	case !c.hello && c.late.Load():
		return &Failure{Cause: Unable, Text: "was not asked: the process for it did not start within " + seconds(c.limits.Start)}
	case !c.hello:
		return &Failure{Cause: Unable, Text: "was not asked: the process for it did not start: " + seen}
	case c.late.Load() || code == exitLate:
		return &Failure{Cause: TimedOut, Text: tooLate}
	case code == exitMemory || noMemory(said):
		return &Failure{Cause: TooLarge, Text: fmt.Sprintf("needed more than %d MiB of memory", c.limits.Process>>20)}
	}
	return &Failure{Cause: Crashed, Text: "brought down the process that it ran in: " + seen}
}

// noMemory recognises what the Go runtime prints when the system gives it no more memory. A part of its garbage
// collector does not look whether it got some.
func noMemory(said string) bool {
	for _, s := range []string{"out of memory", "cannot allocate memory", "errno=12", "VirtualAlloc", "failed to create new OS thread", "SIGSEGV"} {
		if strings.Contains(said, s) {
			return true
		}
	}
	return false
}

// head keeps the beginning of what is written to it, and drops the rest.
type head struct {
	mu sync.Mutex
	b  []byte
}

const maxHead = 4 << 10

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, p[:min(len(p), maxHead-len(h.b))]...)
	return len(p), nil
}

func (h *head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.b)
}

var _ io.Writer = (*head)(nil)
