//go:build unix

package probe

import "syscall"

// How a connection fails.
const (
	errRefused   = syscall.ECONNREFUSED
	errReset     = syscall.ECONNRESET
	errNoNetwork = syscall.ENETUNREACH
	errNoHost    = syscall.EHOSTUNREACH
)
