package facts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// errElsewhere says that a source exists on Linux only: the fact is unknown here, not absent.
var errElsewhere = errors.New("rigup reads this on Linux only")

func (o Observer) path(p string) string { return filepath.Join(o.Root, filepath.FromSlash(p)) }

// distro is the name that /etc/os-release gives the system.
func (o Observer) distro() (string, error) {
	if runtime.GOOS != "linux" {
		return runtime.GOOS, nil
	}
	b, err := os.ReadFile(o.path("etc/os-release"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`), nil
		}
	}
	return "Linux", nil
}

// vendors are the PCI vendor ids of GPUs that can compute. Display adapters of virtual machines and of
// servers' management boards are none.
var vendors = map[string]string{"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}

// gpus looks for display controllers (PCI class 03) of known vendors, and for WSL's GPU device.
func (o Observer) gpus() ([]GPU, error) {
	if runtime.GOOS != "linux" {
		return nil, errElsewhere
	}
	var found []GPU
	if _, err := os.Stat(o.path("dev/dxg")); err == nil {
		found = append(found, GPU{Vendor: "WSL", Address: "/dev/dxg"})
	}
	dir := o.path("sys/bus/pci/devices")
	devices, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range devices {
		class, err := os.ReadFile(filepath.Join(dir, d.Name(), "class"))
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(string(class), "0x03") {
			continue
		}
		id, err := os.ReadFile(filepath.Join(dir, d.Name(), "vendor"))
		if err != nil {
			return nil, err
		}
		if v, ok := vendors[strings.TrimSpace(string(id))]; ok {
			found = append(found, GPU{Vendor: v, Address: d.Name()})
		}
	}
	return found, nil
}

func (o Observer) watches() (int64, error) {
	b, err := os.ReadFile(o.path("proc/sys/fs/inotify/max_user_watches"))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// existing is the nearest parent of dir that exists, with links resolved.
func existing(dir string) string {
	for {
		if p, err := filepath.EvalSymlinks(dir); err == nil {
			return p
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// mountType finds the file system type of path in the text of /proc/self/mountinfo: the last mount whose
// point is a parent of path and longest.
func mountType(mountinfo []byte, path string) (string, error) {
	best, kind := -1, ""
	for line := range strings.Lines(string(mountinfo)) {
		left, right, ok := strings.Cut(line, " - ")
		f, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(f) < 5 || len(r) < 1 {
			continue
		}
		point := unescape(f[4])
		inside := path == point || point == "/" || strings.HasPrefix(path, point+"/")
		if inside && len(point) >= best {
			best, kind = len(point), r[0]
		}
	}
	if best < 0 {
		return "", fmt.Errorf("no mount holds %s", path)
	}
	return kind, nil
}

// unescape undoes mountinfo's octal escapes of blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// network are the file systems on which databases and overlay mounts lose data.
var network = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "9p": true, "afs": true, "ceph": true, "glusterfs": true, "lustre": true,
	"fuse.sshfs": true, "fuse.s3fs": true, "fuse.rclone": true, "fuse.gcsfuse": true, "fuse.blobfuse": true, "fuse.blobfuse2": true,
	"fuse.glusterfs": true, "fuse.ceph": true, "fuse.davfs": true, "davfs": true, "afpfs": true, "webdav": true, "remote": true,
}

// Network reports whether a file system type is a network one.
func Network(fsType string) bool { return network[fsType] }
