package hookhost

import (
	"encoding/binary"
	"fmt"

	"rigup.dev/rigup/hooks/sdk"
)

// AddManifest returns a module with one more section rigup.hook at its end, which holds the manifest. The module has
// to be one by its headers, and the manifest has to be one that Inspect reads.
func AddManifest(module, manifest []byte) ([]byte, error) {
	if _, err := readManifest(manifest); err != nil {
		return nil, fmt.Errorf("the manifest %w", err)
	}
	out, err := filter(module, func(section) bool { return true })
	if err != nil {
		return nil, fmt.Errorf("the module %w", err)
	}
	body := binary.AppendUvarint(nil, uint64(len(sdk.Section)))
	body = append(body, sdk.Section...)
	body = append(body, manifest...)
	out = append(out, idCustom)
	out = binary.AppendUvarint(out, uint64(len(body)))
	return append(out, body...), nil
}

// WithoutManifest returns a module without its sections rigup.hook, whatever they hold.
func WithoutManifest(module []byte) ([]byte, error) {
	out, err := filter(module, func(s section) bool { return s.id != idCustom || s.name != sdk.Section })
	if err != nil {
		return nil, fmt.Errorf("the module %w", err)
	}
	return out, nil
}

// bare is a module without custom sections, which the interpreter would decode for the names in them.
func bare(module []byte) ([]byte, error) {
	return filter(module, func(s section) bool { return s.id != idCustom })
}
