package env

import (
	"slices"
	"strings"

	"rigup.dev/rigup/hooks/sdk"
)

// Kubernetes in an engine without root needs cgroups that its user may change: cgroup v2, systemd as their manager,
// and the controllers that systemd hands to the user. k3s ends at once where one of these controllers is missing.

// needed are the controllers, as k3s and the kubelet check them.
var needed = []string{"cpu", "cpuset", "memory", "pids"}

const (
	controllers = "controllers" // the probe's id
	// delegate is what Docker's and Kubernetes' documents for rootless engines say.
	delegate = `sudo mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\nDelegate=cpu cpuset io memory pids\n' | ` +
		`sudo tee /etc/systemd/system/user@.service.d/delegate.conf && sudo systemctl daemon-reload, then log out and in again`
)

// mayRead is the permission for the probe.
func mayRead() sdk.Permissions {
	return sdk.Permissions{
		Probes: []sdk.ProbeKind{sdk.FileRead},
		Files:  []string{"/sys/fs/cgroup/user.slice/user-*.slice/user@*.service/cgroup.controllers"},
	}
}

// askControllers asks which controllers the engine's user has, where the endpoint tells who that is:
// unix:///run/user/1000/docker.sock.
func askControllers(f sdk.Facts) []sdk.Probe {
	rest, ok := strings.CutPrefix(f.Engine.Endpoint, "unix:///run/user/")
	id, _, _ := strings.Cut(rest, "/")
	if !ok || id == "" || strings.Trim(id, "0123456789") != "" || f.Engine.CgroupVersion != "2" || f.Engine.CgroupDriver != "systemd" {
		return nil
	}
	return []sdk.Probe{{
		ID: controllers, Kind: sdk.FileRead, Path: "/sys/fs/cgroup/user.slice/user-" + id + ".slice/user@" + id + ".service/cgroup.controllers",
	}}
}

// withoutRoot is what speaks against a cluster in an engine without root. setup is how it is run by systemd, if there
// is a way; instead is the way out that needs none of it.
func withoutRoot(r sdk.Request, engine, setup, instead string) (warnings, blockers []sdk.Reason) {
	e := r.Facts.Engine
	remedies := func(remedy string) []string {
		if remedy == "" || r.Facts.Host.OS != "linux" {
			return []string{instead} // the engine's system is a virtual machine, which is not set up by hand
		}
		return []string{remedy, instead}
	}
	block := func(id, text, evidence, remedy string) (w, b []sdk.Reason) {
		return nil, []sdk.Reason{{ID: id, Text: text, Remedy: remedies(remedy), Evidence: []string{evidence}}}
	}
	switch {
	case e.CgroupVersion == "1":
		return block("rootless-cgroup-v1", engine+" without root has no cgroups on cgroup v1, and Kubernetes needs them.", "cgroup version 1",
			"start the machine with cgroup v2: add systemd.unified_cgroup_hierarchy=1 to the kernel's command line and restart")
	case e.CgroupDriver != "systemd":
		return block("rootless-no-systemd", engine+" without root runs outside of systemd here, so that its containers get no cgroups, and Kubernetes needs them.",
			"cgroup driver "+e.CgroupDriver, setup)
	}
	for _, p := range r.Probes {
		if p.ID != controllers || p.Status != sdk.Known {
			continue
		}
		have := strings.Fields(p.Text)
		if slices.ContainsFunc(needed, func(c string) bool { return !slices.Contains(have, c) }) {
			return block("rootless-not-delegated", "systemd does not let your user control what Kubernetes needs: "+strings.Join(needed, ", ")+".",
				"cgroup.controllers: "+strings.Join(have, " "), delegate)
		}
		return nil, nil
	}
	return []sdk.Reason{{
		ID: "rootless-delegation", Text: "Kubernetes works in an engine without root only if systemd lets your user control " + strings.Join(needed, ", ") + ".",
		Remedy: remedies("if the cluster does not start: " + delegate),
	}}, nil
}

func rootless() hook {
	return hook{
		id: "rootless", title: "Docker Engine without root", match: sdk.Match{OS: []string{"linux"}}, permissions: mayRead(), probes: askControllers,
		detect: plain(special, func(f sdk.Facts) (bool, string) {
			if f.Engine.Rootless {
				return true, "it runs without root"
			}
			return false, "the engine runs as root"
		}),
		decide: func(r sdk.Request) sdk.Response {
			f := r.Facts
			e := sdk.Environment{
				ID: "rootless", Title: "Rootless Docker on " + f.Engine.System, Memory: sdk.HostMemory, Paths: sdk.SamePaths,
				Restart: "comes back by itself when you log in, or with the machine after: sudo loginctl enable-linger $USER",
				Start:   "systemctl --user start docker",
			}
			e.Warnings, e.Blockers = withoutRoot(r, "Docker", "dockerd-rootless-setuptool.sh install, which sets it up as a service of systemd", rootEngine)
			var why []string
			if inWSL(f) {
				e.Memory, e.Grow, e.GPULess = sdk.VirtualMemory, growWSL, noDXG(f)
			}
			if e.GPULess != nil {
				return sdk.Surrounding(e, "there is no /dev/dxg, through which Windows hands out GPUs")
			}
			e.Attach, why = ways(f, sdk.AttachCDI, sdk.AttachNVIDIA, sdk.AttachDevices)
			return sdk.Surrounding(e, why...)
		},
	}
}
