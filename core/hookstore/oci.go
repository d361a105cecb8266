package hookstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"rigup.dev/rigup/core/reason"
)

// How a hook lies in a registry: as the CNCF's working group on WebAssembly lays out modules, with the signature as
// one more layer and the publisher's key as an annotation of the manifest.
const (
	MediaConfig    = "application/vnd.wasm.config.v0+json"
	MediaModule    = "application/wasm"
	MediaSignature = "application/vnd.rigup.hook.signature.v1+minisig"
	// AnnotationKey has the minisign public key, in base64.
	AnnotationKey = "dev.rigup.hook.key"
)

const (
	maxManifest = 1 << 20
	defaultTag  = "latest"
)

// wasmConfig is the config of the artifact. Only registries read it.
type wasmConfig struct {
	Architecture string   `json:"architecture"`
	OS           string   `json:"os"`
	LayerDigests []string `json:"layerDigests"`
}

// repository opens the repository of an oci:// reference. The error is about the reference.
func (f Fetcher) repository(source string) (*remote.Repository, error) {
	ref, err := registry.ParseReference(strings.TrimPrefix(source, "oci://"))
	if err == nil {
		err = ref.Validate()
	}
	if err != nil || strings.ContainsAny(source, " \t\n") {
		return nil, badSource(source, "a reference looks like oci://registry.example.com/hooks/name:1.0.0")
	}
	if ref.Reference == "" {
		ref.Reference = defaultTag
	}
	repo := &remote.Repository{Reference: ref, PlainHTTP: f.PlainHTTP || loopback(ref.Registry)}
	plain := ""
	if repo.PlainHTTP {
		plain = ref.Host()
	}
	repo.Client = &auth.Client{
		Client: f.client(plain),
		Header: http.Header{"User-Agent": {"rigup"}},
		Cache:  auth.NewCache(),
		// The host that is asked for is the registry's own, whatever token service it names.
		Credential: func(ctx context.Context, _ string) (auth.Credential, error) {
			if f.Credentials == nil {
				return auth.EmptyCredential, nil
			}
			c, err := f.Credentials(ctx, ref.Registry)
			if err != nil { // a broken keychain must not keep a public hook from being fetched
				return auth.EmptyCredential, nil
			}
			return auth.Credential{Username: c.Username, Password: c.Password, RefreshToken: c.IdentityToken, AccessToken: c.RegistryToken}, nil
		},
	}
	return repo, nil
}

