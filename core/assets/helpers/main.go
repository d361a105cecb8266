// Command helpers builds the programs that run in the cluster, for linux on one architecture, compresses
// them and writes their manifest. The results are embedded into the executable of that architecture.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"rigup.dev/rigup/core/assets"
	"rigup.dev/rigup/core/assets/pack"
)

// programs are the helpers, by the folder of their source below cmd.
var programs = []string{"jobs-manager"}

const dir = "assets/helpers"

func main() {
	arch := flag.String("arch", runtime.GOARCH, "architecture, as Go names it")
	version := flag.String("version", "dev", "version that the programs report")
	flag.Parse()
	if err := run(*arch, *version); err != nil {
		fmt.Fprintln(os.Stderr, "helpers:", err)
		os.Exit(1)
	}
}

func run(arch, version string) error {
	for _, name := range programs {
		program, err := build(name, arch, version)
		if err != nil {
			return err
		}
		if err := pack.Write(filepath.Join(dir, name+".zst"), program); err != nil {
			return err
		}
	}
	manifest, err := assets.GenerateHelpers(os.DirFS("."), arch)
	if err != nil {
		return err
	}
	return pack.WriteChanged(filepath.Join(dir, "manifest.sha256"), manifest)
}

// build compiles a helper. The same sources give the same bytes: no paths, no build id of the checkout.
func build(name, arch, version string) ([]byte, error) {
	tmp, err := os.MkdirTemp("", "rigup-helpers-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, name)
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", out, "./cmd/"+name)
	c.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("build %s for linux/%s: %w", name, arch, err)
	}
	return os.ReadFile(out)
}
