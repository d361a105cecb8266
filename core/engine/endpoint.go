package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"rigup.dev/rigup/core/reason"
)

// Surroundings is what finding the engine reads from the machine.
type Surroundings struct {
	GOOS     string
	Env      func(name string) string
	Home     string // the user's home directory; "" if there is none
	Exists   func(path string) bool
	ReadFile func(path string) ([]byte, error)
	LookPath func(program string) (string, error)
}

// Machine is the machine that the program runs on.
func Machine(goos string) Surroundings {
	home, _ := os.UserHomeDir()
	return Surroundings{
		GOOS: goos, Env: os.Getenv, Home: home,
		Exists:   func(p string) bool { _, err := os.Lstat(p); return err == nil || errors.Is(err, fs.ErrPermission) },
		ReadFile: os.ReadFile, LookPath: exec.LookPath,
	}
}

// ConfigDir is the directory of the Docker client's configuration; "" if there is none.
func (s Surroundings) ConfigDir() string {
	if d := s.Env("DOCKER_CONFIG"); d != "" {
		return d
	}
	if s.Home == "" {
		return ""
	}
	return filepath.Join(s.Home, ".docker")
}

// Endpoint is where an engine may listen.
type Endpoint struct {
	// Host is unix:///path, npipe:////./pipe/name or tcp://127.0.0.1:port.
	Host string
	// Source says what named it, for people: "--engine", "DOCKER_HOST", "context NAME", "default".
	Source string
	// CertDir has ca.pem, cert.pem and key.pem; "" is a connection without TLS.
	CertDir string
	// SkipVerify leaves the engine's certificate unchecked, as its context says.
	SkipVerify bool
}

func (e Endpoint) String() string { return e.Host + " (" + e.Source + ")" }

// Candidates lists where to look for an engine. What the user named stands alone: an engine that was named
// and does not answer is not replaced by another. The order is flag, DOCKER_HOST, DOCKER_CONTEXT, the
// current context of the Docker configuration, the platform's usual places.
func Candidates(flag string, s Surroundings) ([]Endpoint, error) {
	if flag != "" {
		return named(flag, "--engine", s)
	}
	if h := s.Env("DOCKER_HOST"); h != "" {
		return named(h, "DOCKER_HOST", s)
	}
	name, source := s.Env("DOCKER_CONTEXT"), "DOCKER_CONTEXT "
	if name == "" {
		var err error
		if name, err = currentContext(s); err != nil {
			return nil, err
		}
		source = "context "
	}
	// "default" is the name of what is used without contexts.
	if name != "" && name != "default" {
		e, err := contextEndpoint(name, s)
		if err != nil {
			return nil, err
		}
		e.Source = source + name
		return checked(e)
	}
	return usual(s), nil
}

// named is an endpoint that the user wrote down.
func named(host, source string, s Surroundings) ([]Endpoint, error) {
	if strings.HasPrefix(host, "/") {
		host = "unix://" + host
	}
	e := Endpoint{Host: host, Source: source}
	if strings.HasPrefix(host, "tcp://") {
		verify, dir := s.Env("DOCKER_TLS_VERIFY") != "", s.Env("DOCKER_CERT_PATH")
		if verify && dir == "" {
			dir = s.ConfigDir()
		}
		e.CertDir, e.SkipVerify = dir, !verify
	}
	return checked(e)
}

// checked refuses what is not on this machine.
func checked(e Endpoint) ([]Endpoint, error) {
	u, err := url.Parse(e.Host)
	if err != nil || u.Scheme == "" {
		return nil, reason.Fail(reason.New(reason.UsageValue, "flag", e.Source, "value", e.Host,
			"allowed", "give unix:///path/to/docker.sock, npipe:////./pipe/name or tcp://127.0.0.1:port"), err)
	}
	switch u.Scheme {
	case "unix", "npipe":
		return []Endpoint{e}, nil
	case "tcp", "http", "https":
		host := u.Hostname()
		if ip := net.ParseIP(host); host == "localhost" || host == "" || ip != nil && ip.IsLoopback() {
			e.Host = "tcp://" + u.Host
			return []Endpoint{e}, nil
		}
		return nil, reason.Fail(reason.New(reason.EngineRemote, "endpoint", safeHost(u)), nil)
	case "ssh":
		return nil, reason.Fail(reason.New(reason.EngineRemote, "endpoint", safeHost(u)), nil)
	}
	return nil, reason.Fail(reason.New(reason.UsageValue, "flag", e.Source, "value", safeHost(u),
		"allowed", "give unix:///path/to/docker.sock, npipe:////./pipe/name or tcp://127.0.0.1:port"), nil)
}

// safeHost leaves out a password that an address may carry.
func safeHost(u *url.URL) string { return u.Redacted() }

