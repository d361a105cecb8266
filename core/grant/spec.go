package grant

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"rigup.dev/rigup/hooks/sdk"
)

// cdi holds where the node's CDI spec comes from, and a static spec's every edit, against a grant.
func cdi(d sdk.GPU, g sdk.Permissions) error {
	c := d.CDI
	if err := may("CDI devices of", c.Kind, slices.Contains(g.Resources, c.Kind), resource); err != nil {
		return err
	}
	switch c.Mode {
	case sdk.CDINVIDIA:
		if len(c.Spec) > 0 {
			return errors.New("brings a CDI spec although NVIDIA's toolkit is to make it")
		}
		if d.Node.Target != "" && d.Node.Target != "node-nvidia" {
			return fmt.Errorf("wants NVIDIA's toolkit in the node image %s, which does not have it", d.Node.Target)
		}
		return nil
	case sdk.CDIStatic:
		return spec(c, g)
	}
	return fmt.Errorf("decides with the unknown CDI mode %.40q", c.Mode)
}

func spec(c sdk.CDI, g sdk.Permissions) error {
	var s specs.Spec
	// Strictly: the runtime in the node reads it again, and must not take another one of two fields that differ in
	// their case.
	if err := sdk.DecodeStrict(c.Spec, &s); err != nil {
		return fmt.Errorf("brings a CDI spec that cannot be read: %w", err)
	}
	switch {
	case s.Kind != c.Kind:
		return fmt.Errorf("brings a CDI spec of the kind %.80q instead of %s", s.Kind, c.Kind)
	case len(s.Devices) == 0 || len(s.Devices) > maxDevices:
		return fmt.Errorf("brings a CDI spec of %d devices; 1 to %d are possible", len(s.Devices), maxDevices)
	case s.Version == "":
		return errors.New("brings a CDI spec without cdiVersion")
	}
	seen := map[string]bool{}
	for _, dev := range s.Devices {
		if !cdiName.MatchString(c.Kind+"="+dev.Name) || seen[dev.Name] {
			return fmt.Errorf("brings a CDI spec with the device %.60q twice, or with no valid name", dev.Name)
		}
		seen[dev.Name] = true
		if err := edits(dev.ContainerEdits, g); err != nil {
			return err
		}
	}
	return edits(s.ContainerEdits, g)
}

func edits(e specs.ContainerEdits, g sdk.Permissions) error {
	if len(e.Hooks) > 0 {
		return errors.New("brings a CDI spec that runs programs, which no hook may")
	}
	if e.IntelRdt != nil || len(e.NetDevices) > 0 {
		return errors.New("brings a CDI spec that edits more than device nodes, mounts, variables and groups")
	}
	for _, n := range e.DeviceNodes {
		if n == nil {
			return errors.New("brings a CDI spec with a device node that is null")
		}
		// With a number of its own the runtime does not look at the path: it would be any device under that name.
		if n.Type != "" && n.Type != "c" || n.Major != 0 || n.Minor != 0 {
			return fmt.Errorf("gives the device node %s a type or number of its own, which no hook may", n.Path)
		}
		if n.HostPath != "" && n.HostPath != n.Path {
			return fmt.Errorf("gives the device node %s another name in containers, which no hook may", n.HostPath)
		}
		if err := nodes([]string{n.Path}, g); err != nil {
			return err
		}
	}
	for _, m := range e.Mounts {
		if err := mount(m, g); err != nil {
			return err
		}
	}
	for _, v := range e.Env {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return fmt.Errorf("brings a CDI spec with the variable %.60q, which has no value", v)
		}
		if err := env(map[string]string{name: value}, g); err != nil {
			return err
		}
	}
	gids := make([]int, len(e.AdditionalGIDs))
	for i, id := range e.AdditionalGIDs {
		gids[i] = int(id)
	}
	return groups(gids)
}

// mount holds one mount of a CDI spec against a grant. In the container it may cover nothing but directories of the
// kind that it comes from: a file over /etc/ld.so.preload would do what no variable may.
func mount(m *specs.Mount, g sdk.Permissions) error {
	if m == nil {
		return errors.New("brings a CDI spec with a mount that is null")
	}
	if err := binds([]string{m.HostPath}, g); err != nil {
		return err
	}
	if !slices.Contains(m.Options, "ro") {
		return fmt.Errorf("mounts %s without the option ro", m.HostPath)
	}
	if bad := slices.IndexFunc(m.Options, func(o string) bool { return !slices.Contains(mountOptions(), o) }); bad >= 0 {
		return fmt.Errorf("mounts %s with the option %.40q, which no hook may", m.HostPath, m.Options[bad])
	}
	if m.Type != "" && m.Type != "bind" {
		return fmt.Errorf("mounts %s as %.40q, which no hook may", m.HostPath, m.Type)
	}
	if err := Bindable(m.ContainerPath); err != nil {
		return fmt.Errorf("mounts %s over something in the container that no hook may cover: %w", m.HostPath, err)
	}
	return nil
}

func mountOptions() []string {
	return []string{"ro", "nosuid", "nodev", "noexec", "bind", "rbind", "private", "rprivate", "slave", "rslave"}
}
