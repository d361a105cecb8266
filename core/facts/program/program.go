// Package program runs small programs of the machine, such as a vendor's tool that is asked for its version. None
// outlives its deadline, nor do its children (invariant E1), none reads from the terminal, and output is bounded.
package program

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"rigup.dev/rigup/core/facts/rooted"
)

// Call is a program to run.
type Call struct {
	// Root is where Path is looked up; Path is the program as seen from there.
	Root rooted.Root
	Path string
	Args []string
	Env  []string // NAME=value; nothing else is passed on
	// Limit is how long it may take; Max how many bytes of its output are kept, from the beginning.
	Limit time.Duration
	Max   int
}

// Result is what came of it.
type Result struct {
	Exit   int
	Output string // both streams
	// Err says why there is no exit code: context.DeadlineExceeded, the context's error, or why it did not start.
	Err error
}

// drain is how long output may still arrive when the program has ended.
const drain = time.Second

// Run runs a program to its end.
func Run(ctx context.Context, c Call) Result {
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	real, err := c.Root.Resolve(c.Path)
	if err != nil {
		return Result{Err: err}
	}
	out := &head{max: c.Max}
	cmd := exec.CommandContext(ctx, c.Root.Path(real), c.Args...)
	cmd.Args[0] = c.Path // some programs are several, by the name that they are called
	cmd.Env, cmd.Dir = c.Env, string(c.Root)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = drain
	g, err := contain(cmd)
	if err != nil {
		return Result{Err: err}
	}
	defer g.kill()
	var cut atomic.Bool // it was ended, as opposed to a deadline that passed while its children kept the output open
	cmd.Cancel = func() error { cut.Store(true); g.kill(); return nil }
	if err := cmd.Start(); err != nil {
		return Result{Err: err}
	}
	if err := g.started(cmd); err != nil {
		g.kill()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return Result{Err: err}
	}
	err = cmd.Wait()
	r := Result{Output: string(out.kept)}
	var ended *exec.ExitError
	switch {
	case cut.Load():
		r.Err = ctx.Err()
	case errors.As(err, &ended):
		r.Exit = ended.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // which says that a child kept the output open
		r.Err = err
	}
	return r
}

// head keeps the beginning of what is written to it, and takes the rest without complaint.
type head struct {
	kept []byte
	max  int
}

func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(len(p), h.max-len(h.kept))]...)
	return len(p), nil
}

// Search says where programs are looked for.
type Search struct {
	Root rooted.Root
	Dirs []string // in this order; patterns of path.Match are allowed
	// Suffix is what the names of programs end with (.exe).
	Suffix string
	// Any takes files that are not marked as executable: where the system knows no such mark.
	Any bool
}

// Find returns the path of a program, as seen from the root. One that is nowhere is fs.ErrNotExist; where a directory
// could not be read, that is the error. What this user may not look into, this user cannot run either.
func (s Search) Find(name string) (string, error) {
	var unseen error
	for _, pattern := range s.Dirs {
		found, err := s.Root.Glob(path.Join(pattern, name+s.Suffix))
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			unseen = err
		}
		slices.Reverse(found) // of several versions the latest
		for _, p := range found {
			real, err := s.Root.Resolve(p)
			if err != nil {
				continue
			}
			st, err := os.Stat(s.Root.Path(real))
			if err != nil || !st.Mode().IsRegular() || !s.Any && st.Mode()&0o111 == 0 {
				continue
			}
			if dir, err := os.Stat(s.Root.Path(path.Dir(real))); err != nil || !safe(st) || !safe(dir) {
				unseen = fmt.Errorf("run %s, which other users may change, as root: %w", p, fs.ErrPermission)
				continue
			}
			return p, nil
		}
	}
	if unseen != nil {
		return "", unseen
	}
	return "", &fs.PathError{Op: "find", Path: name, Err: fs.ErrNotExist}
}

// PathDirs are the absolute directories of a PATH variable that hold no wildcard.
func PathDirs(variable string) []string {
	var dirs []string
	for _, d := range strings.Split(variable, string(os.PathListSeparator)) {
		if d != "" && absolute(d) && !strings.ContainsAny(d, `*?[`) {
			dirs = append(dirs, slashed(d))
		}
	}
	return dirs
}
