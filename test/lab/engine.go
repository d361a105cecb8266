package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// engine is one Docker engine of the lab: its own network namespace, data and
// socket, and a containerd of its own, so that engines share nothing but the
// kernel. The machine's containerd, if there is one, is left alone.
type engine struct {
	name string // 20, 29
	dir  string
	net  network
}

var engineNames = []string{"20", "29"}

func newEngine(name string) (*engine, error) {
	for _, n := range engineNames {
		if n == name {
			return &engine{name: name, dir: filepath.Join(stateDir(), "engine-"+name), net: engineNetwork(stateDir(), name)}, nil
		}
	}
	return nil, fmt.Errorf("no engine %q (there are %s)", name, strings.Join(engineNames, ", "))
}

func (e *engine) socket() string           { return filepath.Join(e.dir, "docker.sock") }
func (e *engine) containerdSocket() string { return filepath.Join(e.dir, "containerd.sock") }
func (e *engine) containerd() daemon {
	return daemon{"containerd", "containerd", e.dir, filepath.Join(e.dir, "containerd.toml")}
}
func (e *engine) dockerd() daemon {
	return daemon{"dockerd", "dockerd", e.dir, filepath.Join(e.dir, "daemon.json")}
}

// start brings the engine up; one that runs and answers is left as it is.
func (e *engine) start(ctx context.Context, b *builder, p *pieces) error {
	if err := os.MkdirAll(e.dir, 0o711); err != nil {
		return err
	}
	if err := e.net.up(ctx); err != nil {
		return err
	}
	dirs := []string{b.dir(p.runcwrap)}
	bin, containerdBin := "/usr/sbin/dockerd", "/usr/bin/containerd"
	if e.name == "29" {
		dirs = append(dirs, b.dir(p.engine29), b.dir(p.containerd), b.dir(p.runc))
		bin, containerdBin = filepath.Join(b.dir(p.engine29), "dockerd"), filepath.Join(b.dir(p.containerd), "containerd")
	}
	ipt, err := e.net.iptablesPath(ctx, filepath.Join(e.dir, "bin"))
	if err != nil {
		return err
	}
	if ipt != "" {
		dirs = append(dirs, ipt)
	}
	env := daemonEnv(strings.Join(dirs, ":") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	changed, err := e.writeConfigs(append(env, bin, containerdBin))
	if err != nil {
		return err
	}
	if !changed && e.containerd().pid() != 0 && e.dockerd().pid() != 0 {
		if _, err := e.version(ctx); err == nil {
			return nil
		}
	}
	e.dockerd().stop(20 * time.Second)
	if changed {
		e.containerd().stop(20 * time.Second)
	}
	if e.containerd().pid() == 0 {
		os.Remove(e.containerdSocket())
		if err := e.containerd().start(e.net.path(), env, containerdBin, "--config", e.containerd().mark); err != nil {
			return err
		}
		if err := e.wait(ctx, 30*time.Second, e.containerd(), func() error {
			c, err := net.DialTimeout("unix", e.containerdSocket(), time.Second)
			if err == nil {
				c.Close()
			}
			return err
		}); err != nil {
			return err
		}
	}
	// dockerd refuses to start where its own pid file names a process that lives.
	os.Remove(filepath.Join(e.dir, "docker.pid"))
	os.Remove(e.socket())
	if err := e.dockerd().start(e.net.path(), env, bin, "--config-file", e.dockerd().mark); err != nil {
		return err
	}
	return e.wait(ctx, 60*time.Second, e.dockerd(), func() error { _, err := e.version(ctx); return err })
}

// daemonEnv is a small environment: what is set where the lab is started
// (proxies, DOCKER_*) must not change what the engines do.
func daemonEnv(path string) []string {
	return []string{"PATH=" + path, "HOME=/root", "LANG=C.UTF-8"}
}

// writeConfigs writes both daemons' files, and how they are started beside
// them. It says whether anything is another than last time: a daemon that runs
// must then be started anew, for the programs on its PATH may be gone.
func (e *engine) writeConfigs(started []string) (changed bool, err error) {
	conf := map[string]any{
		"data-root": filepath.Join(e.dir, "data"), "exec-root": filepath.Join(e.dir, "run"), "pidfile": filepath.Join(e.dir, "docker.pid"),
		"hosts": []string{"unix://" + e.socket()}, "containerd": e.containerdSocket(),
		"registry-mirrors":    []string{"http://" + e.mirror()},
		"insecure-registries": []string{e.mirror(), e.registry()},
	}
	b, err := json.MarshalIndent(conf, "", " ")
	if err != nil {
		return false, err
	}
	// Version 2 is read by both containerd 1.6 and 2.x. The CRI plugin is off as
	// in the containerd that dockerd starts for itself.
	toml := fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]
[grpc]
  address = %q
[plugins."io.containerd.internal.v1.opt"]
  path = %q
`, filepath.Join(e.dir, "containerd"), filepath.Join(e.dir, "containerd-run"), e.containerdSocket(), filepath.Join(e.dir, "opt"))
	for name, text := range map[string]string{
		e.dockerd().mark: string(b), e.containerd().mark: toml, filepath.Join(e.dir, "started"): strings.Join(started, "\n") + "\n",
	} {
		c, err := writeChanged(name, []byte(text), 0o644)
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	return changed, nil
}

// wait polls until f succeeds, the daemon has died, or the limit is over.
func (e *engine) wait(ctx context.Context, limit time.Duration, d daemon, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for missed := 0; ; {
		err := f()
		if err == nil {
			return nil
		}
		// A process that becomes another program has no command line for a moment.
		if missed++; d.pid() != 0 {
			missed = 0
		}
		if missed > 2 {
			return fmt.Errorf("%s ended: %s", d.name, logTail(d))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s not ready within %s: %w: %s", d.name, limit, err, logTail(d))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func logTail(d daemon) string {
	b, _ := os.ReadFile(d.logFile())
	return tail(string(b), 1500)
}

type engineVersion struct{ Version, ApiVersion string }

func (e *engine) version(ctx context.Context) (engineVersion, error) {
	var v engineVersion
	return v, e.call(ctx, 10*time.Second, "GET", "/version", &v)
}

// call asks the engine's API; into may be nil.
func (e *engine) call(ctx context.Context, limit time.Duration, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", e.socket())
	}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, method, "http://engine"+path, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// stop ends the daemons; containers end with dockerd.
func (e *engine) stop() {
	e.dockerd().stop(60 * time.Second)
	e.containerd().stop(20 * time.Second)
}

// remove takes away everything the engine has, also where it died before.
func (e *engine) remove(ctx context.Context) error {
	var list []struct{ Id string }
	if e.dockerd().pid() != 0 && e.call(ctx, 20*time.Second, "GET", "/containers/json?all=1", &list) == nil {
		for _, c := range list {
			e.call(ctx, 60*time.Second, "DELETE", "/containers/"+c.Id+"?force=1&v=1", nil)
		}
	}
	ids, _ := filepath.Glob(filepath.Join(e.dir, "data", "containers", "*"))
	for _, c := range list {
		ids = append(ids, c.Id)
	}
	e.stop()
	e.stopRegistries()
	killLeft(ctx, e.containerdSocket())
	unmountUnder(e.dir)
	for _, id := range ids {
		// What was killed a moment ago may still be in its groups.
		for range 30 {
			if removeCgroup(filepath.Base(id)) || ctx.Err() != nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	// The parents of the groups, where no container of any engine keeps them.
	parents, _ := filepath.Glob("/sys/fs/cgroup/*/docker")
	for _, p := range append(parents, "/sys/fs/cgroup/docker") {
		os.Remove(p)
	}
	e.net.down(ctx)
	return os.RemoveAll(e.dir)
}

// removeCgroup removes what is left of a container's control groups, with
// those that its own Kubernetes made below. It says whether all are gone.
func removeCgroup(id string) bool {
	tops, _ := filepath.Glob("/sys/fs/cgroup/*/docker/" + id)
	v2, _ := filepath.Glob("/sys/fs/cgroup/docker/" + id)
	all := true
	for _, top := range append(tops, v2...) {
		var dirs []string
		filepath.WalkDir(top, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, p)
			}
			return nil
		})
		for i := len(dirs) - 1; i >= 0; i-- {
			if err := os.Remove(dirs[i]); err != nil && !os.IsNotExist(err) {
				all = false
			}
		}
	}
	return all
}
