//go:build !linux && !darwin && !windows

package hookhost

import (
	"os"
	"os/exec"
	"time"
)

const self = ""

func ways() []func(*exec.Cmd) { return []func(*exec.Cmd){func(*exec.Cmd) {}} }

func hold(*os.Process, Limits) (release func(), err error) { return func() {}, nil }

// lower gives up nothing: the child watches its own memory and time.
func lower(Limits) error { return nil }

// worked is the time that passes: less of it is not known here.
func worked() time.Duration { return time.Duration(time.Now().UnixNano()) }
