package grant

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// The errors of Probe, GPU and Environment go on after "the hook NAME": they name the first thing that it may not
// ask for. One such thing refuses the whole response.

// beyond is an item that the permissions do not list.
func beyond(what, item string) error {
	return fmt.Errorf("asks for %s %s, which it was not allowed", what, item)
}

// may holds that an item is allowed by the grant, and by the maxima.
func may(what, item string, allowed bool, limit func(string) error) error {
	if !allowed {
		return beyond(what, item)
	}
	if limit != nil {
		if err := limit(item); err != nil {
			return fmt.Errorf("asks for %s that no hook gets: %w", what, err)
		}
	}
	return nil
}

// Probe holds a probe against a grant.
func Probe(p sdk.Probe, g sdk.Permissions) error {
	if !slices.Contains(g.Probes, p.Kind) {
		return beyond("the probe", string(p.Kind))
	}
	switch p.Kind {
	case sdk.PCIList, sdk.EngineInfo:
		return nil
	case sdk.DeviceStat:
		return may("the device node", p.Path, matches(g.Devices, p.Path), Attachable)
	case sdk.FileRead:
		return may("the file", p.Path, matches(g.Files, p.Path), Readable)
	case sdk.ToolVersion:
		if err := VersionArgs(p.Args); err != nil {
			return fmt.Errorf("asks to run %.40s with other arguments than those for its version: %w", p.Tool, err)
		}
		return may("the program", p.Tool, slices.Contains(g.Tools, p.Tool), Tool)
	case sdk.RegistryReach:
		return may("the registry", p.Host, slices.Contains(g.Registries, p.Host), form(hostForm, "a host name"))
	case sdk.EngineRun:
		if err := may("the image", p.Image, imageAllowed(g.Images, p.Image), image); err != nil || p.Attach == nil {
			return err
		}
		return attach(*p.Attach, g)
	}
	return fmt.Errorf("asks for the probe %.40q, which does not exist", p.Kind)
}

// Environment holds the decision of an environment hook against what this rigup knows. Such a decision names nothing
// that permissions are about.
func Environment(d sdk.Environment) error {
	if !idForm.MatchString(d.ID) || line(d.Title) != nil || d.Title == "" {
		return errors.New("decides without a valid id and title")
	}
	for _, k := range d.Attach {
		if !slices.Contains([]sdk.AttachKind{sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices}, k) {
			return fmt.Errorf("decides with the unknown attachment %.40q", k)
		}
	}
	switch {
	case d.Nodes < 0 || d.Nodes > 100:
		return fmt.Errorf("decides for %d nodes", d.Nodes)
	case d.Memory != sdk.HostMemory && d.Memory != sdk.VirtualMemory:
		return fmt.Errorf("decides with the unknown memory model %.40q", d.Memory)
	case d.Paths != sdk.SamePaths && d.Paths != sdk.SharedPaths && d.Paths != sdk.NoPaths:
		return fmt.Errorf("decides with the unknown path model %.40q", d.Paths)
	}
	return nil
}

// maxDevices is far beyond what fits into one machine, with every GPU cut into seven.
const maxDevices = 256

// maxAttach is how many ways to hand over GPUs are tried: each can take minutes to fail.
const maxAttach = 8

