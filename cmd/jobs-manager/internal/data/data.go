// Package data makes directories writable for the workload's user, and proves it (invariant C6).
//
// kubelet does not apply fsGroup to hostPath volumes, and a host's file system may refuse chown, chmod or
// both (virtiofs, drvfs, rootless engines) and still be writable. So every repair is tried on its own, none
// waits for another to succeed, and only the end state decides: a process with the workload's own ids writes
// a file.
package data

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// proveLimit bounds one proof: a file of a few bytes.
const proveLimit = 20 * time.Second

// Dir is a directory and the mode it should have.
type Dir struct {
	Path string
	Mode fs.FileMode
}

// repairs are the ways to make a directory writable. Tests replace them.
type repairs struct {
	mkdir func(string, fs.FileMode) error
	chown func(path string, uid, gid int) error
	chmod func(string, fs.FileMode) error
	prove func(ctx context.Context, path string, uid, gid int) error
}

// Init is the command init-data. Its result is the exit code: 0 only if every directory is proven writable,
// 1 if one is not, 2 for wrong arguments. It prints one line for each directory.
func Init(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var dirs []Dir
	set := flag.NewFlagSet("init-data", flag.ContinueOnError)
	set.SetOutput(stderr)
	uid := set.Int("uid", -1, "user that must be able to write")
	gid := set.Int("gid", -1, "group of that user")
	set.Func("dir", "`PATH=MODE`, for example /data=2777; may be repeated", func(s string) error {
		d, err := parse(s)
		dirs = append(dirs, d)
		return err
	})
	if err := set.Parse(args); err != nil {
		return 2
	}
	var wrong string
	switch {
	case set.NArg() > 0:
		wrong = fmt.Sprintf("unexpected argument %q", set.Arg(0))
	case *uid < 0 || *gid < 0:
		wrong = "--uid and --gid are needed: the user that must be able to write"
	case len(dirs) == 0:
		wrong = "no --dir PATH=MODE is given"
	}
	if wrong != "" {
		fmt.Fprintln(stderr, "init-data:", wrong)
		return 2
	}
	return prepare(ctx, dirs, *uid, *gid, repairs{os.MkdirAll, os.Chown, os.Chmod, proveAs}, stdout)
}

func prepare(ctx context.Context, dirs []Dir, uid, gid int, r repairs, stdout io.Writer) int {
	code := 0
	for _, d := range dirs {
		line, ok := one(ctx, d, uid, gid, r)
		fmt.Fprintln(stdout, line)
		if !ok {
			code = 1
		}
	}
	return code
}

// one repairs and proves a single directory; the line says what was tried and how it ended.
func one(ctx context.Context, d Dir, uid, gid int, r repairs) (line string, writable bool) {
	var tried []string
	note := func(what string, err error) {
		if err == nil {
			tried = append(tried, what+" ok")
			return
		}
		tried = append(tried, what+" failed ("+brief(err)+")")
	}
	note("create", r.mkdir(d.Path, d.Mode.Perm()))
	note(fmt.Sprintf("chown %d:%d", uid, gid), r.chown(d.Path, uid, gid))
	note("chmod "+octal(d.Mode), r.chmod(d.Path, d.Mode))
	ctx, cancel := context.WithTimeout(ctx, proveLimit)
	defer cancel()
	err := r.prove(ctx, d.Path, uid, gid)
	line = d.Path + ": " + strings.Join(tried, ", ") + ": "
	switch {
	case err == nil:
		return line + fmt.Sprintf("writable for %d:%d", uid, gid), true
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return line + fmt.Sprintf("not writable for %d:%d: no answer within %s", uid, gid, proveLimit), false
	}
	return line + fmt.Sprintf("not writable for %d:%d: %s", uid, gid, brief(err)), false
}

func parse(s string) (Dir, error) {
	path, mode, ok := strings.Cut(s, "=")
	if !ok || !filepath.IsAbs(path) {
		return Dir{}, fmt.Errorf("%q: it is written PATH=MODE with an absolute path", s)
	}
	n, err := strconv.ParseUint(mode, 8, 32)
	if err != nil || n > 0o7777 {
		return Dir{}, fmt.Errorf("%q: the mode is an octal number up to 7777", s)
	}
	m := fs.FileMode(n & 0o777)
	for bit, flag := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if n&bit != 0 {
			m |= flag
		}
	}
	return Dir{Path: filepath.Clean(path), Mode: m}, nil
}

func octal(m fs.FileMode) string {
	n := uint32(m.Perm())
	for bit, flag := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&flag != 0 {
			n |= bit
		}
	}
	return fmt.Sprintf("%04o", n)
}

// brief is the reason of an error without the path, which stands at the head of the line.
func brief(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	s, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return s
}
