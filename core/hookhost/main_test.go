package hookhost

import (
	"context"
	"os"
	"testing"
)

// TestMain makes the test program its own child, as the real program is.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == ChildArg {
		os.Exit(Child(context.Background(), os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}
