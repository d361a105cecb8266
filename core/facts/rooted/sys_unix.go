//go:build unix

package rooted

import (
	"errors"
	"syscall"
)

// openFlags keep opening a file from waiting (a pipe without a writer) and from following a link that took the
// file's place after it was resolved.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOFOLLOW

func notDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
