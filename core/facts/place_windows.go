package facts

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// fsType is the type of the volume, or "remote" for a network drive and a UNC path.
func (o Observer) fsType(path string) (string, error) {
	if strings.HasPrefix(path, `\\`) {
		return "remote", nil
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(path) + `\`)
	if err != nil {
		return "", err
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "remote", nil
	}
	name := make([]uint16, windows.MAX_PATH+1)
	if err := windows.GetVolumeInformation(root, nil, 0, nil, nil, nil, &name[0], uint32(len(name))); err != nil {
		return "", err
	}
	return strings.ToLower(windows.UTF16ToString(name)), nil
}

func freeBytes(path string) (uint64, error) {
	p, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return free, err
}
