package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/hooks/sdk"
)

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// registryReach asks a registry for its API. Any answer counts: most want a login first.
func (p Prober) registryReach(ctx context.Context, host string) sdk.ProbeResult {
	if len(host) > 255 || !hostName.MatchString(host) {
		return refused(fmt.Errorf("%.60q is not a host name", host))
	}
	if host == "docker.io" {
		host = "registry-1.docker.io" // its API is not where its name is
	}
	ctx, cancel := context.WithTimeout(ctx, reachLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/v2/", nil)
	if err != nil {
		return refused(err)
	}
	req.Header.Set("User-Agent", "rigup")
	transport := p.Registries
	if transport == nil {
		t := &http.Transport{Proxy: http.ProxyFromEnvironment}
		defer t.CloseIdleConnections()
		transport = t
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return unknown(reachWhy(err))
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<10))
	return sdk.ProbeResult{Status: sdk.Known}
}

// reachWhy tells apart why a registry was not reached. Nothing of the error is repeated: it can name a proxy.
func reachWhy(err error) string {
	who := ""
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" || strings.Contains(err.Error(), "Proxy Authentication Required") {
		who = "the proxy: "
	}
	return who + reachCause(err)
}

func reachCause(err error) string {
	var (
		dns       *net.DNSError
		untrusted x509.UnknownAuthorityError
		other     x509.HostnameError
		invalid   x509.CertificateInvalidError
		plain     tls.RecordHeaderError
		verify    *tls.CertificateVerificationError
		alert     tls.AlertError
		late      net.Error
	)
	switch {
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &dns) && !dns.IsTimeout:
		return "its name is not known (DNS)"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return facts.Late
	case errors.As(err, &untrusted):
		return "TLS: its certificate is of an unknown authority"
	case errors.As(err, &other):
		return "TLS: its certificate is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "TLS: its certificate has expired, or this machine's clock is wrong"
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "TLS: its certificate is not valid"
	case errors.As(err, &plain), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return "TLS: it does not speak it"
	case errors.As(err, &alert):
		return "TLS: it ended the handshake"
	case errors.Is(err, errRefused):
		return "connection refused"
	case errors.Is(err, errReset), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was cut"
	case errors.Is(err, errNoNetwork), errors.Is(err, errNoHost):
		return "there is no way to it in the network"
	case errors.Is(err, os.ErrPermission):
		return "a firewall forbids it"
	case strings.Contains(err.Error(), "Proxy Authentication Required"):
		return "it wants a login"
	}
	return "it could not be reached"
}
