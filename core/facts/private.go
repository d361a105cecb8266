package facts

import (
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"rigup.dev/rigup/core/redact"
	"rigup.dev/rigup/hooks/sdk"
)

// Private is what facts must not tell, for they go into hooks and tickets (invariant E2): where the user's home is,
// and what the user and the machine are called.
type Private struct {
	Home  string
	Names []string
}

// ThisUser is what this machine and its user are called.
func ThisUser() Private {
	var p Private
	p.Home, _ = os.UserHomeDir()
	if u, err := user.Current(); err == nil {
		// On Windows the name has the domain's, or the machine's, before it.
		p.Names = append(p.Names, strings.FieldsFunc(u.Username, func(r rune) bool { return r == '\\' })...)
	}
	if h, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(h, ".")
		p.Names = append(p.Names, h, short)
	}
	return p
}

// homes are home directories wherever they are, also other users'.
var homes = regexp.MustCompile(`(?i)((?:/var|/mnt/[a-z]|/host_mnt/[a-z])?/(?:home|users)/|\b[a-z]:[\\/]+users[\\/]+)[^/\\\s:"']+`)

// common are names of users and machines that identify nobody, and that facts need for other things.
var common = map[string]bool{
	"root": true, "admin": true, "administrator": true, "user": true, "users": true, "guest": true, "test": true, "default": true, "system": true,
	"ubuntu": true, "debian": true, "fedora": true, "centos": true, "rocky": true, "arch": true, "linux": true, "windows": true, "darwin": true, "macos": true,
	"docker": true, "desktop": true, "docker-desktop": true, "podman": true, "colima": true, "lima": true, "orbstack": true, "rancher": true, "kubernetes": true,
	"nvidia": true, "amd": true, "intel": true, "apple": true, "microsoft": true, "gpu": true, "cuda": true, "rocm": true, "localhost": true, "localdomain": true,
	"engine": true, "machine": true, "server": true, "node": true, "cluster": true, "runner": true, "build": true, "dev": true, "home": true, "local": true, "driver": true,
}

// shortName is the length below which a name is a part of too many words to be told apart.
const shortName = 3

// hidden stands where a name was.
const hidden = "[name]"

// ids are UUIDs, also as vendors write those of GPUs.
var ids = regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?:gpu|mig|cpu)-[0-9a-f]{12,}\b`)

// Clean takes home directories, the names, unique ids and what looks like a secret out of free text.
func (p Private) Clean(s string) string {
	s = p.homeless(ids.ReplaceAllString(redact.String(s), "[id]"))
	names := slices.Clone(p.Names)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // the long one contains the short one
	for _, n := range names {
		if len(n) < shortName || common[strings.ToLower(n)] {
			continue
		}
		word := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + regexp.QuoteMeta(n) + `([^\pL\pN]|$)`)
		for range 2 { // what ends one match cannot begin the next
			s = word.ReplaceAllString(s, "${1}"+hidden+"${2}")
		}
	}
	return s
}

// homeless writes home directories as ~. It is safe for paths, of which nothing else is changed.
func (p Private) homeless(s string) string {
	s = homes.ReplaceAllString(s, "~")
	for _, h := range []string{p.Home, filepath.ToSlash(p.Home), "/root"} {
		if len(h) > 1 && strings.Contains(s, h) {
			whole := regexp.MustCompile(`(^|[^\pL\pN_/\\.-]|//)` + regexp.QuoteMeta(h) + `([/\\\s:"',)]|$)`)
			s = whole.ReplaceAllString(s, "${1}~${2}")
		}
	}
	return s
}

// scrub cleans every field of the facts that can tell who the user is. Fields that only ever hold names of products
// are left alone: a user may be called like a GPU.
func (p Private) scrub(f *sdk.Facts) {
	for _, why := range []*string{&f.Host.Kernel.Why, &f.Host.Distro.Why, &f.Host.WSL.Why, &f.Host.Virtual.Why, &f.PCI.Why, &f.Devices.Why,
		&f.Modules.Why, &f.Libraries.Why, &f.Tools.Why, &f.Host.Kernel.Value, &f.Host.WSL.Value.Distro} {
		*why = p.Clean(*why)
	}
	f.Libraries.Value = each(f.Libraries.Value, func(l *sdk.Library) { l.Path = p.homeless(l.Path) })
	f.Tools.Value = each(f.Tools.Value, func(t *sdk.Tool) { t.Path, t.Output = p.homeless(t.Path), p.Clean(t.Output) })
}

// each changes a copy of a list.
func each[T any](list []T, change func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		change(&list[i])
	}
	return list
}
