package probe

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/core/grant"
	"rigup.dev/rigup/hooks/sdk"
)

// follow holds what an attachment names against the limits once more, where its links lead on this machine: an engine
// follows them. LVM gives disks names of the owner's choice (/dev/ubuntu-vg/ubuntu-lv), and Debian has a link to the
// private keys of the machine below /usr/lib. What is not here is on the engine's own machine, or nowhere.
func (p Prober) follow(a sdk.Attach) error {
	root := rooted.Root(p.Machine.Root)
	for _, n := range a.Nodes {
		real, err := root.Resolve(n)
		if rooted.Missing(err) {
			continue
		}
		var st fs.FileInfo
		if err == nil {
			err = grant.Attachable(real)
		}
		if err == nil {
			st, err = os.Lstat(root.Path(real))
		}
		if err != nil {
			return fmt.Errorf("%s leads to what no hook may have: %w", n, err)
		}
		if m := st.Mode(); m.IsDir() || m&fs.ModeDevice != 0 && m&fs.ModeCharDevice == 0 {
			return fmt.Errorf("%s is no character device", n)
		}
	}
	for _, b := range a.Binds {
		real, err := root.Resolve(b)
		if rooted.Missing(err) {
			continue
		}
		if err == nil {
			err = grant.Bindable(asNamed(root, real))
		}
		if err != nil {
			return fmt.Errorf("%s leads to what no hook may have: %w", b, err)
		}
	}
	return nil
}

// asNamed writes a path below the directories that systems with a read-only /usr keep elsewhere as everybody calls it.
func asNamed(root rooted.Root, real string) string {
	for _, dir := range []string{"/opt", "/usr/local"} {
		if to, err := root.Resolve(dir); err == nil {
			if rest, ok := strings.CutPrefix(real, to+"/"); ok {
				return dir + "/" + rest
			}
		}
	}
	return real
}
