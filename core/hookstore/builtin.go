package hookstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/core/hookhost"
)

// BuiltInModule is where the program carries the module with its own hooks, packed. It is made when a release is
// built; without it there are no built-in hooks.
const BuiltInModule = "assets/hooks/builtin.wasm.zst"

// FromProgram reads the built-in hooks out of the files that the program carries. They go through the same checks as
// all others.
func FromProgram(files fs.FS) ([]BuiltIn, error) {
	packed, err := fs.ReadFile(files, BuiltInModule)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	b, err := io.ReadAll(io.LimitReader(d, maxModule+1))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", BuiltInModule, err)
	}
	st, err := hookhost.Inspect(b)
	if err != nil {
		return nil, fmt.Errorf("the module of the built-in hooks %w", err)
	}
	for _, m := range st.Manifests {
		if err := grant.Valid(m); err != nil {
			return nil, fmt.Errorf("the built-in hook %s: %w", m.ID, err)
		}
	}
	return []BuiltIn{{Module: hookhost.NewModule("built in", b), Manifests: st.Manifests}}, nil
}
