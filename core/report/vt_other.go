//go:build !windows

package report

import "os"

// enableVT reports whether the terminal understands control sequences; here all but the dumb ones do.
func enableVT(*os.File) bool { return true }
