// Package gpu holds rigup's own gpu hooks. Each decides about the GPUs of one vendor, and knows nothing of the others
// in the machine.
package gpu

import (
	"rigup.dev/rigup/hooks/builtin/gpu/amd"
	"rigup.dev/rigup/hooks/builtin/gpu/intel"
	"rigup.dev/rigup/hooks/builtin/gpu/nvidia"
	"rigup.dev/rigup/hooks/sdk"
)

// Hooks are the gpu hooks by id.
func Hooks() map[string]sdk.Hook {
	return map[string]sdk.Hook{
		amd.Manifest().ID: only(amd.Hook), intel.Manifest().ID: only(intel.Hook), nvidia.Manifest().ID: only(nvidia.Hook),
	}
}

// Manifests describes the gpu hooks, by id.
func Manifests() []sdk.Manifest {
	return []sdk.Manifest{amd.Manifest(), intel.Manifest(), nvidia.Manifest()}
}

// only declines questions about environments.
func only(h sdk.Hook) sdk.Hook {
	return func(req sdk.Request) sdk.Response {
		if req.Kind != sdk.GPUHook {
			return sdk.No("this hook knows GPUs only")
		}
		return h(req)
	}
}
