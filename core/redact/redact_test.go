package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestE2_PlantedSecrets holds that a secret is found by its surroundings, and that the rest stays readable.
func TestE2_PlantedSecrets(t *testing.T) {
	const s = "hunter2-Planted"
	jwt := "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJl-Planted"
	for _, c := range []struct{ name, in, stays string }{
		{"proxy", "proxyconnect tcp: http://me:" + s + "@proxy.test:3128: refused", "http://me:[redacted]@proxy.test:3128: refused"},
		{"proxy, odd password", "HTTPS_PROXY=http://me:p@" + s + "@proxy.test:3128 x", "@proxy.test:3128 x"},
		{"proxy, slash in the password", "http_proxy=http://me:p/" + s + "@proxy.test:3128 x", "@proxy.test:3128 x"},
		{"in a sentence", "login failed with password: " + s + " today", " today"},
		{"token as the user", "clone https://" + s + "AndSomeMore@git.test/a failed", "https://[redacted]@git.test/a failed"},
		{"bearer", "Authorization: Bearer " + s + " (x)", "Authorization: Bearer [redacted] (x)"},
		{"basic, JSON", `{"Authorization":"Basic ` + s + `","a":1}`, `","a":1}`},
		{"proxy authorization", "Proxy-Authorization: Basic " + s, "Proxy-Authorization: Basic"},
		{"registry header", "X-Registry-Auth: " + s, "X-Registry-Auth: "},
		{"password=", "user=me password=" + s + " host=db", "user=me password=[redacted] host=db"},
		{"quoted", `PGPASSWORD="` + s + ` with spaces" x`, ` x`},
		{"YAML", "  password: " + s + "\n  port: 1", "port: 1"},
		{"JSON", `{"registry-token": "` + s + `", "port": 1}`, `"port": 1}`},
		{"env", "env AWS_SECRET_ACCESS_KEY=" + s + " sh", " sh"},
		{"flag", "--registry-password " + s + " --other x", "--other x"},
		{"url query", "GET /v1?token=" + s + "&page=2", "&page=2"},
		{"Docker config", `{"auths":{"r.test":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:"+s)) + `"}}}`, `r.test`},
		{"JSON in JSON", `{"message":"{\"auth\":\"` + s + `\",\"port\":1}"}`, `,\"port\":1}"}`},
		{"identity token", `{"identitytoken":"` + s + `"}`, `identitytoken`},
		{"registries.yaml", "auth: " + base64.StdEncoding.EncodeToString([]byte("me:"+s)), "auth: "},
		{"kubeconfig", "client-key-data: " + base64.StdEncoding.EncodeToString([]byte(s)), "client-key-data: "},
		{"service account", "token is " + jwt + ".", "token is "},
		{"key", "-----BEGIN EC PRIVATE KEY-----\n" + s + "\n-----END EC PRIVATE KEY-----\nafter", "after"},
		{"key, cut off", "-----BEGIN RSA PRIVATE KEY-----\n" + s + "\nmore", "BEGIN RSA PRIVATE KEY"},
		{"GitHub", "ghp_Planted0123456789abcdefghij pushed", "pushed"},
		{"Hugging Face", "HF said hf_Planted0123456789abcdefghij", "HF said"},
		{"k3s token", "K10" + strings.Repeat("ab", 32) + "::server:" + s + " joined", "joined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := String(c.in)
			for _, bad := range []string{s, "Planted", base64.StdEncoding.EncodeToString([]byte("me:" + s)), base64.StdEncoding.EncodeToString([]byte(s))} {
				if strings.Contains(got, bad) {
					t.Errorf("still there: %s", got)
				}
			}
			if !strings.Contains(got, Mask) {
				t.Errorf("nothing says that something was taken out: %s", got)
			}
			if !strings.Contains(got, c.stays) {
				t.Errorf("%q lacks %q", got, c.stays)
			}
			if again := String(got); again != got {
				t.Errorf("not stable: %q, then %q", got, again)
			}
		})
	}
}

// TestE2_OrdinaryTextStays holds that what is no secret is not touched.
func TestE2_OrdinaryTextStays(t *testing.T) {
	for _, s := range []string{
		"",
		"failed to fetch anonymous token: unexpected status from GET request to https://auth.test/token?scope=repository%3Aapp%3Apull&service=registry.test: 403 Forbidden",
		`secret "registry" not found`,
		"MountVolume.SetUp failed for volume \"tls\" : secret \"tls\" not found",
		"pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
		"https://registry.test:5000/v2/app/manifests/sha256:0123456789abcdef",
		"git@github.test:a/b.git",
		"user@host: permission denied",
		"serviceaccount default/token-controller started",
		"a basic check",
		"http://[::1]:6443/a@b",
		"https://registry.test:5000/app@sha256:0123456789abcdef",
	} {
		if got := String(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// TestE2_JSONStaysJSON holds that a line of an event stream can still be read after redaction.
func TestE2_JSONStaysJSON(t *testing.T) {
	in := `{"password":"a\"Planted","nested":{"registry-token": "Planted"},"evidence":["token=Planted-x","Authorization: Bearer Planted0123456789"],"n":1}`
	var v map[string]any
	if err := json.Unmarshal([]byte(String(in)), &v); err != nil || v["n"] != 1.0 || strings.Contains(fmt.Sprint(v), "Planted") {
		t.Errorf("%v: %s", err, String(in))
	}
}

// TestE2_GivenSecrets holds that a secret that is known is found in all forms in which it travels.
func TestE2_GivenSecrets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z"\\/@:%+ ]{3}[A-Z][a-z0-9"\\/@:%+&= ]{4,20}[0-9]`).Draw(t, "secret")
		secret = strings.TrimSpace(secret)
		for _, form := range forms([]string{secret}) {
			if got := String("before "+form+" after", secret); strings.Contains(got, form) {
				t.Fatalf("%q still has %q", got, form)
			}
		}
	})
	if got := String("no a b", "a", "", "no"); got != "no a b" {
		t.Errorf("too short to be a secret: %q", got)
	}
}

// TestE2_Writer holds that a secret is found however the text is cut into pieces.
func TestE2_Writer(t *testing.T) {
	const text = "start password=hunter2-Planted end\nknown-Planted\r\n-----BEGIN PRIVATE KEY-----\nPlanted\nPlanted\n-----END PRIVATE KEY-----\nAuthorization: Bearer Planted0123456\nlast Planted-last"
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		w := NewWriter(&out, "known-Planted")
		w.Add("Planted-last")
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if k, err := w.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); strings.Contains(got, "Planted") || !strings.Contains(got, "start password=[redacted] end\n") || !strings.HasSuffix(got, "last [redacted]") {
			t.Fatal(got)
		}
	})
}