// GPU holds the decision of a gpu hook against a grant, item by item.
func GPU(d sdk.GPU, g sdk.Permissions) error {
	switch {
	case d.Vendor == "" || line(d.Vendor) != nil:
		return errors.New("decides without naming the vendor")
	case len(d.Devices) == 0 || len(d.Devices) > maxDevices:
		return fmt.Errorf("decides about %d devices; 1 to %d are possible", len(d.Devices), maxDevices)
	case len(d.Attach) == 0 || len(d.Attach) > maxAttach:
		return fmt.Errorf("decides with %d attachments; 1 to %d are possible", len(d.Attach), maxAttach)
	}
	ids := map[string]bool{}
	for _, dev := range d.Devices {
		if dev.ID == "" || ids[dev.ID] {
			return fmt.Errorf("names the device %.60q twice, or not at all", dev.ID)
		}
		ids[dev.ID] = true
	}
	if err := may("the resource", d.Resource, slices.Contains(g.Resources, d.Resource), resource); err != nil {
		return err
	}
	for _, a := range d.Attach {
		if err := attach(a, g); err != nil {
			return err
		}
	}
	if err := first(check(d.Check, g), node(d.Node, g), cdi(d, g), workload(d.Workload, g)); err != nil {
		return err
	}
	return reach(d)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var cdiName = regexp.MustCompile(`^([^=]+)=([A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?)$`)

func attach(a sdk.Attach, g sdk.Permissions) error {
	if err := may("the attachment", string(a.Kind), slices.Contains(g.Attach, a.Kind), nil); err != nil {
		return err
	}
	if a.Kind != sdk.AttachDevices && len(a.Nodes)+len(a.Binds)+len(a.Groups) > 0 {
		return fmt.Errorf("mixes device nodes into an attachment of the kind %s", a.Kind)
	}
	switch a.Kind {
	case sdk.AttachCDI:
		if len(a.IDs) == 0 {
			return errors.New("asks for CDI devices without naming one")
		}
		for _, id := range a.IDs {
			m := cdiName.FindStringSubmatch(id)
			if m == nil {
				return fmt.Errorf("asks for the CDI device %.80q, which is not of the form vendor/class=name", id)
			}
			if err := may("CDI devices of", m[1], slices.Contains(g.Resources, m[1]), nil); err != nil {
				return err
			}
		}
	case sdk.AttachNVIDIA:
		for _, c := range a.Capabilities {
			if !slices.Contains([]string{"gpu", "compute", "utility", "graphics", "video"}, c) {
				return fmt.Errorf("asks for the unknown driver capability %.40q", c)
			}
		}
		for _, id := range a.IDs {
			if !plainID.MatchString(id) {
				return fmt.Errorf("asks for the device %.60q, which is no id of the NVIDIA driver", id)
			}
		}
	case sdk.AttachDevices:
		if len(a.Nodes) == 0 {
			return errors.New("asks for device nodes without naming one")
		}
	}
	return first(nodes(a.Nodes, g), binds(a.Binds, g), groups(a.Groups), env(a.Env, g))
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./:-]{0,79}$`)

func nodes(list []string, g sdk.Permissions) error {
	for _, p := range list {
		if err := may("the device node", p, matches(g.Devices, p), Attachable); err != nil {
			return err
		}
		if strings.ContainsAny(p, "*?[") {
			return fmt.Errorf("names the device node %s, which is a glob", p)
		}
	}
	return nil
}

func binds(list []string, g sdk.Permissions) error {
	for _, p := range list {
		if err := may("the mount of", p, matches(g.Binds, p), Bindable); err != nil {
			return err
		}
		if strings.ContainsAny(p, "*?[:") {
			return fmt.Errorf("names the mount %s, which is no plain path", p)
		}
	}
	return nil
}

// groups holds that nothing joins root's group.
func groups(list []int) error {
	for _, id := range list {
		if id < 1 || id > 1<<31-1 {
			return fmt.Errorf("asks for the group %d, which no hook gets", id)
		}
	}
	return nil
}

func env(vars map[string]string, g sdk.Permissions) error {
	for name, v := range vars {
		if err := may("the variable", name, slices.Contains(g.Env, name), variable); err != nil {
			return err
		}
		if line(v) != nil {
			return fmt.Errorf("sets the variable %s to something that is not one short line", name)
		}
	}
	return nil
}

func check(c sdk.Check, g sdk.Permissions) error {
	known := []sdk.Compute{sdk.ComputeCUDA, sdk.ComputeKFD, sdk.ComputeDRM, sdk.ComputeDevices}
	switch {
	case c.Compute == "" && len(c.Args) == 0:
		return errors.New("decides without a check: nothing would prove the GPU")
	case c.Compute != "" && !slices.Contains(known, c.Compute):
		return fmt.Errorf("asks for the proof %.40q, which is none of %s", c.Compute, strings.Trim(fmt.Sprint(known), "[]"))
	case len(c.Args) > 0 && c.Image == "":
		return errors.New("asks for a command without naming the image that has it")
	case len(c.Args) > 0 && c.Expect == nil:
		return errors.New("asks for a command without saying what it must do to pass")
	case len(c.Args) > maxItems:
		return fmt.Errorf("asks for a command of %d words", len(c.Args))
	}
	if c.Image != "" {
		if err := may("the image", c.Image, imageAllowed(g.Images, c.Image), image); err != nil {
			return err
		}
	}
	if c.Expect != nil {
		if _, err := regexp.Compile(c.Expect.Output); err != nil {
			return fmt.Errorf("expects something that is not a regular expression: %w", err)
		}
	}
	return nil
}

func node(n sdk.Node, g sdk.Permissions) error {
	for _, arg := range n.K3sArgs {
		if err := may("the k3s argument", arg, slices.Contains(g.K3sArgs, arg), k3sArg); err != nil {
			return err
		}
	}
	switch {
	case (n.Target == "") == (n.Image == ""):
		return errors.New("has to name either a target or an image for the node")
	case n.Target == ownImage:
		return errors.New("names no target for the node, and no image either")
	case n.Target != "":
		return may("the node image", n.Target, slices.Contains(g.Targets, n.Target), nil)
	case slices.Contains(roles(), n.Image) || strings.HasSuffix(n.Image, "*"):
		return fmt.Errorf("names %s as the node's image, which is none", n.Image)
	}
	if err := may("a node image of its own,", n.Image, slices.Contains(g.Targets, ownImage), nil); err != nil {
		return err
	}
	return may("the image", n.Image, imageAllowed(g.Images, n.Image), image)
}

func workload(w sdk.Workload, g sdk.Permissions) error {
	if w.VisibleDevices != "" && !visible.MatchString(w.VisibleDevices) {
		return fmt.Errorf("tells charts to show the devices %.60q, which are none", w.VisibleDevices)
	}
	if w.RuntimeClass == "" {
		return nil
	}
	return may("the runtime class", w.RuntimeClass, slices.Contains(g.Runtime, w.RuntimeClass), form(labelForm, "the name of a runtime class"))
}

var visible = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_./,:=-]{0,199}$`)
