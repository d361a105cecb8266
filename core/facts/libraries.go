package facts

import (
	"context"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"rigup.dev/rigup/core/facts/rooted"
	"rigup.dev/rigup/hooks/sdk"
)

// driverLibraries are the user-space parts of drivers that are looked for. Those of a pattern count once for each
// directory: the one without a number, or else that of the highest.
var driverLibraries = []string{
	"libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-ptxjitcompiler.so.1", "libnvidia-container.so.1", // NVIDIA
	"libdxcore.so", "libd3d12.so", "libd3d12core.so", // WSL
	"libamdhip64.so*", "libhsa-runtime64.so*", "librocm_smi64.so*", "libamd_smi.so*", // AMD
	"libze_loader.so.1", "libze_intel_gpu.so.1", "libigdrcl.so", // Intel
	"libOpenCL.so.1",
}

// libraryDirs are where drivers put them, beside what the loader's configuration names. Debian keeps NVIDIA's in
// directories of their own and links to one of them, NixOS has no /usr/lib.
func libraryDirs(arch string) []string {
	triplet := map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}[arch]
	return []string{
		"/usr/lib/" + triplet, "/usr/lib64", "/usr/lib", "/usr/local/lib", "/usr/lib/wsl/lib", driverStore + "/*", "/usr/lib/nvidia*",
		"/usr/lib/" + triplet + "/nvidia", "/usr/lib/" + triplet + "/nvidia/*", "/usr/lib/" + triplet + "/tegra", "/usr/lib64/nvidia*", "/usr/lib/" + triplet + "/intel-opencl", "/usr/lib64/intel-opencl",
		"/opt/rocm*/lib", "/opt/rocm*/lib64", "/opt/amdgpu*/lib/" + triplet, "/run/opengl-driver/lib", "/var/lib/snapd/lib/gl",
	}
}

// maxDirs bounds how many directories are looked into.
const maxDirs = 512

// libraries are the drivers' libraries, in every directory that has one.
func (o Observer) libraries(context.Context) ([]sdk.Library, error) {
	if err := o.has("/usr"); err != nil {
		return nil, err
	}
	dirs, err := o.libraryDirs()
	if err != nil {
		return nil, err
	}
	var all []sdk.Library
	for _, dir := range dirs {
		names, err := o.root().ReadDir(dir)
		if rooted.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range libraryNames(names) {
			real, err := o.root().Resolve(path.Join(dir, n))
			if rooted.Missing(err) {
				continue // a link to nothing: a driver that was removed
			}
			if err != nil {
				return nil, err
			}
			all = append(all, sdk.Library{Name: n, Path: path.Join(dir, n), Version: libraryVersion(path.Base(real))})
		}
	}
	slices.SortFunc(all, func(a, b sdk.Library) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// libraryDirs are the directories that exist, each once, however many links lead to it.
func (o Observer) libraryDirs() ([]string, error) {
	configured, err := o.loaderDirs()
	if err != nil {
		return nil, err
	}
	var dirs []string
	seen := map[string]bool{}
	for _, g := range append(libraryDirs(runtime.GOARCH), configured...) {
		found, err := o.root().Glob(g)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			if path.Dir(d) == driverStore && !display.MatchString(path.Base(d)) {
				continue
			}
			real, err := o.root().Resolve(d)
			if err != nil && !rooted.Missing(err) {
				return nil, err
			}
			if err == nil && !seen[real] && len(dirs) < maxDirs {
				seen[real] = true
				dirs = append(dirs, d)
			}
		}
	}
	return dirs, nil
}

// loaderDirs are the directories that the loader's configuration names, see ldconfig(8). Its cache is not read: it
// can be older than the driver.
func (o Observer) loaderDirs() ([]string, error) {
	files, err := o.root().Glob("/etc/ld.so.conf.d/*.conf")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range append([]string{"/etc/ld.so.conf"}, files...) {
		b, err := o.root().ReadFile(f, small)
		if rooted.Missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for l := range strings.Lines(string(b)) {
			l, _, _ = strings.Cut(strings.TrimSpace(l), "#")
			if l = strings.TrimSpace(l); path.IsAbs(l) && !strings.ContainsAny(l, `*?[\`) {
				dirs = append(dirs, l)
			}
		}
	}
	return dirs, nil
}

// libraryNames picks the drivers' libraries out of the names in a directory.
func libraryNames(names []string) []string {
	var out []string
	for _, want := range driverLibraries {
		base, numbered := strings.CutSuffix(want, "*")
		best := ""
		for _, n := range names {
			number, ok := strings.CutPrefix(n, base+".")
			if n == base {
				best = n
				break
			}
			if numbered && ok && digits(number) && (len(n) > len(best) || len(n) == len(best) && n > best) {
				best = n
			}
		}
		if best != "" {
			out = append(out, best)
		}
	}
	return out
}

// fileVersion is the version in a library's file name. One number is the interface's, and so is 1.1 (WSL's libcuda).
var fileVersion = regexp.MustCompile(`\.so\.((?:\d{2,}|\d+\.\d+)\.\d+(?:\.\d+)*)$`)

func libraryVersion(file string) string {
	if m := fileVersion.FindStringSubmatch(file); m != nil {
		return m[1]
	}
	return ""
}
