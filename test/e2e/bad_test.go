package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
)

// TestBadInput: each mistake ends with its own exit code and an error that names it, before anything is made.
func TestBadInput(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("bad")
	chart := w.chart("broken", "kind: ConfigMap\nmetadata: {name: {{ .Values.missing.deep }} }\n", "")
	schema := w.chart("strict", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		`{"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": true}`)
	readonly := write(t, filepath.Join(w.home, "ro/config"), "")
	must(t, os.Remove(readonly))
	must(t, os.Mkdir(readonly, 0o755)) // a directory where the file should be: root can write anywhere else
	full := w.tmpfs(t, "full", "size=1m")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer busy.Close()
	port := busy.Addr().String()[strings.LastIndexByte(busy.Addr().String(), ':')+1:]

	old := w.fakeEngine("old", "1.24", "")
	strict := w.fakeEngine("strict", "1.99", "client version 1.51 is too old. Minimum supported API version is 1.60, please upgrade your client to a newer version")

	for name, b := range map[string]struct {
		exit  int
		words []string
		args  []string
	}{
		"unreachable engine":         {2, []string{"No Docker engine answers", "/nowhere.sock"}, []string{"--engine", "unix:///nowhere.sock"}},
		"remote engine":              {2, []string{"another machine", "192.0.2.1"}, []string{"--engine", "tcp://192.0.2.1:2375"}},
		"engine too old":             {2, []string{"API 1.24", "1.41 or later"}, []string{"--engine", old}},
		"engine too new":             {2, []string{"API 1.60", "this rigup speaks"}, []string{"--engine", strict}},
		"engine address":             {2, []string{"--engine", "carrier:pigeon"}, []string{"--engine", "carrier:pigeon"}},
		"no disk":                    {2, []string{full, "free"}, []string{"--data-dir", filepath.Join(full, "d")}},
		"port range taken":           {2, []string{"ports " + port}, []string{"--api-port", port}},
		"port range":                 {2, []string{"--api-port", "70000"}, []string{"--api-port", "70000"}},
		"name":                       {2, []string{"--cluster", "Bad_Name"}, []string{"--cluster", "Bad_Name"}},
		"chart missing":              {2, []string{"no chart", "/no/chart"}, []string{"--chart", "/no/chart"}},
		"chart does not render":      {2, []string{"does not render", "broken"}, []string{"--chart", chart}},
		"values against the schema":  {2, []string{"size"}, []string{"--chart", schema, "--set", "size=large"}},
		"values of our chart":        {2, []string{"image.tag"}, []string{"--set", "image.tag=latest"}},
		"a GPU value":                {2, []string{"env.GPU_LIMITS"}, []string{"--set", "env.GPU_LIMITS=nvidia.com/gpu=1"}},
		"values file missing":        {2, []string{"--values", "/no/values.yaml"}, []string{"--values", "/no/values.yaml"}},
		"kubeconfig not writable":    {2, []string{readonly}, []string{"--kubeconfig", readonly}},
		"data directory elsewhere":   {2, []string{"/etc/rigup", "below"}, []string{"--data-dir", "/etc/rigup"}},
		"data directory is home":     {2, []string{"whole of"}, []string{"--data-dir", w.home}},
		"gpu mode":                   {2, []string{"--gpu", "maybe"}, []string{"--gpu", "maybe"}},
		"gpu required":               {3, []string{"required"}, []string{"--gpu", "require"}},
		"node image with moving tag": {2, []string{"latest"}, []string{"--node-image", "rancher/k3s:latest"}},
		"node image missing":         {1, []string{"does not have", "nothing:1"}, []string{"--node-image", w.lab.Mirror + "/nothing:1"}},
		"image to load missing":      {2, []string{"nothing/here:1"}, []string{"--load-image", "nothing/here:1"}},
		"subnet":                     {2, []string{"--subnet", "10.1.2.3"}, []string{"--subnet", "10.1.2.3"}},
		"mirror":                     {2, []string{"--registry-mirror", "docker.io"}, []string{"--registry-mirror", "docker.io"}},
		"CA file missing":            {2, []string{"--ca-file", "/no/ca.pem"}, []string{"--ca-file", "/no/ca.pem"}},
		"unknown flag":               {2, []string{"--clutser"}, []string{"--clutser", "x"}},
		"set without value":          {2, []string{"--set", "novalue"}, []string{"--set", "novalue"}},
		"unknown key in the config":  {2, []string{"clutser", "cluster"}, []string{"--config", write(t, filepath.Join(w.home, "bad.yaml"), "clutser: x\n")}},
		"config with the wrong type": {2, []string{"recreate"}, []string{"--config", write(t, filepath.Join(w.home, "type.yaml"), "recreate: [1]\n")}},
		"several mistakes at once":   {2, []string{"ports " + port, "/etc/rigup", "no chart"}, []string{"--api-port", port, "--data-dir", "/etc/rigup", "--chart", "/no/chart"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"install"}
			if b.args[0] != "--cluster" {
				args = append(args, "--cluster", c)
			}
			w.at(t).fails(b.exit, b.words, append(args, b.args...)...)
			if _, ok := w.at(t).node(c); ok {
				t.Error("a node was made all the same")
			}
		})
	}
	if _, err := os.Stat(filepath.Join(full, "d")); err == nil {
		t.Error("a refused data directory was created")
	}
}

