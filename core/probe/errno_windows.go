package probe

import "golang.org/x/sys/windows"

// How a connection fails.
const (
	errRefused   = windows.WSAECONNREFUSED
	errReset     = windows.WSAECONNRESET
	errNoNetwork = windows.WSAENETUNREACH
	errNoHost    = windows.WSAEHOSTUNREACH
)
