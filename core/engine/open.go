package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
	"github.com/docker/go-connections/sockets"

	"rigup.dev/rigup/core/reason"
)

// Options say how to find the engine.
type Options struct {
	// Host is what the user asked for with a flag; "" means what the machine is set up for.
	Host string
	// MinAPI is the lowest API version that will do.
	MinAPI       string
	Surroundings Surroundings
	Timeouts     Timeouts
}

// Open finds the engine, asks it for its version and agrees on an API version. Its errors carry the reasons
// engine.unreachable (with every place that was tried), engine.permission, engine.remote, engine.too-old,
// engine.too-new, engine.timeout or usage.value.
func Open(ctx context.Context, o Options) (*Engine, error) {
	s, limits := o.Surroundings, o.Timeouts.withDefaults()
	candidates, err := Candidates(o.Host, s)
	if err != nil {
		return nil, err
	}
	start := startRemedy(s, candidates)
	var tried []string
	var denied, late *Endpoint
	var causes []error
	for i, c := range candidates {
		// A place that is not there is not worth a connection, but it is worth a line.
		if p, ok := strings.CutPrefix(c.Host, "unix://"); ok && !s.Exists(p) {
			tried = append(tried, c.String()+": no such file")
			continue
		}
		e, err := connect(ctx, c, o.MinAPI, limits, start)
		if err == nil {
			return e, nil
		}
		if ctx.Err() != nil {
			return nil, reason.Fail(reason.New(reason.Interrupted), ctx.Err())
		}
		switch r := reason.Of(err).ID; r {
		case reason.EngineTooOld, reason.EngineTooNew, reason.UsageValue:
			return nil, err
		}
		switch {
		case errors.Is(err, fs.ErrPermission) || KindOf(err) == Denied:
			if denied == nil {
				denied = &candidates[i]
			}
		case KindOf(err) == Timeout && late == nil:
			late = &candidates[i]
		}
		tried = append(tried, c.String()+": "+plain(err))
		causes = append(causes, err)
	}
	cause := errors.Join(causes...)
	switch {
	case denied != nil:
		r := reason.New(reason.EngineDenied, "endpoint", denied.Host, "grant", grantRemedy(s)).With(tried...)
		return nil, &reason.Error{Reason: r, Err: cause}
	case late != nil:
		r := reason.New(reason.EngineTimeout, "limit", Spell(limits.Ping), "what", "reach it at "+late.Host).With(tried...)
		return nil, &reason.Error{Reason: r, Err: cause}
	}
	place := "unix:///path/to/docker.sock"
	if s.GOOS == "windows" {
		place = "npipe:////./pipe/name"
	}
	r := reason.New(reason.EngineUnreachable, "start", start, "place", place).With(tried...)
	return nil, &reason.Error{Reason: r, Err: cause}
}

// plain is the innermost text of a failed connection: what people can act on.
func plain(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err.Error()
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

func connect(ctx context.Context, c Endpoint, minAPI string, limits Timeouts, start string) (*Engine, error) {
	tr, err := transport(c)
	if err != nil {
		return nil, reason.Fail(reason.New(reason.UsageValue, "flag", c.Source, "value", c.Host, "allowed", "its TLS files must be readable"), err)
	}
	hc := &http.Client{Transport: tr, CheckRedirect: client.CheckRedirect}
	cli, err := client.NewClientWithOpts(client.WithHTTPClient(hc), client.WithHost(c.Host), client.WithAPIVersionNegotiation(), client.WithUserAgent("rigup"))
	if err != nil {
		return nil, fmt.Errorf("set up a client for %s: %w", c.Host, err)
	}
	// WithHost turned HTTP_PROXY on for tcp. The proxy is for the network; the engine is on this machine.
	tr.Proxy = nil
	e := &Engine{cli: cli, endpoint: c, timeouts: limits, start: start}
	own := cli.ClientVersion()
	pingCtx, done := e.limited(ctx, limits.Ping, "reach it at "+c.Host)
	// The client's Ping hides a refused connection's cause, which tells "not permitted" from "nothing there".
	if err := done(dialError(pingCtx, cli)); err != nil {
		cli.Close()
		return nil, err
	}
	pingCtx, done = e.limited(ctx, limits.Ping, "ask for its version")
	ping, err := cli.Ping(pingCtx)
	if err = done(err); err != nil {
		cli.Close()
		return nil, err
	}
	have := ping.APIVersion
	if have == "" {
		have = "1.23 or earlier" // engines of that age do not say
	}
	if ping.APIVersion == "" || minAPI != "" && versions.LessThan(ping.APIVersion, minAPI) {
		cli.Close()
		return nil, reason.Fail(reason.New(reason.EngineTooOld, "engine", have, "needed", minAPI), nil)
	}
	cli.NegotiateAPIVersionPing(ping)
	// The first versioned call is where an engine says that this client is too old for it.
	verCtx, done := e.limited(ctx, limits.Ping, "ask for its version")
	_, err = cli.ServerVersion(verCtx)
	if err != nil {
		if r, ok := versionReason(err.Error(), own, minAPI); ok {
			done(err)
			cli.Close()
			return nil, reason.Fail(r, err)
		}
	}
	if err = done(err); err != nil {
		cli.Close()
		return nil, err
	}
	return e, nil
}

var (
	tooOldClient = regexp.MustCompile(`client version ([\d.]+) is too old\. Minimum supported API version is ([\d.]+)`)
	tooNewClient = regexp.MustCompile(`client version ([\d.]+) is too new\. Maximum supported API version is ([\d.]+)`)
)

// versionReason reads an engine's refusal of our API version.
func versionReason(text, own, minAPI string) (reason.Reason, bool) {
	if m := tooOldClient.FindStringSubmatch(text); m != nil {
		return reason.New(reason.EngineTooNew, "needed", m[2], "client", own), true
	}
	if m := tooNewClient.FindStringSubmatch(text); m != nil {
		return reason.New(reason.EngineTooOld, "engine", m[2], "needed", minAPI), true
	}
	return reason.Reason{}, false
}

// dialError makes one connection and closes it.
func dialError(ctx context.Context, cli *client.Client) error {
	conn, err := cli.Dialer()(ctx)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EACCES) {
		return &Error{Kind: Denied, What: "reach it", Err: err}
	}
	if ctx.Err() == nil {
		return &Error{Kind: Unreachable, What: "reach it", Err: err}
	}
	return err
}

// transport is what requests to the endpoint travel on.
func transport(c Endpoint) (*http.Transport, error) {
	tr := &http.Transport{MaxIdleConns: 6, IdleConnTimeout: 30 * time.Second}
	proto, addr, _ := strings.Cut(c.Host, "://")
	if err := sockets.ConfigureTransport(tr, proto, addr); err != nil {
		return nil, err
	}
	if c.CertDir != "" {
		t, err := tlsConfig(c)
		if err != nil {
			return nil, err
		}
		tr.TLSClientConfig = t
	}
	return tr, nil
}

func tlsConfig(c Endpoint) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.SkipVerify}
	if u, err := url.Parse(c.Host); err == nil {
		t.ServerName = u.Hostname()
	}
	ca, err := os.ReadFile(filepath.Join(c.CertDir, "ca.pem"))
	switch {
	case err == nil:
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s holds no certificate", path.Join(c.CertDir, "ca.pem"))
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.CertDir, "cert.pem"), filepath.Join(c.CertDir, "key.pem"))
	switch {
	case err == nil:
		t.Certificates = []tls.Certificate{pair}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return t, nil
}
