package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"rigup.dev/rigup/core/pins"
	"rigup.dev/rigup/core/reason"
)

// chartLayer is the media type under which Helm stores a chart archive in a registry.
const chartLayer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

// maxArchive bounds a chart archive; Helm itself refuses to unpack more than this.
const maxArchive = 100 << 20

// RegistryOptions says how registries are reached.
type RegistryOptions struct {
	// Keychain finds credentials; nil means the Docker configuration of the user.
	Keychain authn.Keychain
	// Transport carries proxy and CA settings; nil means the default one.
	Transport http.RoundTripper
	// PlainHTTP allows registries without TLS.
	PlainHTTP bool
}

// pull fetches the archive of a chart from a registry.
func pull(ctx context.Context, source string, o RegistryOptions) ([]byte, error) {
	// Helm writes + as _ in tags, because + is not allowed there.
	ref := strings.ReplaceAll(strings.TrimPrefix(source, "oci://"), "+", "_")
	if err := pins.Fixed(ref); err != nil {
		return nil, reason.Fail(reason.New(reason.UsageValue, "flag", "--chart", "value", source,
			"allowed", "an oci:// reference ends with a version or a digest, because "+err.Error()), nil)
	}
	var opts []name.Option
	if o.PlainHTTP {
		opts = append(opts, name.Insecure)
	}
	parsed, err := name.ParseReference(ref, opts...)
	if err != nil {
		return nil, reason.Fail(reason.New(reason.ChartNotFound, "chart", source), err)
	}
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	access := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(o.Keychain)}
	if o.Transport != nil {
		access = append(access, remote.WithTransport(o.Transport))
	}
	archive, err := fetch(parsed, access)
	if err != nil {
		return nil, pullFailure(ctx, source, parsed, err)
	}
	return archive, nil
}

func fetch(ref name.Reference, access []remote.Option) ([]byte, error) {
	img, err := remote.Image(ref, access...)
	if err != nil {
		return nil, err
	}
	m, err := img.Manifest()
	if err != nil {
		return nil, err
	}
	for _, l := range m.Layers {
		if string(l.MediaType) != chartLayer {
			continue
		}
		layer, err := img.LayerByDigest(l.Digest)
		if err != nil {
			return nil, err
		}
		// Compressed checks the digest while it is read.
		r, err := layer.Compressed()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		b, err := io.ReadAll(io.LimitReader(r, maxArchive+1))
		if err == nil && len(b) > maxArchive {
			err = fmt.Errorf("the chart is larger than %d bytes", maxArchive)
		}
		return b, err
	}
	return nil, errNotChart
}

var errNotChart = errors.New("what is stored there is not a Helm chart")

func pullFailure(ctx context.Context, source string, ref name.Reference, err error) error {
	host := ref.Context().RegistryStr()
	var answer *transport.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return reason.Fail(reason.New(reason.ChartTimeout, "chart", source, "limit", pullLimit.String()), err)
	case errors.Is(err, errNotChart):
		return reason.Fail(reason.New(reason.ChartInvalid, "chart", source), err)
	case errors.As(err, &answer):
		switch answer.StatusCode {
		case http.StatusNotFound:
			return reason.Fail(reason.New(reason.ChartNotFound, "chart", source), err)
		case http.StatusUnauthorized, http.StatusForbidden:
			return reason.Fail(reason.New(reason.ImageDenied, "host", host, "image", source), err)
		case http.StatusTooManyRequests:
			return reason.Fail(reason.New(reason.ImageRateLimit, "host", host), err)
		}
	case strings.Contains(err.Error(), "x509:"):
		return reason.Fail(reason.New(reason.ImageUntrusted, "host", host), err)
	}
	return reason.Fail(reason.New(reason.ImageNetwork, "host", host), err)
}
