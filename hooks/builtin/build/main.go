// Command build makes the module of rigup's own hooks and compresses it into a file, which is embedded into the
// executable: go run ./hooks/builtin/build [-out FILE]. It runs in the root of the tree.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"rigup.dev/rigup/core/assets/pack"
	"rigup.dev/rigup/hooks/builtin/module"
)

func main() {
	out := flag.String("out", "assets/hooks/builtin.wasm.zst", "file to write")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	b, err := module.Build()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	return pack.Write(out, b)
}
