package kube

import (
	"regexp"
	"strings"

	"rigup.dev/rigup/core/reason"
)

// class is why a pod does not start, before it is put into words for its audience.
type class int

const (
	stillStarting class = iota
	imageOther
	imageDenied
	imageNotFound
	imageUntrusted
	imageNetwork
	imageRateLimit
	imageName
	imageAbsent // and the pod forbids to pull it
	diskFull
	crash
	memory
	config
	data
	unscheduled
	volume
	notCreated
)

// pullPatterns tell what a message of kubelet or containerd about a failed pull means. The first that matches
// counts: an untrusted certificate also reads like a network failure, and a refusal may also say "not found".
var pullPatterns = []struct {
	class class
	find  *regexp.Regexp
}{
	{imageUntrusted, regexp.MustCompile(`(?i)x509: |failed to verify certificate|certificate signed by unknown authority|tls: (?:bad certificate|unknown certificate)`)},
	{imageRateLimit, regexp.MustCompile(`(?i)\btoomanyrequests\b|429 Too Many Requests|pull rate limit`)},
	{diskFull, regexp.MustCompile(`(?i)no space left on device|disk quota exceeded`)},
	{imageDenied, regexp.MustCompile(`(?i)pull access denied|insufficient_scope|authorization failed|authentication required|no basic auth credentials|failed to authorize|\b40[13] (?:Unauthorized|Forbidden)|\bunauthorized\b|code = (?:Unauthenticated|PermissionDenied)`)},
	{imageNetwork, regexp.MustCompile(`(?i)dial tcp|dial udp|no such host|i/o timeout|connection refused|connection reset|network is unreachable|no route to host|TLS handshake timeout|Client\.Timeout exceeded|context deadline exceeded|proxyconnect|unexpected EOF|\bEOF$|50[234] (?:Bad Gateway|Service Unavailable|Gateway Time)|server misbehaving`)},
	{imageNotFound, regexp.MustCompile(`(?i)code = NotFound|manifest unknown|name unknown|repository .*not found|: not found|404 Not Found|no match for platform in manifest`)},
}

// pullClass is what a message about a failed pull means.
func pullClass(message string) class {
	for _, p := range pullPatterns {
		if p.find.MatchString(message) {
			return p.class
		}
	}
	return imageOther
}

// registryHost is the host that an image's reference names; a name without one is Docker Hub's.
func registryHost(image string) string {
	first, _, ok := strings.Cut(image, "/")
	if ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return first
	}
	return "docker.io"
}

// workloadReason puts a class into words for a workload of the user's.
func (c class) workloadReason() reason.ID {
	switch c {
	case imageOther, imageName, imageAbsent:
		return reason.WorkloadImage
	case imageDenied:
		return reason.WorkloadImageDenied
	case imageNotFound:
		return reason.WorkloadNotFound
	case imageUntrusted:
		return reason.WorkloadUntrusted
	case imageNetwork:
		return reason.WorkloadNetwork
	case imageRateLimit:
		return reason.WorkloadRateLimit
	case diskFull:
		return reason.WorkloadDiskFull
	case crash:
		return reason.WorkloadCrash
	case memory:
		return reason.WorkloadMemory
	case config:
		return reason.WorkloadConfig
	case data:
		return reason.WorkloadData
	case unscheduled:
		return reason.WorkloadUnscheduled
	case volume:
		return reason.WorkloadVolume
	case notCreated:
		return reason.WorkloadNotCreated
	}
	return reason.WorkloadStarting
}

// coreReason puts a class into words for a part of the cluster itself; ClusterNotReady where it has no own.
func (c class) coreReason() reason.ID {
	switch c {
	case imageOther, imageName, imageAbsent:
		return reason.ImagePull
	case imageDenied:
		return reason.ImageDenied
	case imageNotFound:
		return reason.ImageNotFound
	case imageUntrusted:
		return reason.ImageUntrusted
	case imageNetwork:
		return reason.ImageNetwork
	case imageRateLimit:
		return reason.ImageRateLimit
	case diskFull:
		return reason.WorkloadDiskFull
	}
	return reason.ClusterNotReady
}
