package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

// answers is a transport that answers or fails as a test says, and remembers what was asked.
type answers struct {
	code  int
	err   error
	asked []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.Method+" "+r.URL.String())
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: a.code, Body: http.NoBody, Header: http.Header{"Location": {"https://elsewhere.example/"}}, Request: r}, nil
}

func TestAnyAnswerOfARegistryCounts(t *testing.T) {
	for _, code := range []int{200, 301, 401, 403, 404, 429, 500, 503} {
		a := &answers{code: code}
		r := Prober{Registries: a}.Probe(t.Context(), sdk.Probe{Kind: sdk.RegistryReach, Host: "registry.example:5000"})
		if r.Status != sdk.Known || len(a.asked) != 1 || a.asked[0] != "GET https://registry.example:5000/v2/" {
			t.Errorf("%d: %+v %q", code, r, a.asked)
		}
	}
	a := &answers{code: 401}
	Prober{Registries: a}.Probe(t.Context(), sdk.Probe{Kind: sdk.RegistryReach, Host: "docker.io"})
	if a.asked[0] != "GET https://registry-1.docker.io/v2/" {
		t.Errorf("%q", a.asked)
	}
}

func TestG6_WaysNotToReachARegistry(t *testing.T) {
	dial := func(op string, err error) error { return &net.OpError{Op: op, Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "registry.example", IsNotFound: true}, "its name is not known (DNS)"},
		{&net.DNSError{Err: "i/o timeout", Name: "registry.example", IsTimeout: true}, "timed out"},
		{dial("dial", os.NewSyscallError("connect", errRefused)), "connection refused"},
		{dial("read", os.NewSyscallError("read", errReset)), "the connection was cut"},
		{dial("dial", os.NewSyscallError("connect", errNoHost)), "there is no way to it in the network"},
		{dial("dial", os.NewSyscallError("connect", os.ErrPermission)), "a firewall forbids it"},
		{dial("proxyconnect", &net.DNSError{Err: "no such host", Name: "proxy.corp.example"}), "the proxy: its name is not known (DNS)"},
		{dial("proxyconnect", os.NewSyscallError("connect", errRefused)), "the proxy: connection refused"},
		{errors.New("Proxy Authentication Required"), "the proxy: it wants a login"},
		{context.DeadlineExceeded, "timed out"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, "TLS: its certificate is of an unknown authority"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}}, "TLS: its certificate is for another name"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, "TLS: its certificate has expired, or this machine's clock is wrong"},
		{&tls.CertificateVerificationError{Err: errors.New("odd")}, "TLS: its certificate is not valid"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, "TLS: it does not speak it"},
		{errors.New("something with proxy.corp.example in it"), "it could not be reached"},
	} {
		r := Prober{Registries: &answers{err: c.err}}.Probe(t.Context(), sdk.Probe{Kind: sdk.RegistryReach, Host: "registry.example"})
		if r.Status != sdk.Unknown || r.Why != c.want {
			t.Errorf("%v: %+v", c.err, r)
		}
	}
	for _, host := range []string{"", "https://registry.example", "user@registry.example", "registry.example/v2", "registry.example:port", "Registry.example", "[::1]", strings.Repeat("a", 300)} {
		a := &answers{code: 200}
		r := Prober{Registries: a}.Probe(t.Context(), sdk.Probe{Kind: sdk.RegistryReach, Host: host})
		if r.Status != sdk.Unknown || !strings.HasPrefix(r.Why, "not allowed: ") || len(a.asked) > 0 {
			t.Errorf("%q: %+v", host, r)
		}
	}
}

// The same with real connections.
func TestRegistriesOnThisMachine(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			t.Error(r.URL.Path)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer secure.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	host := func(s string) string { u, _ := url.Parse(s); return u.Host }
	direct := &http.Transport{}
	for name, c := range map[string]struct {
		host      string
		transport http.RoundTripper
		status    sdk.Status
		why       string
	}{
		"answers":          {host(secure.URL), secure.Client().Transport, sdk.Known, ""},
		"of its own":       {host(secure.URL), direct, sdk.Unknown, "TLS: its certificate is of an unknown authority"},
		"plain":            {host(plain.URL), direct, sdk.Unknown, "TLS: it does not speak it"},
		"nobody listens":   {closedPort(t), direct, sdk.Unknown, "connection refused"},
		"nobody says much": {silent.Addr().String(), direct, sdk.Unknown, "timed out"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			r := Prober{Registries: c.transport}.Probe(ctx, sdk.Probe{Kind: sdk.RegistryReach, Host: c.host})
			if r.Status != c.status || r.Why != c.why {
				t.Errorf("%+v", r)
			}
		})
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
