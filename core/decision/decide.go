package decision

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Decide asks the environment hooks about the engine's surroundings, and with gpu set the gpu hooks about the GPUs.
// The error is only ever the context's: hooks have no way to fail a decision.
func (d Decider) Decide(ctx context.Context, f sdk.Facts, gpu bool) (Plan, error) {
	p := Plan{}
	s := session{Decider: d, facts: f, plan: &p}
	p.Environment = s.environment(ctx)
	if gpu {
		s.gpus(ctx)
	}
	return p, ctx.Err()
}

// environment lets the most confident of the hooks that know the engine's surroundings decide about them.
func (s session) environment(ctx context.Context) Environment {
	var claims []*candidate
	for _, c := range s.candidates(sdk.EnvironmentHook) {
		r, ok := s.ask(ctx, c, sdk.Request{Kind: sdk.EnvironmentHook, Phase: sdk.Detect, Facts: s.facts})
		if ok && r.Kind == sdk.Claimed {
			c.claim = *r.Claim
			claims = append(claims, c)
		}
	}
	slices.SortStableFunc(claims, func(a, b *candidate) int { return cmp.Compare(b.claim.Confidence, a.claim.Confidence) })
	for _, c := range claims {
		r, ok := s.ask(ctx, c, sdk.Request{Kind: sdk.EnvironmentHook, Phase: sdk.Decide, Facts: s.facts})
		if ok && r.Environment != nil {
			return Environment{Environment: *r.Environment, Hook: c.Manifest.ID}
		}
	}
	return anyEnvironment(s.facts.Engine)
}

// gpus asks every gpu hook that can apply. Several vendors in one machine are several decisions.
func (s session) gpus(ctx context.Context) {
	env := s.plan.Environment.Environment
	claimed := map[string]bool{}
	for _, c := range s.candidates(sdk.GPUHook) {
		req := sdk.Request{Kind: sdk.GPUHook, Phase: sdk.Detect, Facts: s.facts, Environment: &env}
		r, ok := s.ask(ctx, c, req)
		if !ok || r.Kind != sdk.Claimed {
			continue
		}
		c.claim = *r.Claim
		for _, d := range c.claim.Devices {
			claimed[d.ID] = true
		}
		req.Phase = sdk.Decide
		if r, ok = s.ask(ctx, c, req); ok {
			s.take(c, r, env)
		}
	}
	order(s.plan.GPUs, func(g GPU) (string, []sdk.Device) { return g.Hook, g.Devices })
	order(s.plan.Unusable, func(u Unusable) (string, []sdk.Device) { return u.Hook, u.Devices })
	for _, d := range s.facts.PCI.Value {
		if !claimed[d.Address] && !shows(d) {
			s.plan.Unclaimed = append(s.plan.Unclaimed, d)
		}
	}
}

// take puts what a gpu hook decided into the plan. Attachments that the engine cannot honour are left out.
func (s session) take(c *candidate, r sdk.Response, env sdk.Environment) {
	id := c.Manifest.ID
	switch {
	case r.Reason != nil:
		s.plan.Unusable = append(s.plan.Unusable, Unusable{Hook: id, Devices: c.claim.Devices, Reason: *r.Reason})
	case r.GPU != nil:
		g := *r.GPU
		g.Attach = slices.DeleteFunc(slices.Clone(g.Attach), func(a sdk.Attach) bool { return !slices.Contains(env.Attach, a.Kind) })
		if len(g.Attach) > 0 {
			s.plan.GPUs = append(s.plan.GPUs, GPU{GPU: g, Hook: id, Name: c.Name()})
			return
		}
		s.plan.Unusable = append(s.plan.Unusable, Unusable{Hook: id, Devices: g.Devices, Reason: noWay(env, g)})
	}
}

