package main

// Every version the lab chooses itself stands here, once. What the product
// pins (the k3s image and its version) is read from its pins file instead; the
// Kubernetes modules are pinned by k3s/go.mod, and pins.go checks that the two
// agree.
const (
	// The containerd line k3s v1.36 carries; the same build serves engine 29.
	containerdVersion = "v2.2.2"
	// Engine 29 needs 1.2 or newer (older ones do not know its "time" namespace).
	runcVersion = "v1.3.4"
	cniVersion  = "v1.9.1"
	// What the packaged coredns.yaml of the pinned k3s names.
	corednsVersion = "v1.14.6"
	// The sandbox image the pinned k3s asks for; releases before 1.36.3 ask for
	// the older one, which callers may still name, so both are served.
	pauseTag    = "3.10.2"
	oldPauseTag = "3.6"
	busyboxTag  = "1.37"
	// moby/v2 carries engine 29; engineReports is what "docker version" shows.
	mobyVersion   = "v2.0.0-beta.24"
	engineReports = "29.0.0"
)

// Debian's packages that the machine needs, by the command that proves them.
var hostPackages = []struct{ pkg, proof string }{
	{"docker.io", "/usr/sbin/dockerd"}, // engine 20: Debian 12 has 20.10
	{"docker-registry", "/usr/bin/docker-registry"},
	{"iptables", "/usr/sbin/iptables"},
	{"iproute2", "ip"},
	{"util-linux", "nsenter"},
	{"gcc", "gcc"}, // runc is cgo
	{"libc6-dev", "/usr/include/stdlib.h"},
	{"pkg-config", "pkg-config"},
	{"libseccomp-dev", "/usr/include/seccomp.h"},
	{"ca-certificates", "/etc/ssl/certs/ca-certificates.crt"},
}

// Debian's packages whose files go into the node image; they are downloaded
// and unpacked, not installed.
var nodePackages = []string{
	"busybox-static", "iptables", "libxtables12", "libmnl0", "libnftnl11", "libnfnetlink0",
	"libnetfilter-conntrack3", "libip4tc2", "libip6tc2", "libc6", "ca-certificates",
}

// The registry's one user. Registry passwords must be bcrypt, which the
// standard library does not have, so the hash is written beside the password;
// "up" logs in with it and so proves that they agree. Its cost is the lowest
// there is: the registry computes it anew for every request.
const (
	registryUser     = "lab"
	registryPassword = "lab-secret"
	registryHash     = "$2a$04$LK2xZ7OK58wCeNx7bUX/Rur7qIErA0IhHdQDUy182P65E983sbJl."
)
