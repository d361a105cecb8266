package pipeline

import (
	"context"
	"strings"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/gpu"
	"rigup.dev/rigup/core/reason"
)

// decide says what the machine is to become. Without hooks there is one decision: a cluster on the CPU, and
// why.
func decide(_ context.Context, r *run) (step, error) {
	why := cpuReason(r.cfg.GPU, r.machine.GPUs)
	r.capability = gpu.None(why)
	return found(done("CPU: " + strings.TrimSuffix(lower(why.Text), ".")))
}

// cpuReason is the one reason for which this run does without a GPU.
func cpuReason(asked string, seen facts.Fact[[]facts.GPU]) reason.Reason {
	switch {
	case asked == "off":
		return reason.New(reason.GPUOff)
	case seen.Status == facts.Unknown:
		do := ""
		if seen.Why == facts.Denied {
			do = "run rigup as a user who may read the machine's device list"
		}
		return reason.New(reason.GPUUnknown, "do", do).With(seen.Why)
	case len(seen.Value) == 0:
		return reason.New(reason.GPUNone)
	}
	return reason.New(reason.GPUNotInUse, "gpu", describeGPUs(seen.Value)).With(addresses(seen.Value))
}

// describeGPUs names GPUs for a sentence: "an NVIDIA GPU", "2 NVIDIA GPUs and an Intel GPU".
func describeGPUs(gpus []facts.GPU) string {
	var order []string
	count := map[string]int{}
	for _, g := range gpus {
		if count[g.Vendor] == 0 {
			order = append(order, g.Vendor)
		}
		count[g.Vendor]++
	}
	var parts []string
	for _, v := range order {
		parts = append(parts, counted(v, count[v]))
	}
	return strings.Join(parts, " and ")
}

func counted(vendor string, n int) string {
	switch {
	case vendor == "WSL":
		return "a GPU (through WSL2)"
	case n > 1:
		return itoa(n) + " " + vendor + " GPUs"
	}
	return "an " + vendor + " GPU"
}

func addresses(gpus []facts.GPU) string {
	var all []string
	for _, g := range gpus {
		all = append(all, g.Vendor+" at "+g.Address)
	}
	return strings.Join(all, ", ")
}
