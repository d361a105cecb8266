package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"rigup.dev/rigup/test/lab/nodeconf"
)

//go:embed manifests/*.yaml
var packaged embed.FS

// stageManifests writes the packaged manifests where users find and may watch
// them; a disabled one is not written.
func stageManifests(dir string, o *nodeconf.Options, clusterDNS string) error {
	disabled := map[string]bool{}
	for _, d := range o.Split("disable") {
		disabled[d] = true
	}
	files, err := packaged.ReadDir("manifests")
	if err != nil {
		return err
	}
	for _, f := range files {
		if disabled[strings.TrimSuffix(f.Name(), ".yaml")] {
			continue
		}
		b, err := packaged.ReadFile("manifests/" + f.Name())
		if err != nil {
			return err
		}
		text := strings.NewReplacer(
			"%{CLUSTER_DNS}%", clusterDNS, "%{CLUSTER_DOMAIN}%", o.Get("cluster-domain", "cluster.local"),
			"%{SYSTEM_DEFAULT_REGISTRY}%", systemRegistry(o), "%{COREDNS_TAG}%", CoreDNS,
		).Replace(string(b))
		p := filepath.Join(dir, f.Name())
		logf("info", "Writing manifest: %s", p)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// deployer applies what lies in the manifests folder.
type deployer struct {
	dyn     dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	manager string
	dir     string
	disable map[string]bool
	seen    map[string][32]byte
}

// deployManifests applies every manifest under dir, now and whenever one
// changes, and takes back those of disabled components, until ctx ends.
func deployManifests(ctx context.Context, cfg *rest.Config, dir, node string, disabled []string) {
	dc, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		logf("error", "deploy: %v", err)
		return
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		logf("error", "deploy: %v", err)
		return
	}
	d := &deployer{
		dyn: dyn, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(dc)),
		manager: "deploy@" + node, dir: dir, disable: map[string]bool{}, seen: map[string][32]byte{},
	}
	for _, n := range disabled {
		d.disable[n] = true
	}
	for {
		d.pass(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

func (d *deployer) pass(ctx context.Context) {
	filepath.WalkDir(d.dir, func(p string, e os.DirEntry, err error) error {
		ext := filepath.Ext(p)
		if err != nil || e.IsDir() || (ext != ".yaml" && ext != ".yml" && ext != ".json") {
			return nil
		}
		if _, err := os.Stat(p + ".skip"); err == nil {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return nil
		}
		h := sha256.Sum256(b)
		if d.seen[p] == h {
			return nil
		}
		each := d.apply
		gone := d.disable[strings.TrimSuffix(filepath.Base(p), ext)]
		if gone {
			each = d.remove
		}
		if err := d.each(ctx, b, each); err != nil {
			if ctx.Err() == nil {
				logf("error", "Failed to process config: failed to process %s: %v", p, err)
			}
			d.mapper.Reset()
			return nil
		}
		d.seen[p] = h
		if gone {
			return os.Remove(p)
		}
		logf("info", "Applied manifest at %q", p)
		return nil
	})
}

func (d *deployer) each(ctx context.Context, doc []byte, f func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	dec := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(doc), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := dec.Decode(u); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if len(u.Object) == 0 {
			continue
		}
		gvk := u.GroupVersionKind()
		m, err := d.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return err
		}
		var r dynamic.ResourceInterface = d.dyn.Resource(m.Resource)
		if m.Scope.Name() == meta.RESTScopeNameNamespace {
			if u.GetNamespace() == "" {
				u.SetNamespace(metav1.NamespaceDefault)
			}
			r = d.dyn.Resource(m.Resource).Namespace(u.GetNamespace())
		}
		if err := f(ctx, r, u); err != nil {
			return err
		}
	}
}

func (d *deployer) apply(ctx context.Context, r dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	_, err := r.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: d.manager, Force: true})
	return err
}

func (d *deployer) remove(ctx context.Context, r dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	err := r.Delete(ctx, u.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
