// Package machines holds machines as rigup observes them, written down as JSON: real combinations of hardware,
// drivers, systems and engines. Hooks are tested against every one of them.
//
// The files are written by hand. Each says in its notes where the values come from; nothing in them names a person
// or identifies a machine.
package machines

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Files are the machines, NAME.json.
//
//go:embed *.json
var Files embed.FS

// Named is a machine and the name of its file, without the ending.
type Named struct {
	Name string
	sdk.Machine
}

// All reads every machine, by name.
func All() ([]Named, error) {
	files, err := fs.Glob(Files, "*.json")
	if err != nil {
		return nil, err
	}
	all := make([]Named, 0, len(files))
	for _, file := range files {
		m, err := Read(strings.TrimSuffix(file, path.Ext(file)))
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// Read reads one machine.
func Read(name string) (Named, error) {
	b, err := Files.ReadFile(name + ".json")
	if err != nil {
		return Named{}, err
	}
	m, err := sdk.DecodeMachine(b)
	if err != nil {
		return Named{}, fmt.Errorf("read the machine %s: %w", name, err)
	}
	return Named{name, m}, nil
}
