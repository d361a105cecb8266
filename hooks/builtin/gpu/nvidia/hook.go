package nvidia

import (
	"slices"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/failure"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// Hook answers a request.
func Hook(req sdk.Request) sdk.Response {
	v := view.New(why.NVIDIA, req)
	switch req.Phase {
	case sdk.Detect:
		return detect(look(v))
	case sdk.Decide:
		m := look(v)
		return v.Answer(decide(m))
	case sdk.Diagnose:
		return failure.Diagnose(v, failure.Vendor{Rules: [][]text.Rule{sick, rules}, Refine: refine(v), Fill: fill(v)})
	}
	return sdk.No("this phase is not known")
}

func detect(m machine) sdk.Response {
	if m.shape == none {
		return m.Answer(sdk.No(m.why...))
	}
	return m.Answer(sdk.Claiming(sdk.Claim{Confidence: m.confidence, Devices: m.devicesOf(append(slices.Clone(m.cards), m.beside...))}, m.why...))
}
