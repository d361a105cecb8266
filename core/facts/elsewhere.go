//go:build !linux

package facts

import (
	"context"
	"io/fs"
)

// nothing is a source of what a system does not have, such as kernel modules on Windows.
func nothing[T any](context.Context) (v T, err error) { return v, fs.ErrNotExist }