// loopback reports whether the registry is on this machine, where nobody listens in between.
func loopback(registry string) bool {
	host, _, err := net.SplitHostPort(registry)
	if err != nil {
		host = registry
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// pull fetches a hook from a registry. A tag is resolved once; what follows goes by digest.
func (f Fetcher) pull(ctx context.Context, source string) (Artifact, error) {
	repo, err := f.repository(source)
	if err != nil {
		return Artifact{}, err
	}
	a, err := pullFrom(ctx, repo)
	if err != nil {
		return a, failure{reason.HookFetch, "read"}.registry(source, repo.Reference.Registry, err)
	}
	a.Again = source
	return a, nil
}

func pullFrom(ctx context.Context, repo *remote.Repository) (Artifact, error) {
	ref := repo.Reference
	desc, err := repo.Resolve(ctx, ref.Reference)
	if err != nil {
		return Artifact{}, err
	}
	a := Artifact{Source: "oci://" + ref.Registry + "/" + ref.Repository}
	if ref.ValidateReferenceAsDigest() != nil {
		a.Source += ":" + ref.Reference
	}
	a.Source += "@" + desc.Digest.String()
	if desc.MediaType != ocispec.MediaTypeImageManifest {
		return a, &notAHook{"it is a " + desc.MediaType}
	}
	b, err := fetchPart(ctx, repo, desc, maxManifest)
	if err != nil {
		return a, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return a, &notAHook{"its manifest is not valid JSON"}
	}
	module, signature, err := layers(m)
	if err != nil {
		return a, err
	}
	if a.Module, err = fetchPart(ctx, repo, module, maxModule); err != nil {
		return a, err
	}
	if signature != nil {
		if a.Signature, err = fetchPart(ctx, repo, *signature, maxBeside); err != nil {
			return a, err
		}
	}
	if key := m.Annotations[AnnotationKey]; key != "" && len(key) <= maxBeside {
		a.Key = []byte(key + "\n")
	}
	return a, nil
}

// notAHook is something else in the registry than a hook.
type notAHook struct{ what string }

func (e *notAHook) Error() string { return e.what }

// layers finds the module and its signature.
func layers(m ocispec.Manifest) (module ocispec.Descriptor, signature *ocispec.Descriptor, err error) {
	if m.Config.MediaType != MediaConfig {
		return module, nil, &notAHook{"its config is " + m.Config.MediaType + ", not " + MediaConfig}
	}
	modules := 0
	for _, l := range m.Layers {
		switch l.MediaType {
		case MediaModule:
			module = l
			modules++
		case MediaSignature:
			if signature != nil {
				return module, nil, &notAHook{"it has more than one signature"}
			}
			signature = &l
		}
	}
	if modules != 1 {
		return module, nil, &notAHook{fmt.Sprintf("it has %d layers %s; one is right", modules, MediaModule)}
	}
	return module, signature, nil
}

// fetchPart fetches what a descriptor names and holds it against size and digest.
func fetchPart(ctx context.Context, from content.Fetcher, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if d.Size < 0 || d.Size > limit {
		return nil, tooLarge(limit)
	}
	return content.FetchAll(ctx, from, d)
}

func (f failure) registry(source, host string, err error) error {
	var answer *errcode.ErrorResponse
	var odd *notAHook
	switch {
	case errors.As(err, &odd):
		return f.because(source, "what lies there is no hook", "check the reference", err)
	case errors.Is(err, errdef.ErrNotFound):
		return f.because(source, host+" does not have it", "check the name and the tag", err)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden),
		errors.Is(err, auth.ErrBasicCredentialNotFound):
		return reason.Fail(reason.New(reason.HookDenied, "host", host, "source", source, "what", f.verb), err)
	}
	return f.network(source, host, err)
}

// Push puts a hook into a registry and returns the reference with the digest that it got. The reference has a tag.
// Manifest fields become annotations. It is for publishers.
func (f Fetcher) Push(ctx context.Context, reference string, a Artifact) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	c, err := newCandidate(a.Module)
	if err != nil {
		return "", reason.Fail(reason.New(reason.HookInvalid, "file", reference, "what", err.Error()), nil)
	}
	repo, err := f.repository(reference)
	if err != nil {
		return "", err
	}
	if repo.Reference.ValidateReferenceAsDigest() == nil {
		return "", badSource(reference, "a hook is pushed under a tag; its digest follows from it")
	}
	digest, err := pushTo(ctx, repo, a, c)
	if err != nil {
		return "", failure{reason.HookPush, "write"}.registry(reference, repo.Reference.Registry, err)
	}
	return "oci://" + repo.Reference.String() + "@" + digest, nil
}

func pushTo(ctx context.Context, repo *remote.Repository, a Artifact, c candidate) (string, error) {
	file := c.manifest.ID + moduleSuffix
	parts := []struct {
		media, title string
		content      []byte
	}{{MediaModule, file, a.Module}, {MediaSignature, file + signatureSuffix, a.Signature}}
	var ls []ocispec.Descriptor
	config := wasmConfig{Architecture: "wasm", OS: "wasip1"}
	for _, p := range parts {
		if p.content == nil {
			continue
		}
		d, err := pushPart(ctx, repo, p.media, p.content)
		if err != nil {
			return "", err
		}
		d.Annotations = map[string]string{ocispec.AnnotationTitle: p.title}
		config.LayerDigests = append(config.LayerDigests, d.Digest.String())
		ls = append(ls, d)
	}
	b, err := json.Marshal(config)
	if err != nil {
		return "", err
	}
	cd, err := pushPart(ctx, repo, MediaConfig, b)
	if err != nil {
		return "", err
	}
	annotations := map[string]string{
		ocispec.AnnotationTitle: c.manifest.ID, ocispec.AnnotationVersion: c.manifest.Version, ocispec.AnnotationVendor: c.manifest.Publisher,
		// The same hook gives the same digest: no time of day.
		ocispec.AnnotationCreated: "1970-01-01T00:00:00Z",
	}
	if k, err := ParseKey(string(a.Key)); err == nil {
		annotations[AnnotationKey] = k.Text
	}
	m, err := oras.PackManifest(ctx, repo, oras.PackManifestVersion1_1, "", oras.PackManifestOptions{Layers: ls, ConfigDescriptor: &cd, ManifestAnnotations: annotations})
	if err != nil {
		return "", err
	}
	return m.Digest.String(), repo.Tag(ctx, m, repo.Reference.Reference)
}

// pushPart pushes a blob unless the registry has it.
func pushPart(ctx context.Context, repo *remote.Repository, media string, b []byte) (ocispec.Descriptor, error) {
	d := content.NewDescriptorFromBytes(media, b)
	if have, err := repo.Exists(ctx, d); err != nil || have {
		return d, err
	}
	_, err := oras.PushBytes(ctx, repo, media, b)
	return d, err
}
