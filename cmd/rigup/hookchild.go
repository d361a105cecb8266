package main

import (
	"context"
	"os"

	"rigup.dev/rigup/core/hookhost"
)

// isHookChild reports whether this process was started to run hooks, and for nothing else.
func isHookChild(args []string) bool { return len(args) == 2 && args[1] == hookhost.ChildArg }

// hookChild runs hooks until the parent closes its input.
func hookChild() int { return hookhost.Child(context.Background(), os.Stdin, os.Stdout) }
