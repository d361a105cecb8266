package amd

import (
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
)

// rules are the texts of ROCm's programs and libraries. The tests name their origin.
var rules = []text.Rule{
	{ID: why.DriverMissing, Has: []string{"rock module is not loaded"}},
	{ID: why.NoKFD, Has: []string{"unable to open /dev/kfd", "no such file or directory"}},
	{ID: why.NoKFD, Has: []string{"/dev/kfd: no such file or directory"}},
	{ID: why.Denied, Has: []string{"unable to open /dev/kfd", "permission denied"}},
	{ID: why.Denied, Has: []string{"unable to open /dev/kfd", "operation not permitted"}},
	{ID: why.KFDRefuses, Has: []string{"unable to open /dev/kfd"}}, // cannot allocate memory, invalid argument
	{ID: why.KFDRefuses, Has: []string{"not supported in kfd"}},
	{ID: why.Fault, Has: []string{"amdgpu", "ring", "timeout"}},
	{ID: why.Fault, Has: []string{"amdgpu", "gpu reset begin"}},
	{ID: why.Fault, Has: []string{"memory access fault by gpu"}},
	{ID: why.NotInImage, Has: []string{"hiperrornobinaryforgpu"}},
	{ID: why.NotInImage, Has: []string{"hip error: invalid device function"}},
	{ID: why.NotInImage, Has: []string{"hsa_status_error_invalid_isa"}},
	{ID: why.MemoryFull, Has: []string{"hip out of memory"}},
	{ID: why.MemoryFull, Has: []string{"hiperroroutofmemory"}},
	{ID: why.NoDevice, Has: []string{"no rocm-capable device is detected"}},
	{ID: why.NoDevice, Has: []string{"hiperrornodevice"}},
}

// refine makes reasons of what depends on the machine.
func refine(v *view.View) func(why.ID, string, why.Fill) why.ID {
	return func(id why.ID, line string, _ why.Fill) why.ID {
		noNode := id == why.NodesMissing || id == why.NoKFD
		switch {
		case noNode && byProduct(v):
			return why.DesktopNo
		case noNode && strings.Contains(line, kfd):
			return why.NoKFD
		}
		return id
	}
}
