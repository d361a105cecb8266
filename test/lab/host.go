package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// cannot says why this machine cannot run the lab, or "".
func cannot() string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "the lab needs linux/amd64, this is " + runtime.GOOS + "/" + runtime.GOARCH
	}
	if os.Geteuid() != 0 {
		return "the lab needs root (engines, network namespaces)"
	}
	for _, c := range []string{"apt-get", "dpkg-deb", "go"} {
		if _, err := exec.LookPath(c); err != nil {
			return "the lab needs " + c
		}
	}
	if id := osRelease(); id != "debian 12" {
		return "the lab needs Debian 12, whose docker.io is engine 20.10; this is " + id
	}
	if len(filepath.Join(stateDir(), "engine-20", "containerd.sock.ttrpc")) > 107 {
		return "the path of RIGUP_LAB_STATE is too long for a socket: " + stateDir()
	}
	ctx, cancel := context.WithTimeout(context.Background(), short)
	defer cancel()
	// Namespaces and privileged containers need this; a container without it has root's name alone.
	if err := exec.CommandContext(ctx, "unshare", "--net", "--mount", "true").Run(); err != nil {
		return "the lab needs the right to make namespaces: " + err.Error()
	}
	return ""
}

func osRelease() string {
	b, _ := os.ReadFile("/etc/os-release")
	m := map[string]string{}
	for _, l := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(l, "="); ok {
			m[k] = strings.Trim(v, `"`)
		}
	}
	return m["ID"] + " " + m["VERSION_ID"]
}

// missingPackages lists Debian's packages that the machine lacks.
func missingPackages() []string {
	var out []string
	for _, p := range hostPackages {
		var err error
		if strings.HasPrefix(p.proof, "/") {
			_, err = os.Stat(p.proof)
		} else {
			_, err = exec.LookPath(p.proof)
		}
		if err != nil {
			out = append(out, p.pkg)
		}
	}
	return out
}

const policyFile = "/usr/sbin/policy-rc.d"

// installPackages installs what is missing. Debian starts a daemon when it
// installs one; the lab wants the programs alone, so starting is refused while
// apt works, and where systemd runs the units are masked for the next boot.
func installPackages(ctx context.Context) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	return step("packages", "installing "+strings.Join(missing, " "), nil, func() error {
		if _, err := os.Lstat(policyFile); os.IsNotExist(err) {
			if err := os.WriteFile(policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
				return err
			}
			defer os.Remove(policyFile)
		}
		if _, err := os.Stat("/run/systemd/system"); err == nil {
			for _, p := range missing {
				for _, unit := range map[string][]string{"docker.io": {"docker.service", "docker.socket"}, "docker-registry": {"docker-registry.service"}}[p] {
					if err := run(ctx, short, "systemctl", "mask", unit); err != nil {
						return err
					}
				}
			}
		}
		install := append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", "--no-install-recommends", "install"}, missing...)
		// Lists may be missing or name versions that the mirror no longer has.
		if run(ctx, 10*time.Minute, "env", install...) == nil {
			return nil
		}
		if err := run(ctx, 5*time.Minute, "apt-get", "-q", "update"); err != nil {
			return err
		}
		if err := run(ctx, 10*time.Minute, "env", install...); err != nil {
			return err
		}
		if left := missingPackages(); len(left) > 0 {
			return fmt.Errorf("still missing after apt-get: %s", strings.Join(left, " "))
		}
		return nil
	})
}
