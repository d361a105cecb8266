package hookstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// Artifact is a hook that was fetched: the bytes of the module and what came with them.
type Artifact struct {
	// Source is where it came from, as the lock records it: without secrets, and for a registry with digest.
	Source string
	// Again is what fetches it once more; empty when that holds something that is not shown.
	Again  string
	Module []byte
	// Signature is the text of a minisign signature, and Key that of the public key; nil when there is none.
	Signature, Key []byte
}

// Fetcher gets hooks from where they are published.
type Fetcher struct {
	// Transport carries proxy and CA settings; nil means the system's.
	Transport http.RoundTripper
	// Credentials finds those of a registry; nil means none.
	Credentials func(ctx context.Context, host string) (engine.Credentials, error)
	// PlainHTTP allows a registry without TLS on another machine. On this machine it always is.
	PlainHTTP bool
}

// Limits of a fetch.
const (
	fetchLimit   = 2 * time.Minute
	maxRedirects = 5
)

// Fetch gets a hook from a file, an https address or an oci:// reference. Nothing is written.
func (f Fetcher) Fetch(ctx context.Context, source string) (Artifact, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	scheme, _, ok := strings.Cut(source, "://")
	switch {
	case !ok:
		return fetchFile(source)
	case scheme == "oci":
		return f.pull(ctx, source)
	case scheme == "https":
		return f.download(ctx, source)
	}
	return Artifact{}, badSource(source, "it is a file, an https:// address or an oci:// reference")
}

func badSource(source, allowed string) error {
	return reason.Fail(reason.New(reason.UsageValue, "flag", "SOURCE", "value", source, "allowed", allowed), nil)
}

func fetchFile(source string) (Artifact, error) {
	a := Artifact{Source: "file " + filepath.Base(source), Again: source}
	if strings.ContainsAny(source, " \t\n'\"\\$`&;|<>()*?[]#~!{}") {
		a.Again = "" // it would need quotes, which are another in every shell
	}
	var err error
	if a.Module, err = readNamed(source, maxModule); err != nil {
		return a, failedFetch(a.Source, "", err)
	}
	if a.Signature, err = readBeside(source+signatureSuffix, readNamed); err == nil {
		a.Key, err = readBeside(source+keySuffix, readNamed)
	}
	if err != nil {
		return a, failedFetch(a.Source, "", err)
	}
	return a, nil
}

// download gets a module and what lies beside it at an https address.
func (f Fetcher) download(ctx context.Context, source string) (Artifact, error) {
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Host == "":
		return Artifact{}, badSource("that address", "an address looks like https://example.com/hook.wasm")
	case u.User != nil:
		return Artifact{}, badSource("https://"+u.Host+"/...", "leave out user and password, which others could read on this machine")
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path} // what follows a ? may be a secret
	a := Artifact{Source: shown.String(), Again: shown.String()}
	if u.RawQuery != "" {
		a.Again = ""
	}
	client := f.client("")
	get := func(suffix string, limit int64) ([]byte, error) {
		at := *u
		at.Fragment, at.RawPath = "", ""
		at.Path += suffix
		return getURL(ctx, client, at.String(), limit)
	}
	if a.Module, err = get("", maxModule); err != nil {
		return a, failedFetch(a.Source, u.Host, err)
	}
	for suffix, into := range map[string]*[]byte{signatureSuffix: &a.Signature, keySuffix: &a.Key} {
		b, err := get(suffix, maxBeside)
		var status *statusError
		if errors.As(err, &status) && status.missing() {
			continue
		}
		if err != nil {
			return a, failedFetch(a.Source+suffix, u.Host, err)
		}
		*into = b
	}
	return a, nil
}

// client follows a few redirects, and speaks to no host without TLS but to plain.
func (f Fetcher) client(plain string) *http.Client {
	return &http.Client{Transport: guarded{f.Transport, plain}, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > maxRedirects {
			return errors.New("the server leads from address to address")
		}
		return nil
	}}
}

// guarded keeps a server from leading this machine to an address without TLS, by a redirect or as the token service
// of a registry: there are services that answer this machine alone, and a token out of their answer would go to the
// registry.
type guarded struct {
	http.RoundTripper        // nil: the system's
	plain             string // the one host that may be spoken to without TLS; one on this machine stands for all of it
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Host != g.plain && !(loopback(g.plain) && loopback(r.URL.Host)) {
		return nil, errors.New("the server leads to an address without TLS")
	}
	if g.RoundTripper == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return g.RoundTripper.RoundTrip(r)
}

type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answered %d %s", e.code, http.StatusText(e.code))
}

func (e *statusError) missing() bool {
	return e.code == http.StatusNotFound || e.code == http.StatusGone || e.code == http.StatusForbidden // S3 says so of what is not there
}

func getURL(ctx context.Context, client *http.Client, address string, limit int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // its text has the whole address, with what follows the ?
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, &statusError{resp.StatusCode}
	}
	if resp.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = tooLarge(limit)
	}
	return b, err
}

// failure says in plain words why something could not be fetched, or pushed.
type failure struct {
	id   reason.ID
	verb string // what the account has to be allowed
}

func failedFetch(source, host string, err error) error {
	return failure{reason.HookFetch, "read"}.network(source, host, err)
}

func (f failure) because(source, what, do string, err error) error {
	return reason.Fail(reason.New(f.id, "source", source, "what", what, "do", do), err)
}

func (f failure) network(source, host string, err error) error {
	what, do := "it cannot be read", "make it readable for this user"
	var odd *notAFile
	var status *statusError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		what, do = "it took longer than "+fetchLimit.String(), "check the network, then run the same command again"
	case errors.As(err, &odd):
		return f.because(source, odd.Error(), "check that it is the file of a hook", nil) // the text has it all
	case absent(err):
		what, do = "there is no such file", "check the name"
	case errors.As(err, &status) && status.code == http.StatusForbidden:
		what, do = "the server refuses to give it", "check the address, and whether it is public"
	case errors.As(err, &status) && status.missing():
		what, do = "the server does not have it", "check the address"
	case strings.Contains(err.Error(), "x509:"):
		what, do = "the certificate of "+host+" is not trusted here", "if a proxy of your network replaces certificates, ask your IT for its CA certificate and pass it with --ca-file FILE"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		what, do = host+" does not speak TLS", "use the address at which it does: without TLS rigup uses registries on this machine only"
	case f.id == reason.HookPush:
		what, do = host+" did not take it", "check the address, the network and the proxy settings (HTTPS_PROXY)"
	case host != "":
		what, do = host+" did not give it", "check the address, the network and the proxy settings (HTTPS_PROXY)"
	}
	return f.because(source, what, do, err)
}
