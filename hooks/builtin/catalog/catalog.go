// Package catalog lists rigup's own hooks.
package catalog

import (
	"maps"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/builtin/env"
	"rigup.dev/rigup/hooks/builtin/gpu"
	"rigup.dev/rigup/hooks/sdk"
)

// Hooks are all hooks, by id.
func Hooks() map[string]sdk.Hook {
	all := map[string]sdk.Hook{}
	maps.Copy(all, env.Hooks())
	maps.Copy(all, gpu.Hooks())
	return all
}

// Manifests describes all hooks, by id.
func Manifests() []sdk.Manifest {
	all := slices.Concat(env.Manifests(), gpu.Manifests())
	slices.SortFunc(all, func(a, b sdk.Manifest) int { return strings.Compare(a.ID, b.ID) })
	return all
}
