// Package failure explains what failed, as far as that is the same for every vendor.
package failure

import (
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/text"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/view"
	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
)

// Vendor is what a vendor's hook knows of failures.
type Vendor struct {
	// Rules are its own texts; they go before the common ones. They come in parts, so that a part can be used alone.
	Rules [][]text.Rule
	// Refine turns what a text means into what it means on this machine, and adds values. An empty id means that
	// the text says nothing after all.
	Refine func(id why.ID, line string, fill why.Fill) why.ID
	// Fill are values for remedies.
	Fill why.Fill
}

// common are the texts of engines, of the CDI library in them and of Kubernetes. Their origin stands in the tests.
var common = []text.Rule{
	{ID: why.CDIOff, Has: []string{`could not select device driver "cdi"`}},
	{ID: why.NoDXG, Has: []string{"/dev/dxg", "no such file or directory"}},
	{ID: why.CDIStale, Has: []string{"failed to stat cdi host device"}},
	{ID: why.CDIMissing, Has: []string{"unresolvable cdi devices"}},
	{ID: why.CDIStale, Has: []string{"failed to inject cdi devices"}},
	{ID: why.CDIStale, Has: []string{"cdi device injection failed"}},
	{ID: why.NodesMissing, Has: []string{"error gathering device information while adding custom device", "no such file or directory"}},
	{ID: why.Denied, Has: []string{"/dev/", "permission denied"}},
	{ID: why.Denied, Has: []string{"/dev/", "operation not permitted"}},
	{ID: why.Unhealthy, Has: []string{"cannot allocate unhealthy devices"}},
	{ID: why.Admission, Has: []string{"unexpectedadmissionerror"}},
	{ID: why.Admission, Has: []string{"allocate failed due to", "which is unexpected"}},
}

// Diagnose explains a failure, or declines when nothing in it is known.
func Diagnose(v *view.View, vendor Vendor) sdk.Response {
	f := v.Failure
	switch {
	case f == nil:
		return sdk.No("there is no failure to explain")
	case f.Step == sdk.StepImage:
		return sdk.No("getting and building images is the same for every GPU")
	}
	fill := why.Fill{"device": device(f.Attach)}
	for k, s := range vendor.Fill {
		fill[k] = s
	}
	if f.TimedOut {
		fill["what"] = what(f.Step)
		return sdk.Giving(*v.Reason(why.TimedOut, fill, some(text.Last(f.Output))...))
	}
	id, line, ok := text.Match(f.Output, vendor.Rules...)
	if !ok && text.Pull(f.Output) {
		return sdk.No("the image could not be had, which is not about the GPU")
	}
	if !ok {
		id, line, ok = text.Match(f.Output, common, taken(fill["resource"]))
	}
	if ok {
		id = inNode(id, f.Step)
		if fill["node"] = text.Path(line); fill["node"] != "" && !ofGPU(fill["node"]) {
			id = "" // a device node of something else
		}
	}
	if ok && vendor.Refine != nil {
		id = vendor.Refine(id, line, fill)
	}
	if id == "" {
		id, line = byStep(f.Step), text.Last(f.Output)
	}
	if id == "" {
		return v.Answer(sdk.No("nothing in the output is known"))
	}
	return v.Answer(sdk.Giving(*v.Reason(id, fill, some(line)...)))
}

// ofGPU reports whether a device node is one of those that the hooks hand over.
func ofGPU(path string) bool {
	return slices.ContainsFunc([]string{"/dev/nvidia", "/dev/kfd", "/dev/dri", "/dev/dxg"}, func(begin string) bool { return strings.HasPrefix(path, begin) })
}

// inNode tells what a text about CDI means by where it comes from: the engine's spec, or the node's own.
func inNode(id why.ID, s sdk.Step) why.ID {
	if (id == why.CDIMissing || id == why.CDIStale) && s != sdk.StepAttach && s != sdk.StepCheck {
		return why.NodeCDI
	}
	return id
}

// byStep is what a step's failure means whatever was printed.
func byStep(s sdk.Step) why.ID {
	switch s {
	case sdk.StepCDI:
		return why.NodeCDI
	case sdk.StepAdvertise:
		return why.NotAdvertised
	}
	return ""
}

// taken is what the scheduler says when no node has a resource left.
func taken(resource string) []text.Rule {
	return []text.Rule{{ID: why.NoneFree, Has: []string{"insufficient " + strings.ToLower(resource)}}}
}

// device is the CDI device that was asked for.
func device(a *sdk.Attach) string {
	if a == nil || len(a.IDs) == 0 {
		return "of this kind"
	}
	return a.IDs[0]
}

// what begins a sentence about a step that took too long.
func what(s sdk.Step) string {
	switch s {
	case sdk.StepAttach:
		return "Starting a container with the GPU"
	case sdk.StepCDI:
		return "Describing the GPU in the cluster's node"
	case sdk.StepAdvertise:
		return "Offering the GPU in the cluster's node"
	case sdk.StepPod:
		return "The check of the GPU in a pod"
	}
	return "The check of the GPU in a container"
}

func some(line string) []string {
	if line == "" {
		return nil
	}
	return []string{line}
}