// noWay is why none of a hook's attachments can work on this engine.
func noWay(env sdk.Environment, g sdk.GPU) sdk.Reason {
	if env.GPULess != nil {
		return *env.GPULess
	}
	var kinds []string
	for _, a := range g.Attach {
		kinds = append(kinds, string(a.Kind))
	}
	return sdk.Reason{
		ID:       "no-way-to-attach",
		Text:     "The engine has none of the ways in which " + g.Vendor + " GPUs are handed to containers.",
		Evidence: []string{"needed: " + strings.Join(kinds, " or ")},
	}
}

// order puts vendors into an order: a card of its own goes before a GPU inside of the processor, then more memory
// before less if all of them say how much they have, then more GPUs, and then the name decides. The order in which the
// machine lists its devices does not (G11).
func order[T any](list []T, about func(T) (hook string, devices []sdk.Device)) {
	told := !slices.ContainsFunc(list, func(x T) bool { _, d := about(x); return memory(d) == 0 })
	slices.SortStableFunc(list, func(x, y T) int {
		idX, a := about(x)
		idY, b := about(y)
		size := 0
		if told {
			size = cmp.Compare(memory(b), memory(a))
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), size, cmp.Compare(len(b), len(a)), cmp.Compare(idX, idY))
	})
}

// Held says which unusable GPUs matter more than those that can be used: cards of their own where only GPUs inside of
// the processor are left. Nobody bought the card for the processor's GPU to do its work.
func (p Plan) Held() (Unusable, bool) {
	if len(p.Unusable) == 0 || len(p.GPUs) > 0 && rank(p.GPUs[0].Devices) <= rank(p.Unusable[0].Devices) {
		return Unusable{}, false
	}
	return p.Unusable[0], true
}

func rank(devices []sdk.Device) int {
	if slices.ContainsFunc(devices, func(d sdk.Device) bool { return !d.Integrated }) {
		return 0
	}
	return 1
}

// memory is that of all devices in bytes; 0 when one does not say.
func memory(devices []sdk.Device) (sum int64) {
	for _, d := range devices {
		if d.Memory == 0 {
			return 0
		}
		sum += d.Memory
	}
	return sum
}

// shows reports whether a device only shows a screen: the adapters of virtual machines and of servers' management
// boards. No hook will ever claim them.
func shows(d sdk.PCIDevice) bool {
	switch d.Vendor {
	case "0x1013", // Cirrus
		"0x102b", // Matrox
		"0x1234", // QEMU's standard VGA
		"0x1414", // Hyper-V
		"0x15ad", // VMware
		"0x1a03", // ASPEED
		"0x1ab8", // Parallels
		"0x1af4", // virtio
		"0x1b36", // QXL
		"0x1d0f", // Amazon
		"0x80ee": // VirtualBox
		return true
	}
	switch d.Vendor + ":" + d.Device { // of makers that have real ones as well
	case "0x1002:0x4752", // Rage XL
		"0x1002:0x515e", // ES1000
		"0x19e5:0x1711": // Huawei iBMC
		return true
	}
	return false
}

// ErrNoHook is the error of Diagnose when the hook is not there, or has nothing to say.
var ErrNoHook = errors.New("no hook explains this")

// Diagnose asks the hook that decided about a GPU why a step failed.
func (d Decider) Diagnose(ctx context.Context, hook string, f sdk.Facts, env sdk.Environment, failure sdk.Failure) (sdk.Reason, error) {
	for _, h := range d.Hooks {
		if h.Manifest.ID != hook {
			continue
		}
		s := session{Decider: d, facts: f, plan: &Plan{}}
		r, ok := s.ask(ctx, &candidate{Hook: h}, sdk.Request{Kind: sdk.GPUHook, Phase: sdk.Diagnose, Facts: f, Environment: &env, Failure: &failure})
		if ok && r.Reason != nil {
			return *r.Reason, nil
		}
	}
	return sdk.Reason{}, cmp.Or(ctx.Err(), ErrNoHook)
}
