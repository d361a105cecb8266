package grant

import (
	"fmt"
	"slices"
	"strings"

	specs "tags.cncf.io/container-device-interface/specs-go"

	"rigup.dev/rigup/hooks/sdk"
)

// reach holds that what a static CDI spec hands on to pods gets to the node in the first place, with every attachment
// of device nodes: any of them may be the one that works. Otherwise the first to find out would be a pod. What other
// kinds of attachments bring is the engine's to know.
func reach(d sdk.GPU) error {
	if d.CDI.Mode != sdk.CDIStatic {
		return nil
	}
	var s specs.Spec
	if err := sdk.DecodeStrict(d.CDI.Spec, &s); err != nil {
		return err // spec said it better before
	}
	all := []specs.ContainerEdits{s.ContainerEdits}
	for _, dev := range s.Devices {
		all = append(all, dev.ContainerEdits)
	}
	for _, a := range d.Attach {
		if a.Kind != sdk.AttachDevices {
			continue
		}
		for _, e := range all {
			for _, n := range e.DeviceNodes {
				if !slices.Contains(a.Nodes, n.Path) {
					return fmt.Errorf("brings a CDI spec with the device node %s, which its attachment of device nodes does not hand to the node", n.Path)
				}
			}
			for _, m := range e.Mounts {
				if !slices.ContainsFunc(a.Binds, func(b string) bool { return m.HostPath == b || strings.HasPrefix(m.HostPath, b+"/") }) {
					return fmt.Errorf("brings a CDI spec that mounts %s, which its attachment of device nodes does not hand to the node", m.HostPath)
				}
			}
		}
	}
	return nil
}
