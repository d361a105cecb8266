package hookstore

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// E1, E2: a registry cannot have this machine ask another service without TLS, neither as its token service nor by a
// redirect, and gets no token of one.
func TestE2_ARegistryLeadsToNoServiceWithoutTLS(t *testing.T) {
	var asked, leaked atomic.Bool
	metadata := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		_, _ = w.Write([]byte(`{"Token":"of this machine","access_token":"of this machine"}`))
	}))
	defer metadata.Close()
	var redirect atomic.Bool
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.CompareAndSwap(false, strings.Contains(r.Header.Get("Authorization"), "of this machine"))
		if redirect.Load() {
			http.Redirect(w, r, metadata.URL, http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="`+metadata.URL+`/latest/meta-data",service="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "https://")
	f := Fetcher{Transport: elsewhere{srv.Client().Transport, host}}
	for _, by := range []bool{false, true} {
		redirect.Store(by)
		if _, err := f.Fetch(t.Context(), "oci://registry.example/hooks/x:1"); err == nil {
			t.Error("there was a hook")
		}
	}
	if asked.Load() || leaked.Load() {
		t.Errorf("asked %t, leaked %t", asked.Load(), leaked.Load())
	}
}

// elsewhere brings requests for registry.example to another host.
type elsewhere struct {
	http.RoundTripper
	host string
}

func (e elsewhere) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "registry.example" {
		r = r.Clone(r.Context())
		r.URL.Host = e.host
	}
	return e.RoundTripper.RoundTrip(r)
}
