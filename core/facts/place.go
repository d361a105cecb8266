package facts

import (
	"fmt"
	"path/filepath"
	"strings"
)

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
