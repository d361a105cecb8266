package facts

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// small is more than any file of /proc, /sys or /etc that is read here.
const small = 64 << 10

// line reads a file of one line. What is not there is empty.
func (o Observer) line(p string) (string, error) {
	b, err := o.root().ReadFile(p, small)
	if rooted.Missing(err) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// has fails where a file system that the kernel makes is not mounted: then nothing can be said about what is in it.
func (o Observer) has(dir string) error {
	ok, err := o.root().Exists(dir)
	if err == nil && !ok {
		err = errors.New(dir + " cannot be seen here")
	}
	return err
}

func (o Observer) osrelease(context.Context) (string, error) {
	b, err := o.root().ReadFile("/proc/sys/kernel/osrelease", small)
	return strings.TrimSpace(string(b)), err
}

func (o Observer) watches(context.Context) (int64, error) {
	b, err := o.root().ReadFile("/proc/sys/fs/inotify/max_user_watches", small)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// linuxDistro reads os-release, see os-release(5).
func (o Observer) linuxDistro(context.Context) (sdk.Distro, error) {
	b, err := o.root().ReadFile("/etc/os-release", small)
	if rooted.Missing(err) {
		b, err = o.root().ReadFile("/usr/lib/os-release", small)
	}
	if err != nil {
		return sdk.Distro{}, err
	}
	v := map[string]string{}
	for l := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(l), "="); ok {
			v[name] = strings.Trim(value, `"'`)
		}
	}
	d := sdk.Distro{ID: v["ID"], Version: v["VERSION_ID"], Name: v["PRETTY_NAME"], Like: v["ID_LIKE"]}
	if d.ID == "" {
		d.ID = "linux" // the default that os-release(5) names
	}
	if d.Name == "" {
		d.Name = strings.TrimSpace(v["NAME"] + " " + v["VERSION_ID"])
	}
	if d.Name == "" {
		d.Name = "Linux"
	}
	return d, nil
}

// wsl is what is known inside of WSL.
func (o Observer) wsl(context.Context) (sdk.WSL, error) {
	version, err := o.wslVersion()
	if err != nil {
		return sdk.WSL{}, err
	}
	w := sdk.WSL{Version: version, Distro: o.Private.Clean(o.env("WSL_DISTRO_NAME"))}
	w.Drivers, err = o.storedDrivers()
	return w, err
}

// wslVersion recognises the kernels of both versions: 4.4.0-19041-Microsoft is version 1's,
// 5.15.153.1-microsoft-standard-WSL2 version 2's. Where the owner built a kernel, what WSL mounts gives it away.
func (o Observer) wslVersion() (int, error) {
	kernel, err := o.line("/proc/sys/kernel/osrelease")
	if err != nil {
		return 0, err
	}
	switch low := strings.ToLower(kernel); {
	case strings.Contains(low, "microsoft-standard"), strings.Contains(low, "wsl2"):
		return 2, nil
	case strings.HasSuffix(kernel, "-Microsoft"):
		return 1, nil
	}
	for _, p := range []string{"/run/WSL", "/usr/lib/wsl/lib"} {
		if ok, err := o.root().Exists(p); ok || err != nil {
			return 2, err
		}
	}
	return 0, fs.ErrNotExist
}

var (
	// storeHash ends the name of a directory of the driver store.
	storeHash = regexp.MustCompile(`_[0-9a-f]{16}$`)
	// display begins the names of packages that can hold a GPU's driver: of NVIDIA (nv_dispi, nvlti), AMD (u0394217,
	// c0393456), Intel (iigd_dch, igdlh64, kit) and Qualcomm (qcdx8180).
	display = regexp.MustCompile(`^(nv|[uc]\d{6}|amd|ati|iigd|igd|ki\d|kit|ig\d|qcdx)`)
	// driverFile is what such a package holds: the driver for Windows, or libraries for Linux.
	driverFile = regexp.MustCompile(`(?i)^(nvlddmkm\.sys|amdkmdag\.sys|igdkmd.*\.sys|qcdx.*\.sys|lib.*\.so(\.[0-9.]+)?)$`)
)

// driverStore is where WSL mounts Windows' driver store.
const driverStore = "/usr/lib/wsl/drivers"

// storedDrivers are the GPU drivers in the driver store. All of it is there: hundreds of packages, most
// of other devices, over a file system that is slow. So only those are opened whose name can be meant.
func (o Observer) storedDrivers() ([]string, error) {
	names, err := o.root().ReadDir(driverStore)
	if rooted.Missing(err) {
		return nil, nil
	}
	var found []string
	for _, n := range names {
		if !display.MatchString(n) {
			continue
		}
		files, err := o.root().ReadDir(path.Join(driverStore, n))
		if err != nil && !rooted.Missing(err) {
			return nil, err
		}
		if slices.ContainsFunc(files, driverFile.MatchString) {
			found = append(found, storeHash.ReplaceAllString(n, ""))
		}
	}
	slices.Sort(found)
	return slices.Compact(found), err
}
