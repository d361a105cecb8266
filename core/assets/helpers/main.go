// Command helpers builds the programs that run in the cluster, for linux on one architecture, compresses
// them and writes their manifest. The results are embedded into the executable of that architecture.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/klauspost/compress/zstd"

	"rigup.dev/rigup/core/assets"
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
		if err := compress(filepath.Join(dir, name+".zst"), program); err != nil {
			return err
		}
	}
	manifest, err := assets.GenerateHelpers(os.DirFS("."), arch)
	if err != nil {
		return err
	}
	return writeChanged(filepath.Join(dir, "manifest.sha256"), manifest)
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

// compress packs a program into path, unless path holds it already: strong compression takes seconds.
func compress(path string, program []byte) error {
	if packed, err := os.ReadFile(path); err == nil {
		if d, err := zstd.NewReader(bytes.NewReader(packed)); err == nil {
			defer d.Close()
			if b, err := io.ReadAll(d); err == nil && bytes.Equal(b, program) {
				return nil
			}
		}
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	return writeChanged(path, enc.EncodeAll(program, nil))
}

// writeChanged keeps the file's time when its content is the same, so that the build cache holds.
func writeChanged(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	return os.WriteFile(path, content, 0o644)
}
