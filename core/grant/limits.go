package grant

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/Masterminds/semver/v3"

	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/hooks/sdk"
)

// maxItems and maxText bound every list of a manifest and every item of it, so that a person can read them.
const (
	maxItems = 64
	maxText  = 200
)

var (
	idForm       = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	toolForm     = regexp.MustCompile(`^[a-z0-9][a-z0-9._+-]{0,39}$`)
	hostForm     = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	pciForm      = regexp.MustCompile(`^0x[0-9a-f]{4}$`)
	envForm      = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,63}$`)
	resourceForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+/[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	labelForm    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	imageForm    = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?/)?` + imagePart + `(/` + imagePart + `)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	k3sForm      = regexp.MustCompile(`^--(node-label=[A-Za-z0-9][A-Za-z0-9./_-]*=[A-Za-z0-9._-]*|kubelet-arg=(topology-manager-policy|topology-manager-scope|cpu-manager-policy|memory-manager-policy|feature-gates)=[A-Za-z0-9=,._-]+)$`)
)

// imagePart is a word of an image's path. It keeps .. and what has a meaning in an address out of references.
const imagePart = `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`

// Where files may be read, and what may be mounted. Below a user's home there is nothing that a driver keeps.
var (
	readable = []string{"/sys/bus/pci/", "/sys/devices/pci", "/sys/devices/virtual/kfd/", "/sys/class/drm/", "/sys/class/kfd/", "/sys/class/accel/", "/sys/module/",
		"/proc/driver/", "/usr/lib/", "/usr/lib64/", "/usr/local/", "/usr/share/", "/opt/", "/lib/"}
	readOnes = []string{"/proc/modules", "/proc/version", "/etc/os-release", "/etc/*version*", "/etc/*install.info", "/etc/*/version*",
		// what systemd hands to a user, which decides whether Kubernetes works in a rootless engine
		"/sys/fs/cgroup/user.slice/*/*/cgroup.controllers"}
	bindable = []string{"/usr/lib/", "/usr/lib64/", "/usr/local/", "/usr/share/", "/opt/"}
	bindOnes = []string{"/etc/*install.info"}
)

// Device nodes that no GPU needs and that give away the machine: memory, disks, terminals, input, virtual machines,
// networks, keys.
var forbiddenNodes = regexp.MustCompile(`^/dev/(k?mem|port|core|full|zero|null|u?random|sd|hd|vd|xvd|nvme|mmcblk|loop|dm-|md|sr|st|sg|disk|mapper|block|nbd|zd|` +
	`bus|char|fd|shm|mqueue|hugepages|pts|ptmx|tty|console|vcs|input|uinput|hid|usb|snd|video|media|kvm|vhost|vfio|net|tun|fuse|cuse|` +
	`pmem|mtd|ubi|dax|drbd|rbd|bcache|zvol|cciss|ng[0-9]|bsg|mpt[0-9]|megaraid|cdrom|dvd|root|hwrng|uhid|uio|xen|vmci|vsock|vbox|vmmon|binder|` +
	`btrfs|autofs|rtc|hpet|watchdog|tpm|cpu|msr|mei|ipmi|log|initctl|kmsg|lp|par|gpiochip|i2c|spi|snapshot|userfaultfd|ecryptfs|rfkill|ppp|mcelog|nvram|rigup)`)

// private are names of files that identify the machine, wherever they stand.
var private = regexp.MustCompile(`(?i)(serial|uuid|wwid|machine-id|^address$|^vpd|^rom$|^nguid$|^eui$|nqn$|^edid$|^unique_id$|^fru|secret|token|password|credential|\.key$|\.pem$)`)

// Readable says why a file may not be read for a hook, whatever was granted. It takes paths and globs.
func Readable(p string) error {
	if private.MatchString(path.Base(p)) {
		return fmt.Errorf("%s can identify this machine or its owner", p)
	}
	return below(p, "a file that hooks may read", readable, readOnes)
}

// Bindable says why a directory or file may not be mounted for a hook.
func Bindable(p string) error {
	return below(p, "something that hooks may mount", bindable, bindOnes)
}

func below(p, what string, roots, ones []string) error {
	if err := clean(p); err != nil {
		return err
	}
	for _, root := range roots {
		if rest, ok := strings.CutPrefix(p, root); ok && strings.IndexAny(rest, "*?[") != 0 {
			return nil
		}
	}
	if matches(ones, p) || slices.Contains(ones, p) {
		return nil
	}
	return fmt.Errorf("%s is not %s: it has to be below %s", p, what, strings.Join(roots, ", "))
}

// Tool says why a program may not be asked for its version, whatever was granted.
func Tool(name string) error {
	switch name {
	// They do something with such an argument, or give other programs rights.
	case "reboot", "poweroff", "halt", "shutdown", "init", "telinit", "kexec", "systemctl", "sudo", "su", "doas", "pkexec", "runuser":
		return fmt.Errorf("%s does more than tell its version", name)
	}
	return form(toolForm, "the name of a program, without path")(name)
}

// VersionArgs says why a program may not be started with these arguments: there are five ways to ask for a version.
func VersionArgs(args []string) error {
	if ways := []string{"--version", "-version", "-v", "-V", "version"}; len(args) != 1 || !slices.Contains(ways, args[0]) {
		return fmt.Errorf("%.60q is none of %s", strings.Join(args, " "), strings.Join(ways, ", "))
	}
	return nil
}

// Attachable says why a device node may not be handed over for a hook. It takes paths and globs; a glob needs at
// least two characters after /dev/ before its first wildcard.
func Attachable(p string) error {
	if err := clean(p); err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(p, "/dev/")
	switch wild := strings.IndexAny(rest, "*?["); {
	case !ok:
		return fmt.Errorf("%s is not a device node: it has to be below /dev/", p)
	case wild >= 0 && wild < 2:
		return fmt.Errorf("%s would match device nodes of others: name more of it", p)
	case forbiddenNodes.MatchString(p):
		return fmt.Errorf("%s is not a device node that hooks may have", p)
	}
	return nil
}

// clean holds that p is an absolute path, or a valid glob of some, without detours.
func clean(p string) error {
	if !strings.HasPrefix(p, "/") || path.Clean(p) != p || strings.ContainsAny(p, "\\\x00\n{}") {
		return fmt.Errorf("%q is not an absolute path", p)
	}
	if _, err := path.Match(p, ""); err != nil {
		return fmt.Errorf("%q is not a valid glob", p)
	}
	return nil
}

// Valid says what is wrong with a manifest: its form, or a wish that no hook is granted. The error names the field.
func Valid(m sdk.Manifest) error {
	switch {
	case m.API != sdk.API:
		return fmt.Errorf("api is %q; this rigup knows %s", m.API, sdk.API)
	case m.ABI != sdk.ABI:
		return fmt.Errorf("abi is %q; this rigup knows %s", m.ABI, sdk.ABI)
	case !ValidID(m.ID):
		return fmt.Errorf("id is %q; use up to 40 lower-case letters, digits and dashes, beginning with a letter", m.ID)
	case m.Homepage != "" && !strings.HasPrefix(m.Homepage, "https://"):
		return fmt.Errorf("homepage is %q; use an https address", m.Homepage)
	}
	if _, err := semver.StrictNewVersion(m.Version); err != nil || len(m.Version) > 64 {
		return fmt.Errorf("version is %q; use a semantic version such as 1.2.3", m.Version)
	}
	for name, s := range map[string]string{"title": m.Title, "publisher": m.Publisher, "homepage": m.Homepage} {
		if err := line(s); err != nil || s == "" && name != "homepage" {
			return fmt.Errorf("%s has to be one line of up to %d characters", name, maxText)
		}
	}
	if len(m.Kinds) == 0 {
		return errors.New("kinds is empty; it lists environment, gpu or both")
	}
	for _, k := range m.Kinds {
		if k != sdk.EnvironmentHook && k != sdk.GPUHook {
			return fmt.Errorf("kinds has %q; it lists environment and gpu", k)
		}
	}
	if err := validMatch(m.Match); err != nil {
		return fmt.Errorf("match.%w", err)
	}
	return ValidPermissions(m.Permissions)
}

// ValidID reports whether a hook can be called so: up to 40 lower-case letters, digits and single dashes.
func ValidID(id string) bool { return len(id) <= 40 && idForm.MatchString(id) }

// line holds that s is one short line, of which everything can be seen: no two that differ look the same to a person
// who approves them.
func line(s string) error {
	if len(s) > maxText || strings.ContainsFunc(s, unseen) || strings.TrimSpace(s) != s || strings.Contains(s, "  ") {
		return fmt.Errorf("%.60q is not one line of up to %d characters that can all be seen", s, maxText)
	}
	return nil
}

// unseen reports characters that a terminal acts upon or that take no room or only room, but for the blank.
func unseen(r rune) bool {
	return r != ' ' && unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zs, unicode.Zl, unicode.Zp) && r != ' ' ||
		strings.ContainsRune("\uFFFD\u115f\u1160\u3164\uffa0\u2800", r)
}

func validMatch(m sdk.Match) error {
	return errors.Join(
		each("os", m.OS, oneOf("linux", "darwin", "windows")),
		each("pci", m.PCI, form(pciForm, "a PCI vendor id such as 0x10de, in lower case")),
		each("devices", m.Devices, Attachable),
		each("engines", m.Engines, func(s string) error { _, err := path.Match(s, ""); return err }),
	)
}

// ValidPermissions says what is wrong with permissions, whoever wishes or grants them.
func ValidPermissions(p sdk.Permissions) error {
	rules := map[string]func(string) error{
		"Probes": oneOf(string(sdk.PCIList), string(sdk.DeviceStat), string(sdk.FileRead), string(sdk.EngineInfo),
			string(sdk.EngineRun), string(sdk.ToolVersion), string(sdk.RegistryReach)),
		"Files":      Readable,
		"Devices":    Attachable,
		"Binds":      Bindable,
		"Tools":      Tool,
		"Images":     image,
		"Registries": form(hostForm, "a host name, with port if it has one"),
		"Attach":     oneOf(string(sdk.AttachCDI), string(sdk.AttachNVIDIA), string(sdk.AttachDevices)),
		"Resources":  resource,
		"Env":        variable,
		"Targets":    oneOf("node", "node-nvidia", ownImage),
		"K3sArgs":    k3sArg,
		"Runtime":    form(labelForm, "the name of a runtime class"),
	}
	v := reflect.ValueOf(p)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if err := each("permissions."+name, strs(v.Field(i)), rules[f.Name]); err != nil {
			return err
		}
	}
	return nil
}

// each holds every item of a list against a rule.
func each(name string, items []string, rule func(string) error) error {
	if len(items) > maxItems {
		return fmt.Errorf("%s has %d entries; %d are allowed", name, len(items), maxItems)
	}
	for _, item := range items {
		err := line(item)
		if err == nil {
			err = rule(item)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func oneOf(values ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(values, s) {
			return nil
		}
		return fmt.Errorf("%q is not one of %s", s, strings.Join(values, ", "))
	}
}

func form(re *regexp.Regexp, what string) func(string) error {
	return func(s string) error {
		if re.MatchString(s) {
			return nil
		}
		return fmt.Errorf("%q is not %s", s, what)
	}
}

// k3sArg holds that an argument is one of the few that hooks may give. Labels with a meaning to Kubernetes or to rigup
// are not theirs: the kubelet does not even start with most of them.
func k3sArg(s string) error {
	if label, ok := strings.CutPrefix(s, "--node-label="); ok {
		if domain, _, ok := strings.Cut(label, "/"); ok && reserved(domain) {
			return fmt.Errorf("%q belongs to %s, not to a vendor", label, domain)
		}
	}
	return form(k3sForm, "an argument that hooks may give to k3s: --node-label=, or --kubelet-arg= with topology, CPU or memory manager or feature gates")(s)
}

// reserved reports domains whose names mean something to Kubernetes, k3s or rigup.
func reserved(domain string) bool {
	return slices.ContainsFunc([]string{"kubernetes.io", "k8s.io", "cattle.io", "k3s.io", "rigup.dev"}, func(d string) bool {
		return domain == d || strings.HasSuffix(domain, "."+d)
	})
}

// ownImage is what the permission targets lists for a node of the hook's own image. That is another thing than an
// image to run a check in: the node has all rights on the engine's machine.
const ownImage = "image"

// roles are images that rigup chooses: a small one with glibc, and one with CUDA's libraries.
func roles() []string { return []string{"base", "cuda"} }

// image holds that an image is a role, a fixed reference, or stands for all below a repository.
func image(s string) error {
	if slices.Contains(roles(), s) {
		return nil
	}
	if repo, all := strings.CutSuffix(s, "/*"); all {
		if !strings.Contains(repo, "/") || !imageForm.MatchString(repo) || strings.ContainsAny(path.Base(repo), ":@") {
			return fmt.Errorf("%q stands for too much: name a registry and a repository before /*", s)
		}
		return nil
	}
	if !imageForm.MatchString(s) {
		return fmt.Errorf("%q is not an image reference", s)
	}
	if err := pins.Fixed(s); err != nil {
		return fmt.Errorf("the image %s has no fixed version: %w", s, err)
	}
	return nil
}

// resource holds that a name is a vendor's own.
func resource(s string) error {
	domain, name, _ := strings.Cut(s, "/")
	switch {
	case len(s) > 120 || len(name) > 63 || strings.HasPrefix(domain, "requests.") || !resourceForm.MatchString(s):
		return fmt.Errorf("%q is not a resource name such as example.com/gpu", s)
	case reserved(domain):
		return fmt.Errorf("%q belongs to %s, not to a vendor", s, domain)
	}
	return nil
}

// variable holds that a name cannot change how programs are found, linked or connected.
func variable(s string) error {
	if !envForm.MatchString(s) {
		return fmt.Errorf("%q is not the name of a variable", s)
	}
	for _, p := range []string{"LD_", "PATH", "HOME", "K3S_", "KUBE", "CATTLE_", "DOCKER_", "CONTAINERD_", "GODEBUG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
		"SSL_", "BASH_", "SHELLOPTS", "GCONV_PATH", "GLIBC_", "PYTHON", "PERL", "RUBY", "NODE_OPTIONS", "XTABLES_", "TMPDIR", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS"} {
		if strings.HasPrefix(s, p) || s == "ENV" || s == "IFS" {
			return fmt.Errorf("%s is not a variable that hooks may set", s)
		}
	}
	return nil
}
