// Package kube asks a cluster how it is and waits until it, and what runs in it, is ready.
package kube

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/kubernetes/typed/apps/v1"
	batch "k8s.io/client-go/kubernetes/typed/batch/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/redact"
)

// callTimeout limits each call. The API is on the same machine; a busy one still answers within this.
const callTimeout = 5 * time.Second

// Client talks to one cluster. It is safe for concurrent use.
type Client struct {
	core    core.CoreV1Interface
	apps    v1.AppsV1Interface
	batch   batch.BatchV1Interface
	raw     func(ctx context.Context, path string) ([]byte, error) // GET of a path that has no type
	close   func()
	address string
	secrets []string
}

var _ API = (*Client)(nil)

// New makes a client of a kubeconfig's current context. It calls nothing. The secrets are values that must not
// show up in evidence.
func New(kubeconfig []byte, secrets ...string) (*Client, error) {
	cfg, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	cfg.UserAgent = "rigup"
	// The calls are few and local; client-go's own limit would only make ready be noticed late.
	cfg.QPS, cfg.Burst = 200, 400
	// The API is on this machine: a proxy from the environment must never see its traffic.
	cfg.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
	// With HTTP/1.1 a call that runs into its deadline takes its connection with it. An HTTP/2 connection to a
	// node that was cut off would be used again until its ping times out, 45 s later.
	cfg.NextProtos = []string{"http/1.1"}
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	cfg.WarningHandler = rest.NoWarnings{}
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig of the cluster: %w", err)
	}
	c := &Client{address: address(cfg.Host), secrets: secrets, close: hc.CloseIdleConnections}
	coreClient, err := core.NewForConfigAndClient(cfg, hc)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig of the cluster: %w", err)
	}
	c.core = coreClient
	if c.apps, err = v1.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("use the kubeconfig of the cluster: %w", err)
	}
	if c.batch, err = batch.NewForConfigAndClient(cfg, hc); err != nil {
		return nil, fmt.Errorf("use the kubeconfig of the cluster: %w", err)
	}
	c.raw = func(ctx context.Context, path string) ([]byte, error) {
		return coreClient.RESTClient().Get().AbsPath(path).DoRaw(ctx)
	}
	return c, nil
}

// Close drops the connections that are kept open between calls.
func (c *Client) Close() {
	if c.close != nil {
		c.close()
	}
}

// Address is host:port of the API.
func (c *Client) Address() string { return c.address }

func address(host string) string {
	if u, err := url.Parse(host); err == nil && u.Host != "" {
		return u.Host
	}
	return host
}

// redact takes secrets out of text that came from the cluster.
func (c *Client) redact(s string) string { return redact.String(s, c.secrets...) }

// fail makes a user-facing failure whose evidence is free of secrets.
func (c *Client) fail(r reason.Reason, evidence ...string) error {
	for i := range evidence {
		evidence[i] = c.redact(evidence[i])
	}
	return &reason.Error{Reason: r.With(evidence...)}
}
