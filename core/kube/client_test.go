package kube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
)

// authority makes a server certificate for loopback and the PEM that trusts it.
func authority(t *testing.T) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "k3s-server-ca"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// kubeconfig is what a node hands out for a server.
func kubeconfig(server string, ca []byte) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Config","current-context":"default",
"clusters":[{"name":"default","cluster":{"server":%q,"certificate-authority-data":%q}}],
"contexts":[{"name":"default","context":{"cluster":"default","user":"default"}}],
"users":[{"name":"default","user":{"token":"planted-token-value"}}]}`, server, base64.StdEncoding.EncodeToString(ca))
}

// server answers with TLS on loopback; the client trusts ca.
func server(t *testing.T, h http.HandlerFunc) (*Client, *httptest.Server) {
	t.Helper()
	cert, ca := authority(t)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	c, err := New(kubeconfig(s.URL, ca), "planted-token-value")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, s
}

// TestG6_FourAnswers holds that refused, timed out, somebody else and a refusal are told apart.
func TestG6_FourAnswers(t *testing.T) {
	status := func(code int, why, message string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, why, message, code)
		}
	}
	ctx := t.Context()
	t.Run("nobody listens", func(t *testing.T) {
		c, s := server(t, status(500, "", ""))
		s.Close()
		_, err := c.Snapshot(ctx, "node", time.Time{})
		r := wantReason(t, err, reason.KubeUnreachable)
		if !strings.Contains(r.Text, c.Address()) || !strings.Contains(strings.Join(r.Evidence, ""), "refused") {
			t.Errorf("%+v", r)
		}
	})
	t.Run("another cluster", func(t *testing.T) {
		_, ca := authority(t)
		_, s := server(t, status(200, "", ""))
		c, err := New(kubeconfig(s.URL, ca))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Snapshot(ctx, "node", time.Time{})
		wantReason(t, err, reason.KubeOther)
	})
	t.Run("no cluster at all", func(t *testing.T) {
		s := httptest.NewServer(status(200, "", ""))
		defer s.Close()
		_, ca := authority(t)
		c, err := New(kubeconfig("https://"+s.Listener.Addr().String(), ca))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Snapshot(ctx, "node", time.Time{})
		wantReason(t, err, reason.KubeOther)
	})
	t.Run("no answer in time", func(t *testing.T) {
		done := make(chan struct{})
		c, _ := server(t, func(w http.ResponseWriter, r *http.Request) { <-done })
		defer close(done)
		short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		err := c.explain(ctx, errOf(c.raw(short, "/version")), "say its version", 50*time.Millisecond)
		r := wantReason(t, err, reason.KubeTimeout)
		if !strings.Contains(r.Text, "50ms") {
			t.Error(r.Text)
		}
	})
	t.Run("refused", func(t *testing.T) {
		c, _ := server(t, status(401, "Unauthorized", "Unauthorized: Bearer planted-token-value"))
		_, err := c.Snapshot(ctx, "node", time.Time{})
		r := wantReason(t, err, reason.KubeRefused)
		if all := fmt.Sprint(r, err); strings.Contains(all, "planted") {
			t.Errorf("E2: a secret is shown: %s", all)
		}
	})
	t.Run("starting", func(t *testing.T) {
		c, _ := server(t, status(503, "ServiceUnavailable", "apiserver not ready"))
		_, err := c.Snapshot(ctx, "node", time.Time{})
		wantReason(t, err, reason.KubeUnreachable)
	})
	t.Run("interrupted", func(t *testing.T) {
		c, _ := server(t, status(200, "", ""))
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := c.Snapshot(cancelled, "node", time.Time{}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("one question unanswered is unknown, not absent", func(t *testing.T) {
		c, _ := server(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/version" {
				fmt.Fprint(w, `{"gitVersion":"v1.36.0"}`)
				return
			}
			status(403, "Forbidden", "no")(w, r)
		})
		s, err := c.Snapshot(ctx, "node", time.Time{})
		if err != nil || s.Version.Value != "v1.36.0" || s.Node.Status != facts.Unknown || s.Core.Status != facts.Unknown || s.Ready() {
			t.Errorf("%+v %v", s, err)
		}
	})
	t.Run("a node that is not there is absent", func(t *testing.T) {
		c, _ := simulated()
		s, err := c.Snapshot(ctx, "node", time.Time{})
		if err != nil || s.Node.Status != facts.Absent {
			t.Errorf("%+v %v", s, err)
		}
	})
}

func errOf(_ []byte, err error) error { return err }

// TestReady_AnotherClusterIsNoWait holds that a wait for somebody else's API ends within seconds.
func TestReady_AnotherClusterIsNoWait(t *testing.T) {
	c, _ := simulated()
	c.raw = func(context.Context, string) ([]byte, error) { return nil, x509.UnknownAuthorityError{} }
	p := newPoll(time.Hour, time.Hour)
	l := c.readyLook(t.Context(), ReadyOptions{Node: "node"}, false)
	if err := c.giveUp(t.Context(), p, l, ReadyOptions{}, baseline{}); err != nil {
		t.Fatal("a certificate from before may be seen for a moment: ", err)
	}
	p.verdictSince = p.verdictSince.Add(-otherGrace)
	wantReason(t, c.giveUp(t.Context(), p, l, ReadyOptions{}, baseline{}), reason.KubeOther)
}

// TestNew_NoProxy holds that the traffic to the API never goes through a proxy of the environment.
func TestNew_NoProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	_, ca := authority(t)
	c, err := New(kubeconfig("https://api.test:1", ca))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.raw(t.Context(), "/version")
	if err == nil || strings.Contains(err.Error(), "proxyconnect") {
		t.Error(err)
	}
	if c.Address() != "api.test:1" {
		t.Error(c.Address())
	}
	if _, err := New([]byte("nonsense: [")); err == nil {
		t.Error("nonsense was accepted")
	}
}
