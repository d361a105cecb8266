// Package hookkit is what a vendor works with: the schemas of the protocol, a project to begin with, the checks that
// a hook has to pass, and packing and signing it.
package hookkit

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// SchemaDir is where the schemas lie in the files that rigup carries.
const SchemaDir = "hooks/schema"

const schemaSuffix = ".schema.json"

// Schema is a JSON Schema of one document of the protocol.
type Schema struct {
	Name    string `json:"name"`    // manifest, request, response, machine or expected
	Version string `json:"version"` // v1
	File    string `json:"file"`    // below SchemaDir
}

// Schemas lists the schemas, by name.
func Schemas(files fs.FS) ([]Schema, error) {
	entries, err := fs.ReadDir(files, SchemaDir)
	if err != nil {
		return nil, fmt.Errorf("list the schemas: %w", err)
	}
	var out []Schema
	for _, e := range entries {
		if s, ok := strings.CutSuffix(e.Name(), schemaSuffix); ok {
			name, version, _ := strings.Cut(s, ".")
			out = append(out, Schema{name, version, e.Name()})
		}
	}
	return out, nil
}

// ReadSchema returns a schema by its name: the newest version of it. ok is false when there is none.
func ReadSchema(files fs.FS, name string) (b []byte, ok bool, err error) {
	all, err := Schemas(files)
	if err != nil {
		return nil, false, err
	}
	i := slices.IndexFunc(all, func(s Schema) bool { return s.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	b, err = fs.ReadFile(files, path.Join(SchemaDir, all[i].File))
	return b, err == nil, err
}
