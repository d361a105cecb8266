package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
	"github.com/google/go-containerregistry/pkg/name"

	"rigup.dev/rigup/core/reason"
)

// PullOptions say what to pull and how.
type PullOptions struct {
	Ref string
	// OS and Arch choose the part of a multi-platform image; empty means the engine's own.
	OS, Arch string
	// Credentials for the image's registry. They travel in a header only.
	Credentials Credentials
	// Mirrors of docker.io that the engine uses: named in reasons, because the engine asks them first.
	Mirrors []string
	// Progress is called from the pull as bytes arrive; it may be nil.
	Progress func(Progress)
}

// Pull fetches an image. Its errors carry the image.* reasons.
func (e *Engine) Pull(ctx context.Context, o PullOptions) error {
	host, err := RegistryHost(o.Ref)
	if err != nil {
		return reason.Fail(reason.New(reason.ImagePull, "image", o.Ref), err)
	}
	what := "pull the image " + o.Ref
	ctx, done := e.limited(ctx, e.timeouts.Pull, what)
	pullCtx, stalled := watch(ctx, e.timeouts.Stall)
	defer stalled.stop()
	opts := image.PullOptions{}
	if o.OS != "" && o.Arch != "" {
		opts.Platform = o.OS + "/" + o.Arch
	}
	if !o.Credentials.Empty() {
		opts.RegistryAuth, err = o.Credentials.header(host)
		if err != nil {
			return done(err)
		}
	}
	err = e.pull(pullCtx, o, opts, stalled)
	if err != nil && stalled.fired.Load() {
		done(nil)
		return stallReason(o.Ref, e.timeouts.Stall)
	}
	if err = done(err); err == nil {
		return nil
	}
	switch KindOf(err) {
	case Canceled, Unreachable:
		return err
	case Timeout:
		return reason.Fail(reason.New(reason.ImageTimeout, "image", o.Ref, "limit", Spell(e.timeouts.Pull)), err)
	}
	var f *Error
	errors.As(err, &f)
	return &reason.Error{Reason: pullReason(f.Err.Error(), o, host), Err: err}
}

func (e *Engine) pull(ctx context.Context, o PullOptions, opts image.PullOptions, w *watchdog) error {
	body, err := e.cli.ImagePull(ctx, o.Ref, opts)
	if err != nil {
		return err
	}
	defer body.Close()
	var sum layers
	return decode(body, func(m message) {
		w.feed()
		if p, changed := sum.add(m); changed && o.Progress != nil {
			o.Progress(p)
		}
	})
}

// pullRules say which text of an engine or registry means what. The first that matches counts: a rate limit
// is also a refusal, and a certificate error also a failed connection.
var pullRules = []struct {
	id   reason.ID
	text []string
}{
	{reason.ImageRateLimit, []string{"toomanyrequests", "too many requests", "pull rate limit", "429"}},
	{reason.ImageDisk, []string{"no space left on device", "disk quota exceeded", "not enough space"}},
	{reason.ImageUntrusted, []string{"x509:", "certificate signed by unknown authority", "failed to verify certificate", "tls: bad certificate", "certificate has expired"}},
	{reason.ImageNotFound, []string{"manifest unknown", "no matching manifest", "name unknown", "does not match the specified platform", "not found: manifest", "404 not found", ": not found", "no such image", "not found"}},
	{reason.ImageDenied, []string{"unauthorized", "access denied", "denied:", "authentication required", "no basic auth credentials", "403 forbidden", "401 unauthorized", "incorrect username or password", "authorization failed", "insufficient_scope"}},
	{reason.ImageNetwork, []string{"no such host", "connection refused", "i/o timeout", "tls handshake timeout", "client.timeout exceeded", "network is unreachable", "no route to host",
		"connection reset", "proxyconnect", "temporary failure in name resolution", "server misbehaving", "server gave http response to https client", "context deadline exceeded",
		"unexpected eof", "eof", "502 bad gateway", "503 service unavailable", "504 gateway"}},
}

// pullReason reads an engine's words about a failed pull.
func pullReason(text string, o PullOptions, host string) reason.Reason {
	id, low := reason.ImagePull, strings.ToLower(text)
	// Docker Hub and others answer the same for a repository that is private and for one that is not there.
	ambiguous := strings.Contains(low, "repository does not exist or may require")
	if ambiguous {
		id = reason.ImageDenied
	} else {
	rules:
		for _, r := range pullRules {
			for _, t := range r.text {
				if strings.Contains(low, t) {
					id = r.id
					break rules
				}
			}
		}
	}
	mirror := ""
	if host == dockerHub {
		mirror = strings.Join(o.Mirrors, ", ")
	}
	img := o.Ref
	if strings.Contains(low, "no matching manifest") || strings.Contains(low, "does not match the specified platform") {
		if o.Arch != "" {
			img += " for " + o.OS + "/" + o.Arch
		}
	}
	r := reason.New(id, "image", img, "host", host, "mirror", mirror).With(text)
	if ambiguous {
		r.Remedy = append(r.Remedy, "check the image's name: registries answer the same when it does not exist")
	}
	if strings.Contains(low, "server gave http response to https client") {
		r = r.Do("the registry speaks plain HTTP: add it to insecure-registries of the Docker engine")
	}
	return r
}

const dockerHub = "docker.io"

// RegistryHost is the registry of an image reference; owner/name means docker.io (invariant N3).
func RegistryHost(ref string) (string, error) {
	r, err := name.ParseReference(ref, name.WithDefaultRegistry(dockerHub))
	if err != nil {
		return "", err
	}
	return hostName(r.Context().RegistryStr()), nil
}

// hostName gives the several names of Docker Hub one.
func hostName(host string) string {
	switch host {
	case "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com":
		return dockerHub
	}
	return host
}

// header is the value that carries credentials to the engine.
func (c Credentials) header(host string) (string, error) {
	server := host
	if host == dockerHub {
		server = hubKey
	}
	return registry.EncodeAuthConfig(registry.AuthConfig{Username: c.Username, Password: c.Password,
		IdentityToken: c.IdentityToken, RegistryToken: c.RegistryToken, ServerAddress: server})
}
