// Package decision asks the hooks what to do with a machine, and holds what they say against what they may say.
package decision

import (
	"context"

	"rigup.dev/rigup/core/hookhost"
	"rigup.dev/rigup/hooks/sdk"
)

// Hook is a hook that may run.
type Hook struct {
	Manifest sdk.Manifest
	// Grant is what a person allowed it; that of a built-in hook is its manifest's.
	Grant   sdk.Permissions
	Module  hookhost.Module
	BuiltIn bool
	// Unsigned is true for a hook whose publisher nobody vouches for.
	Unsigned bool
}

// Prober runs one probe. It is called only with probes that the hook's grant allows.
type Prober interface {
	Probe(ctx context.Context, p sdk.Probe) sdk.ProbeResult
}
