package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLayerIsTheSameForTheSameContent(t *testing.T) {
	src := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(src, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	var dir string
	var d descriptor
	for range 3 {
		x := tree{}
		x.file("b/c/file", src, 0o755)
		x.link("b/link", "c/file")
		x.content("a", 0o644, "text")
		x.mkdir("tmp", 0o1777)
		dir = t.TempDir()
		var err error
		if d, _, err = (&layerWriter{dir}).layer(x); err != nil {
			t.Fatal(err)
		}
		digests[d.Digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("digests %v", digests)
	}
	f, err := os.Open(blobPath(dir, d.Digest))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
	if got := strings.Join(names, " "); got != "a b/ b/c/ b/c/file b/link tmp/" {
		t.Errorf("paths %q", got)
	}
}

func TestPushUploadsOnlyWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	x := tree{}
	x.content("a", 0o644, "text")
	digest, err := (&layerWriter{dir}).image(containerConfig{}, x)
	if err != nil {
		t.Fatal(err)
	}
	blobs, manifests, uploads := map[string]bool{}, map[string]string{}, 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch {
		case r.Method == "HEAD" && strings.Contains(r.URL.Path, "/manifests/"):
			if manifests[last] == "" {
				w.WriteHeader(404)
			}
			w.Header().Set("Docker-Content-Digest", manifests[last])
		case r.Method == "HEAD":
			if !blobs[last] {
				w.WriteHeader(404)
			}
		case r.Method == "POST":
			w.Header().Set("Location", r.URL.Path+"1?state=x")
			w.WriteHeader(202)
		case strings.Contains(r.URL.Path, "/manifests/"):
			var m manifest
			if json.NewDecoder(r.Body).Decode(&m) != nil || !blobs[m.Config.Digest] || !blobs[m.Layers[0].Digest] {
				w.WriteHeader(400)
				return
			}
			manifests[last] = digest
			w.WriteHeader(201)
		default:
			if r.URL.Query().Get("state") != "x" {
				w.WriteHeader(400)
				return
			}
			io.Copy(io.Discard, r.Body)
			blobs[r.URL.Query().Get("digest")] = true
			uploads++
			w.WriteHeader(201)
		}
	}))
	defer s.Close()
	r := registryInstance{addr: strings.TrimPrefix(s.URL, "http://")}
	for i, want := range []int{1, 0} {
		n, err := r.push(context.Background(), dir, image{Name: "x/y", Tag: "1", Manifest: digest})
		if err != nil || n != want || uploads != 2 {
			t.Errorf("push %d: %d new, %d uploads, %v", i, n, uploads, err)
		}
	}
}
