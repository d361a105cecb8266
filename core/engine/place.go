package engine

import (
	"net"
	"net/url"
	"strings"
)

// Remote reports whether the endpoint leads to another machine.
func (e Endpoint) Remote() bool {
	u, err := url.Parse(e.Host)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "ssh":
		return true
	case "tcp", "http", "https":
		host := u.Hostname()
		ip := net.ParseIP(host)
		return host != "" && host != "localhost" && (ip == nil || !ip.IsLoopback())
	}
	return false
}

// Context is the Docker context that named the endpoint; "" if none did.
func (e Endpoint) Context() string {
	for _, source := range []string{"DOCKER_CONTEXT ", "context "} {
		if name, ok := strings.CutPrefix(e.Source, source); ok {
			return name
		}
	}
	return ""
}
