package release

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"rigup.dev/rigup/core/reason"
)

// keychain has one account, for the registry of the test.
type keychain struct{ user, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}

func TestLoad_FromARegistry(t *testing.T) {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "planted-secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	chart := archive(t, map[string]string{"good/Chart.yaml": "apiVersion: v2\nname: good\nversion: 1.2.3+build\n"})
	push := func(ref string, layer types.MediaType) {
		t.Helper()
		img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), mutate.Addendum{Layer: static.NewLayer(chart, layer), MediaType: layer})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := name.ParseReference(ref, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(parsed, v1.Image(img), remote.WithAuth(&authn.Basic{Username: "u", Password: "planted-secret"})); err != nil {
			t.Fatal(err)
		}
	}
	push(host+"/team/good:1.2.3_build", chartLayer)
	push(host+"/team/image:1", types.OCILayer)

	options := func(password string) LoadOptions {
		return LoadOptions{Registry: RegistryOptions{PlainHTTP: true, Keychain: keychain{"u", password}}}
	}
	c, err := Load(t.Context(), "oci://"+host+"/team/good:1.2.3+build", options("planted-secret"))
	if err != nil || c.Name() != "good" || c.Version() != "1.2.3+build" {
		t.Fatalf("%v", err)
	}
	for source, want := range map[string]reason.ID{
		"oci://" + host + "/team/good:9.9.9":  reason.ChartNotFound,
		"oci://" + host + "/team/image:1":     reason.ChartInvalid,
		"oci://" + host + "/team/good":        reason.UsageValue,
		"oci://" + host + "/team/good:latest": reason.UsageValue,
		"oci://127.0.0.1:1/team/good:1":       reason.ImageNetwork,
	} {
		_, err := Load(t.Context(), source, options("planted-secret"))
		if got := reason.Of(err).ID; got != want {
			t.Errorf("%s: %s, want %s (%v)", source, got, want, err)
		}
	}
	_, err = Load(t.Context(), "oci://"+host+"/team/good:1.2.3_build", options("other-secret"))
	if reason.Of(err).ID != reason.ImageDenied || strings.Contains(err.Error(), "secret") {
		t.Errorf("E2: %v", err)
	}
}
