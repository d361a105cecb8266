package data

import (
	"fmt"
	"io"
	"os"
)

// ProveCommand is the command of the child that writes as the workload's user.
const ProveCommand = "prove-writable"

// Prove writes a file into the directory of its one argument, reads it back and removes it, as the user that
// the process runs as. Ownership and modes are not looked at: they are no proof. It is a process of its own,
// because ids belong to processes.
func Prove(args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: prove-writable DIR")
		return 2
	}
	if err := write(args[0]); err != nil {
		fmt.Fprintln(stderr, brief(err))
		return 1
	}
	return 0
}

func write(dir string) (err error) {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		// A directory in which files can be made but not removed fills up.
		if e := os.Remove(f.Name()); err == nil && e != nil {
			err = e
		}
	}()
	const content = "written by rigup to see that it can"
	if _, err := f.WriteString(content); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	b, err := os.ReadFile(f.Name())
	if err == nil && string(b) != content {
		err = fmt.Errorf("what was written is not what is read")
	}
	return err
}
