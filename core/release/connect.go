package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// callLimit bounds one request to the API. Watches are bounded by the operation they belong to.
const callLimit = 30 * time.Second

// grace is how long the record of a release may still be written after its operation was cancelled, so that
// it says failed and not pending.
const grace = 5 * time.Second

// kubeConnect makes sessions out of a kubeconfig. Each session's requests end with the context of its
// operation: Helm itself takes no context that reaches its requests.
func kubeConnect(o Options) (connect func(context.Context) (*session, error), address string, err error) {
	raw, err := clientcmd.Load(o.Kubeconfig)
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.Context, Context: clientcmdapi.Context{Namespace: o.Namespace}}
	loader := clientcmd.NewDefaultClientConfig(*raw, overrides)
	base, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	// The API is on this machine and has one user: client-side throttling only adds seconds.
	base.QPS, base.Burst = 200, 400
	base.UserAgent = "rigup"
	base.WarningHandler = warnings{o.Log}

	return func(ctx context.Context) (*session, error) {
		work := rest.CopyConfig(base)
		work.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{ctx, next} })
		getter := &getter{config: work, loader: loader}
		client := kube.New(getter)
		client.Log = o.Log
		client.Namespace = o.Namespace

		record := rest.CopyConfig(base)
		late := lateContext(ctx, grace)
		record.Wrap(func(next http.RoundTripper) http.RoundTripper { return bound{late, next} })
		set, err := kubernetes.NewForConfig(record)
		if err != nil {
			return nil, err
		}
		return &session{
			config: &action.Configuration{
				RESTClientGetter: getter,
				KubeClient:       client,
				Releases:         storage.Init(newStrict(set.CoreV1().Secrets(o.Namespace))),
				Log:              o.Log,
				HookOutputFunc:   func(_, _, _ string) io.Writer { return io.Discard },
			},
			version: func() (string, error) {
				d, err := discovery.NewDiscoveryClientForConfig(work)
				if err != nil {
					return "", err
				}
				v, err := d.ServerVersion()
				if err != nil {
					return "", err
				}
				return v.GitVersion, nil
			},
			exists: func(objects []Object) ([]Object, error) { return missing(ctx, work, getter, objects) },
			reclaim: func(objects []Object) ([]string, error) {
				return reclaim(ctx, work, o.Release, o.Namespace, objects)
			},
		}, nil
	}, base.Host, nil
}

// session is one operation's way to the cluster. Tests make their own.
type session struct {
	config  *action.Configuration
	version func() (string, error)
	// exists returns those of the objects that are not in the cluster.
	exists func([]Object) (gone []Object, err error)
	// reclaim frees kept volumes of the release for their new claims, and returns their names.
	reclaim func([]Object) (freed []string, err error)
}

// missing asks for the metadata of every object, some at a time.
func missing(ctx context.Context, config *rest.Config, g *getter, objects []Object) ([]Object, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper, err := g.ToRESTMapper()
	if err != nil {
		return nil, err
	}
	return checkAll(objects, func(o Object) error { return get(ctx, client, mapper, o) })
}

// bound ends requests with the operation they belong to, and bounds each one.
type bound struct {
	ctx  context.Context
	next http.RoundTripper
}

func (b bound) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(b.ctx, func() { cancel(context.Cause(b.ctx)) })
	end := func() { stop(); cancel(nil) }
	if req.URL.Query().Get("watch") == "" {
		timer := time.AfterFunc(callLimit, func() { cancel(errCallLimit) })
		inner := end
		end = func() { timer.Stop(); inner() }
	}
	resp, err := b.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%s %s: %w", req.Method, req.URL.Path, cause)
		}
		end()
		return nil, err
	}
	resp.Body = &ending{resp.Body, sync.OnceFunc(end)}
	return resp, nil
}

var errCallLimit = fmt.Errorf("no answer within %s: %w", callLimit, context.DeadlineExceeded)

type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// lateContext ends some time after ctx does.
func lateContext(ctx context.Context, after time.Duration) context.Context {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		time.AfterFunc(after, func() { cancel(context.Cause(ctx)) })
	})
	return late
}

// getter is what Helm asks for its clients. Discovery is kept in memory, never on disk.
type getter struct {
	config *rest.Config
	loader clientcmd.ClientConfig

	once   sync.Once
	cached discovery.CachedDiscoveryInterface
	mapper meta.RESTMapper
	err    error
}

func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig { return g.loader }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	g.once.Do(g.discover)
	return g.cached, g.err
}

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	g.once.Do(g.discover)
	return g.mapper, g.err
}

func (g *getter) discover() {
	d, err := discovery.NewDiscoveryClientForConfig(g.config)
	if err != nil {
		g.err = err
		return
	}
	g.cached = memory.NewMemCacheClient(d)
	g.mapper = restmapper.NewDeferredDiscoveryRESTMapper(g.cached)
}

// warnings are notes of the API server, such as a deprecation; they belong to the log.
type warnings struct {
	log func(string, ...any)
}

func (w warnings) HandleWarningHeader(_ int, _ string, text string) { w.log("warning: %s", text) }

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "Kubernetes cluster unreachable")
}
