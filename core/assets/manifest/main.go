// Command manifest writes the manifest of the embedded files: go run ./core/assets/manifest [-helpers ARCH].
// It runs in the root of the tree.
package main

import (
	"flag"
	"fmt"
	"os"

	"rigup.dev/rigup/core/assets"
)

func main() {
	arch := flag.String("helpers", "", "write the manifest of the programs built for linux on this architecture instead")
	flag.Parse()
	if err := write(*arch); err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
}

func write(arch string) error {
	tree := os.DirFS(".")
	path := assets.Manifest
	b, err := assets.Generate(tree)
	if arch != "" {
		path = assets.HelperManifest
		b, err = assets.GenerateHelpers(tree, arch)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, b, 0o644)
}