// fakeEngine answers the first question of a client, and refuses all others if a text is given.
func (w *world) fakeEngine(name, api, refusal string) (endpoint string) {
	w.t.Helper()
	path := filepath.Join(w.home, name+".sock")
	l, err := net.Listen("unix", path)
	must(w.t, err)
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Api-Version", api)
		if refusal != "" && !strings.HasSuffix(r.URL.Path, "/_ping") {
			rw.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(rw).Encode(map[string]string{"message": refusal})
		}
	})}
	go func() { _ = s.Serve(l) }()
	w.t.Cleanup(func() { _ = s.Close() })
	return "unix://" + path
}

// tmpfs mounts a small file system below the home.
func (w *world) tmpfs(t *testing.T, name, options string) string {
	t.Helper()
	dir := filepath.Join(w.home, name)
	must(t, os.Mkdir(dir, 0o755))
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("mount: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", dir).Run() })
	return dir
}

// chart writes a chart with one template and perhaps a schema.
func (w *world) chart(name, template, schema string) string {
	dir := filepath.Join(w.home, "charts", name)
	write(w.t, filepath.Join(dir, "Chart.yaml"), "apiVersion: v2\nname: "+name+"\nversion: 1.0.0\n")
	write(w.t, filepath.Join(dir, "values.yaml"), "{}\n")
	write(w.t, filepath.Join(dir, "templates/all.yaml"), template)
	if schema != "" {
		write(w.t, filepath.Join(dir, "values.schema.json"), schema)
	}
	return dir
}

// TestC2_WhatIsNotOursIsLeftAlone: a container, network or volume of our names without our label stops the
// install, and is still there after it and after an uninstall.
func TestC2_WhatIsNotOursIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	c := w.cluster("foreign")
	ctx := w.ctx()
	name := "rigup-" + c
	t.Run("container", func(t *testing.T) {
		w := w.at(t)
		w.docker("pull", "busybox:1.37")
		made, err := w.cli.ContainerCreate(ctx, &container.Config{Image: "busybox:1.37", Cmd: []string{"true"}}, nil, nil, nil, name+"-server-0")
		must(t, err)
		defer w.cli.ContainerRemove(ctx, made.ID, container.RemoveOptions{Force: true})
		w.fails(2, []string{name + "-server-0", "not made by rigup"}, "install", "--cluster", c)
		w.fails(2, []string{c}, "uninstall", "--cluster", c, "--yes")
		if _, err := w.cli.ContainerInspect(ctx, made.ID); err != nil {
			t.Error("it is gone:", err)
		}
	})
	t.Run("network", func(t *testing.T) {
		w := w.at(t)
		made, err := w.cli.NetworkCreate(ctx, name, network.CreateOptions{})
		must(t, err)
		defer w.cli.NetworkRemove(ctx, made.ID)
		w.fails(2, []string{name, "not made by rigup"}, "install", "--cluster", c)
		if _, err := w.cli.NetworkInspect(ctx, made.ID, network.InspectOptions{}); err != nil {
			t.Error("it is gone:", err)
		}
	})
	t.Run("volume", func(t *testing.T) {
		w := w.at(t)
		_, err := w.cli.VolumeCreate(ctx, volume.CreateOptions{Name: name + "-k3s"})
		must(t, err)
		defer w.cli.VolumeRemove(ctx, name+"-k3s", true)
		w.fails(2, []string{name + "-k3s", "not made by rigup"}, "install", "--cluster", c)
		if _, err := w.cli.VolumeInspect(ctx, name+"-k3s"); err != nil {
			t.Error("it is gone:", err)
		}
	})
	t.Run("release", func(t *testing.T) {
		w := w.at(t)
		w.install(c)
		w.purgeRelease(c)
		w.fails(2, []string{"not made by rigup", "rigup"}, "install", "--cluster", c)
	})
}
