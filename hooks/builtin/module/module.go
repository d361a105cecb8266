// Package module makes the module of rigup's own hooks.
package module

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/builtin/catalog"
)

// source is the command that becomes the module.
const source = "rigup.dev/rigup/hooks/builtin"

// Build compiles the module and puts the manifests into it. It needs the Go toolchain, and runs anywhere in the tree.
// The same sources give the same bytes: no paths, no build id of the checkout.
func Build() ([]byte, error) {
	tmp, err := os.MkdirTemp("", "rigup-hooks-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	out := filepath.Join(tmp, "builtin.wasm")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out, source)
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("build %s for wasip1: %w", source, err)
	}
	module, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	for _, m := range catalog.Manifests() {
		b, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		if module, err = hookhost.AddManifest(module, b); err != nil {
			return nil, fmt.Errorf("add the manifest of %s: %w", m.ID, err)
		}
	}
	return module, nil
}
