package facts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// gpuNodes are the device nodes of the drivers that rigup knows.
var gpuNodes = []string{
	"/dev/dxg", "/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/nvidia-uvm*", "/dev/nvidia-modeset", "/dev/nvidia-caps/nvidia-cap[0-9]*",
	"/dev/nvidia-nvswitch*", "/dev/nvidia-caps-imex-channels/channel*",
	"/dev/kfd", "/dev/dri/card[0-9]*", "/dev/dri/renderD[0-9]*", "/dev/accel/accel[0-9]*",
}

// ErrNotDevice says that there is something, and that it is no character device.
var ErrNotDevice = errors.New("not a character device")

// Node looks at one device node. A link to a device node is one.
func (o Observer) Node(ctx context.Context, p string) Fact[sdk.DeviceNode] {
	return Within(ctx, o.limit(), func(context.Context) (sdk.DeviceNode, error) { return o.node(p) })
}

func (o Observer) node(p string) (sdk.DeviceNode, error) {
	real, err := o.root().Resolve(p)
	if err != nil {
		return sdk.DeviceNode{}, err
	}
	if !strings.HasPrefix(real, "/dev/") {
		return sdk.DeviceNode{}, ErrNotDevice
	}
	st, err := os.Lstat(o.root().Path(real))
	if err != nil {
		return sdk.DeviceNode{}, err
	}
	device := st.Mode()&fs.ModeCharDevice != 0
	if !device && !(o.PlainNodes && st.Mode().IsRegular()) {
		return sdk.DeviceNode{}, ErrNotDevice
	}
	return describe(p, st), nil
}

// nodes are the device nodes of GPUs, and those that the globs match.
func (o Observer) nodes(globs []string) ([]sdk.DeviceNode, error) {
	if err := o.has("/dev"); err != nil {
		return nil, err
	}
	var paths []string
	for _, g := range append(slices.Clone(gpuNodes), globs...) {
		found, err := o.root().Glob(g)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	slices.Sort(paths)
	var all []sdk.DeviceNode
	for _, p := range slices.Compact(paths) {
		n, err := o.node(p)
		switch {
		case err == nil:
			all = append(all, n)
		case !errors.Is(err, ErrNotDevice) && !rooted.Missing(err):
			return nil, err
		}
	}
	return all, nil
}
