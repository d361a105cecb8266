//go:build !linux

package data

import (
	"context"
	"errors"
)

// proveAs needs Linux: the program runs in a Linux container.
func proveAs(context.Context, string, int, int) error {
	return errors.New("init-data runs on Linux only")
}
