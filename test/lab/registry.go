package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// registry is the address of the registry that wants a user and a password.
func (e *engine) registry() string { return e.net.eng + ":5000" }

// mirror is the address of the open one, the engine's mirror of docker.io.
func (e *engine) mirror() string { return e.net.eng + ":5001" }

type registryInstance struct {
	daemon
	addr string
	auth bool
}

// registries are two servers with a store each: what is private must not be
// had from the open one.
func (e *engine) registries() []registryInstance {
	r := func(name, addr string, auth bool) registryInstance {
		return registryInstance{daemon{"registry-" + name, "docker-registry", e.dir, filepath.Join(e.dir, "registry-"+name+".yml")}, addr, auth}
	}
	return []registryInstance{r("auth", e.registry(), true), r("open", e.mirror(), false)}
}

func (e *engine) startRegistries(ctx context.Context) error {
	for _, r := range e.registries() {
		_, port, _ := strings.Cut(r.addr, ":")
		// Every address of the namespace: the engine and its containers use the
		// one of eth0, tests may use loopback.
		conf := fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage:\n  filesystem: {rootdirectory: %s}\n  delete: {enabled: true}\nhttp: {addr: \":%s\"}\n",
			filepath.Join(e.dir, r.name), port)
		changed := false
		if r.auth {
			pw := filepath.Join(e.dir, "htpasswd")
			var err error
			if changed, err = writeChanged(pw, []byte(registryUser+":"+registryHash+"\n"), 0o644); err != nil {
				return err
			}
			conf += fmt.Sprintf("auth:\n  htpasswd: {realm: rigup-lab, path: %s}\n", pw)
		}
		c, err := writeChanged(r.mark, []byte(conf), 0o644)
		if err != nil {
			return err
		}
		if !changed && !c && r.pid() != 0 && r.ping(ctx) == nil {
			continue
		}
		r.stop(10 * time.Second)
		env := daemonEnv("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
		// Debian's build reports traces to a collector unless told not to.
		env = append(env, "OTEL_TRACES_EXPORTER=none")
		if err := r.start(e.net.path(), env, "/usr/bin/docker-registry", "serve", r.mark); err != nil {
			return err
		}
		if err := e.wait(ctx, 20*time.Second, r.daemon, func() error { return r.ping(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) stopRegistries() {
	for _, r := range e.registries() {
		r.stop(10 * time.Second)
	}
}

// client goes straight to the namespace: a proxy that the environment names
// does not know its addresses.
var client = &http.Client{Transport: &http.Transport{Proxy: nil}}

func (r registryInstance) do(ctx context.Context, method, url, mediaType string, body io.Reader, size int64) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = size
	if r.auth {
		req.SetBasicAuth(registryUser, registryPassword)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
		req.Header.Set("Accept", mediaType)
	}
	return client.Do(req)
}

// ask is do for requests whose answer is the status alone.
func (r registryInstance) ask(ctx context.Context, limit time.Duration, want int, method, url, mediaType string, body io.Reader, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := r.do(ctx, method, url, mediaType, body, size)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		b, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, b)
	}
	return nil
}

func (r registryInstance) ping(ctx context.Context) error {
	return r.ask(ctx, 3*time.Second, 200, "GET", "http://"+r.addr+"/v2/", "", nil, 0)
}

// pushImages gives both registries what the folder holds. It returns how many
// images were not there yet.
func (e *engine) pushImages(ctx context.Context, dir string) (int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		return 0, err
	}
	var index []image
	if err := json.Unmarshal(b, &index); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	results := make(chan result)
	// The registries hash what they are given: both cores at once.
	for _, r := range e.registries() {
		go func() {
			n, err := r.pushAll(ctx, dir, index)
			results <- result{n, err}
		}()
	}
	pushed := 0
	for range e.registries() {
		r := <-results
		pushed, err = pushed+r.n, errors.Join(err, r.err)
	}
	if pushed > 0 && err == nil {
		e.forget(ctx, index)
	}
	return pushed, err
}

// forget removes the engine's copies of images that were pushed anew: under a tag that does not move, an engine
// that has an image never asks for it again. Copies that are in use, or not there, stay as they are.
func (e *engine) forget(ctx context.Context, index []image) {
	for _, i := range index {
		_ = e.call(ctx, time.Minute, "DELETE", "/images/"+i.Name+":"+i.Tag+"?force=1", nil)
	}
}

func (r registryInstance) pushAll(ctx context.Context, dir string, index []image) (int, error) {
	pushed := 0
	for _, i := range index {
		if i.Private && !r.auth {
			continue
		}
		n, err := r.push(ctx, dir, i)
		if err != nil {
			return pushed, fmt.Errorf("push %s:%s to %s: %w", i.Name, i.Tag, r.addr, err)
		}
		pushed += n
	}
	return pushed, nil
}

// push uploads what is missing; 0 if the tag already stands for this image.
func (r registryInstance) push(ctx context.Context, dir string, i image) (int, error) {
	base := "http://" + r.addr + "/v2/" + i.Name
	hctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	resp, err := r.do(hctx, "HEAD", base+"/manifests/"+i.Tag, mediaManifest, nil, 0)
	if err != nil {
		return 0, err
	}
	resp.Body.Close()
	if resp.StatusCode == 200 && resp.Header.Get("Docker-Content-Digest") == i.Manifest {
		return 0, nil
	}
	raw, err := os.ReadFile(blobPath(dir, i.Manifest))
	if err != nil {
		return 0, err
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return 0, err
	}
	for _, d := range append(m.Layers, m.Config) {
		if err := r.upload(ctx, dir, base, d); err != nil {
			return 0, err
		}
	}
	return 1, r.ask(ctx, 30*time.Second, 201, "PUT", base+"/manifests/"+i.Tag, mediaManifest, bytes.NewReader(raw), int64(len(raw)))
}

func (r registryInstance) upload(ctx context.Context, dir, base string, d descriptor) error {
	if r.ask(ctx, 20*time.Second, 200, "HEAD", base+"/blobs/"+d.Digest, "", nil, 0) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	resp, err := r.do(ctx, "POST", base+"/blobs/uploads/", "", nil, 0)
	if err != nil {
		return err
	}
	resp.Body.Close()
	loc, err := resp.Location()
	if err != nil {
		return fmt.Errorf("start of upload: %s: %w", resp.Status, err)
	}
	q := loc.Query()
	q.Set("digest", d.Digest)
	loc.RawQuery = q.Encode()
	f, err := os.Open(blobPath(dir, d.Digest))
	if err != nil {
		return err
	}
	defer f.Close()
	return r.ask(ctx, 5*time.Minute, 201, "PUT", (&url.URL{Scheme: loc.Scheme, Host: loc.Host, Path: loc.Path, RawQuery: loc.RawQuery}).String(),
		"application/octet-stream", f, d.Size)
}
