package engine

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// hubKey is the name of Docker Hub in the Docker client's configuration.
const hubKey = "https://index.docker.io/v1/"

// helperLimit is how long a credential helper may take; some ask the user to unlock a keychain.
const helperLimit = 30 * time.Second

// Credentials are what a registry wants to see. They print as "(hidden)" (invariant E2).
type Credentials struct {
	Username, Password string
	// IdentityToken is exchanged for access, RegistryToken is sent as it is.
	IdentityToken, RegistryToken string
}

// Empty reports whether there are none.
func (c Credentials) Empty() bool { return c == Credentials{} }

func (c Credentials) String() string {
	if c.Empty() {
		return "(none)"
	}
	return "(hidden)"
}

// GoString hides them from %#v as well.
func (c Credentials) GoString() string { return c.String() }

// MarshalJSON hides them from anything that is stored.
func (c Credentials) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Keychain finds the credentials that the Docker client has stored for registries.
type Keychain struct {
	// Dir is the Docker client's configuration directory; "" means there is none.
	Dir      string
	ReadFile func(path string) ([]byte, error)
	// Helper runs a credential helper's "get": it is given the registry's key, and answers as the helper does.
	Helper func(ctx context.Context, helper, key string) ([]byte, error)
	// Override are credentials that the user named for hosts; they win.
	Override map[string]Credentials
}

// NewKeychain is the keychain of the Docker client of these surroundings.
func NewKeychain(s Surroundings) Keychain {
	return Keychain{Dir: s.ConfigDir(), ReadFile: s.ReadFile, Helper: runHelper}
}

// For finds the credentials of a registry host (docker.io for Docker Hub). No credentials is not an error;
// a configuration or helper that cannot be read is, and the caller decides whether to go on without.
func (k Keychain) For(ctx context.Context, host string) (Credentials, error) {
	host = hostName(host)
	if c, ok := k.Override[host]; ok {
		return c, nil
	}
	if k.Dir == "" {
		return Credentials{}, nil
	}
	file := filepath.Join(k.Dir, "config.json")
	b, err := k.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Credentials{}, nil
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("read the Docker configuration: %w", err)
	}
	var c struct {
		Auths map[string]struct {
			Auth, Username, Password     string
			IdentityToken, RegistryToken string
		} `json:"auths"`
		Helpers map[string]string `json:"credHelpers"`
		Store   string            `json:"credsStore"`
	}
	if err := json.Unmarshal(b, &c); err != nil {
		// The decoder's words may quote the file.
		return Credentials{}, fmt.Errorf("%s is not valid JSON", file)
	}
	key := host
	if host == dockerHub {
		key = hubKey
	}
	helper := c.Store
	for name, h := range c.Helpers {
		if sameHost(name, host) {
			helper = h
		}
	}
	if helper != "" {
		return k.fromHelper(ctx, helper, key)
	}
	for name, a := range c.Auths {
		if !sameHost(name, host) {
			continue
		}
		out := Credentials{Username: a.Username, Password: a.Password, IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken}
		if a.Auth != "" {
			plain, err := base64.StdEncoding.DecodeString(a.Auth)
			user, pass, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
			if err != nil || !ok {
				return Credentials{}, fmt.Errorf("the credentials of %s in %s cannot be read", host, file)
			}
			out.Username, out.Password = user, pass
		}
		return out, nil
	}
	return Credentials{}, nil
}

func (k Keychain) fromHelper(ctx context.Context, helper, key string) (Credentials, error) {
	ctx, cancel := context.WithTimeout(ctx, helperLimit)
	defer cancel()
	out, err := k.Helper(ctx, helper, key)
	if err != nil {
		// Helpers say this on their standard output, with a failing exit code.
		if strings.Contains(string(out), "credentials not found") {
			return Credentials{}, nil
		}
		if ctx.Err() == context.DeadlineExceeded {
			err = ctx.Err()
		}
		return Credentials{}, fmt.Errorf("ask the credential helper %s: %w", helper, err)
	}
	var a struct{ Username, Secret string }
	if err := json.Unmarshal(out, &a); err != nil {
		return Credentials{}, fmt.Errorf("the credential helper %s answered something that is not JSON", helper)
	}
	if a.Username == "<token>" {
		return Credentials{IdentityToken: a.Secret}, nil
	}
	return Credentials{Username: a.Username, Password: a.Secret}, nil
}

func runHelper(ctx context.Context, helper, key string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	cmd.Stdin = strings.NewReader(key)
	cmd.WaitDelay = time.Second // a child that keeps the pipe open must not keep us
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	return out.Bytes(), err
}

// sameHost compares a key of the Docker configuration, which may be a URL, with a host.
func sameHost(key, host string) bool {
	if _, rest, ok := strings.Cut(key, "://"); ok {
		key = rest
	}
	key, _, _ = strings.Cut(key, "/")
	return hostName(key) == host
}
