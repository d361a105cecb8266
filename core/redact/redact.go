// Package redact takes secrets out of text before it is stored or shown (invariant E2).
package redact

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mask stands where a secret was.
const Mask = "[redacted]"

// minSecret is the length below which a given secret is not searched for: masking every "a" or "no" would
// destroy the text and hide nothing.
const minSecret = 4

// rule replaces what a pattern finds. keep is the replacement, with $1 for what must stay readable.
type rule struct {
	find *regexp.Regexp
	keep string
}

// The parts of an assignment: a name that says that a secret follows, and the secret, quoted or not.
const (
	name  = `[a-z0-9_.-]*(?:passwo?r?d|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client-key-data|credentials?)`
	value = `[^\s"',;&}\[]+`
)

// rules find secrets by their surroundings. They are compiled once and never changed.
var rules = []rule{
	// scheme://user:password@host, and a lone token before the @. The user stays: it helps and is no secret. A
	// password with a slash in it is not right, but people have them; host:port/path@digest is none.
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'<>?#\[]*):[^\s"'<>/]*@`), "$1:" + Mask + "@"},
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'<>?#\[]*):\d*[^\s"'<>/\d:@][^\s"'<>/@]*/[^\s"'<>]*@`), "$1:" + Mask + "@"},
	{regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/:@"'<>?#\[]{16,}@`), "$1" + Mask + "@"},
	// PEM blocks of keys, also cut off.
	{regexp.MustCompile(`(-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)`), "$1" + Mask + "$2"},
	// Authorization: Bearer ..., Basic ...; also quoted as in JSON. Without a scheme only what is long enough
	// not to be a word of a sentence.
	{regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token|negotiate|digest)\s+)(?:\[redacted\]|[^\s"',;]+)`), "$1" + Mask},
	{regexp.MustCompile(`(?i)\b(authorization["']?\s*[:=]\s*["']?)[^\s"',;\[]{12,}`), "$1" + Mask},
	{regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{12,}=*`), "$1" + Mask},
	{regexp.MustCompile(`(?i)\b(x-(?:registry-auth|registry-config|auth-token|api-key)["']?\s*[:=]\s*["']?)[^\s"',;\[]+`), "$1" + Mask},
	// password=... anywhere; "token": ... as a quoted key; token: ... as a line of YAML. In the middle of a line
	// "token: " is mostly prose ("failed to fetch token: ..."), only "password: " is not.
	// Quotes stay, so that JSON stays JSON.
	{regexp.MustCompile(`(?i)(` + name + `["']?\s*[:=]\s*)"(?:[^"\\]|\\.)*"`), `$1"` + Mask + `"`},
	{regexp.MustCompile(`(?i)(` + name + `["']?\s*[:=]\s*)'[^']*'`), `$1'` + Mask + `'`},
	{regexp.MustCompile(`(?i)(` + name + `["']?\s*=\s*)` + value), "$1" + Mask},
	{regexp.MustCompile(`(?i)(["']` + name + `["']\s*:\s*)` + value), "$1" + Mask},
	{regexp.MustCompile(`(?im)(^[ \t-]*` + name + `:[ \t]+)` + value), "$1" + Mask},
	{regexp.MustCompile(`(?i)((?:passwo?r?d|passphrase):[ \t]+)` + value), "$1" + Mask},
	{regexp.MustCompile(`(?i)(--?[a-z0-9-]*(?:password|passwd|secret|token)\s+)[^\s-][^\s]*`), "$1" + Mask},
	// The same in JSON inside of JSON, where quotes are escaped.
	{regexp.MustCompile(`(?i)(\\+"(?:` + name + `|auth|identitytoken|registrytoken)\\+"\s*:\s*\\+")[^"\\]+`), "$1" + Mask},
	// The auth and identitytoken fields of a Docker config.
	{regexp.MustCompile(`(?i)("(?:auth|identitytoken|registrytoken)"\s*:\s*")[^"]+`), "$1" + Mask},
	{regexp.MustCompile(`(?i)\b(auth\s*[:=]\s*)[A-Za-z0-9+/]{12,}=*`), "$1" + Mask},
	// JSON web tokens (service accounts, registries) and tokens whose prefix gives them away.
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?`), Mask},
	{regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{20,}|dckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|xox[abprs]-[A-Za-z0-9-]{10,})`), Mask},
	// k3s join tokens.
	{regexp.MustCompile(`\bK10[0-9a-f]{32,}::[^\s"']+`), Mask},
}

// String returns s without secrets: the given ones, in any of the forms in which they travel (as they are, in
// base64, escaped for a URL), and everything that looks like one by its surroundings.
func String(s string, secrets ...string) string {
	for _, f := range forms(secrets) {
		s = strings.ReplaceAll(s, f, Mask)
	}
	for _, r := range rules {
		s = r.find.ReplaceAllString(s, r.keep)
	}
	return s
}

// forms are the secrets and their encodings, longest first so that none is masked only in part.
func forms(secrets []string) []string {
	var all []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < minSecret {
			continue
		}
		all = append(all, s)
		for _, f := range []string{
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)),
			base64.URLEncoding.EncodeToString([]byte(s)), url.QueryEscape(s), url.PathEscape(s),
			strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), `"`, `\"`),
		} {
			if f != s {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}