func currentContext(s Surroundings) (string, error) {
	dir := s.ConfigDir()
	if dir == "" {
		return "", nil
	}
	b, err := s.ReadFile(filepath.Join(dir, "config.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var c struct {
		CurrentContext string `json:"currentContext"`
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		return "", reason.Fail(reason.New(reason.UsageConfig, "file", filepath.Join(dir, "config.json"), "what", "the Docker configuration cannot be read"), err)
	}
	return c.CurrentContext, nil
}

// contextEndpoint reads a Docker context. The folder's name is the hash of the context's name.
func contextEndpoint(name string, s Surroundings) (Endpoint, error) {
	sum := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(sum[:])
	dir := s.ConfigDir()
	file := filepath.Join(dir, "contexts", "meta", id, "meta.json")
	b, err := s.ReadFile(file)
	var m struct {
		Endpoints map[string]struct {
			Host          string
			SkipTLSVerify bool
		}
	}
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err == nil && m.Endpoints["docker"].Host == "" {
		err = errors.New("it names no Docker endpoint")
	}
	if err != nil {
		return Endpoint{}, reason.Fail(reason.New(reason.UsageValue, "flag", "the Docker context", "value", name,
			"allowed", "choose one that docker context ls shows, or pass --engine"), fmt.Errorf("read Docker context %s: %w", name, err))
	}
	d := m.Endpoints["docker"]
	e := Endpoint{Host: d.Host, SkipVerify: d.SkipTLSVerify}
	if tls := filepath.Join(dir, "contexts", "tls", id, "docker"); s.Exists(tls) {
		e.CertDir = tls
	}
	return e, nil
}

// usual lists where engines listen when nobody says otherwise, most usual first.
func usual(s Surroundings) []Endpoint {
	var hosts []string
	if s.GOOS == "windows" {
		hosts = []string{"npipe:////./pipe/docker_engine", "npipe:////./pipe/dockerDesktopLinuxEngine"}
	} else {
		hosts = append(hosts, "unix:///var/run/docker.sock")
		if d := s.Env("XDG_RUNTIME_DIR"); d != "" {
			hosts = append(hosts, "unix://"+d+"/docker.sock") // rootless
		}
		if s.Home != "" {
			for _, p := range []string{
				".docker/run/docker.sock",            // Docker Desktop on macOS
				".docker/desktop/docker.sock",        // Docker Desktop on Linux
				".colima/default/docker.sock",        // Colima
				".config/colima/default/docker.sock", // Colima with XDG directories
				".orbstack/run/docker.sock",          // OrbStack
				".rd/docker.sock",                    // Rancher Desktop
			} {
				hosts = append(hosts, "unix://"+s.Home+"/"+p)
			}
		}
	}
	var all []Endpoint
	for _, h := range hosts {
		all = append(all, Endpoint{Host: h, Source: "default"})
	}
	return all
}

// startRemedy says how to get an engine that answers, as far as can be told from here.
func startRemedy(s Surroundings, tried []Endpoint) string {
	installed := func(programs ...string) bool {
		for _, p := range programs {
			if _, err := s.LookPath(p); err == nil {
				return true
			}
		}
		return false
	}
	for _, e := range tried {
		switch {
		case strings.Contains(e.Host, "colima/") && installed("colima"):
			return "colima start"
		case strings.Contains(e.Host, "/.orbstack/") && s.Exists("/Applications/OrbStack.app"):
			return "start OrbStack"
		case strings.Contains(e.Host, "/.rd/") && installed("rdctl"):
			return "start Rancher Desktop"
		}
	}
	switch s.GOOS {
	case "windows":
		if s.Exists(s.Env("ProgramFiles")+`\Docker\Docker\Docker Desktop.exe`) || installed("docker.exe", "docker") {
			return "start Docker Desktop and wait until it says that the engine is running"
		}
		return "install Docker Desktop from https://docs.docker.com/desktop/ and start it"
	case "darwin":
		if s.Exists("/Applications/Docker.app") || installed("docker") {
			return "start Docker Desktop and wait until it says that the engine is running"
		}
		return "install Docker Desktop from https://docs.docker.com/desktop/ and start it"
	}
	switch {
	case s.Exists("/mnt/wsl") && !installed("dockerd"):
		return "start Docker Desktop in Windows and turn on Settings > Resources > WSL integration for this distribution"
	case s.Exists(s.Home + "/.docker/desktop"):
		return "systemctl --user start docker-desktop"
	case s.Exists("/snap/bin/docker") || s.Exists("/var/snap/docker"):
		return "sudo snap start docker"
	case installed("dockerd", "/usr/sbin/dockerd", "/usr/bin/dockerd"):
		if s.Exists("/run/systemd/system") {
			return "sudo systemctl start docker"
		}
		return "sudo service docker start"
	}
	return "install Docker: https://docs.docker.com/engine/install/"
}

// grantRemedy says how the user gets access to the socket.
func grantRemedy(s Surroundings) string {
	switch s.GOOS {
	case "linux":
		return "sudo usermod -aG docker $USER, then log in again"
	case "windows":
		return "add this user to the local group docker-users, then log in again"
	}
	return "start the engine as this user"
}
