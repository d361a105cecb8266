package gpu_test

import (
	"slices"
	"strings"
	"testing"

	"rigup.dev/rigup/hooks/builtin/gpu/internal/why"
	"rigup.dev/rigup/hooks/sdk"
	"rigup.dev/rigup/test/machines"
)

var hookBits = map[string]why.Hook{"nvidia": why.NVIDIA, "amd": why.AMD, "intel": why.Intel}

// TestG4_TheListOfReasonsIsClosed holds that every reason of the list comes up, on a machine of the corpus or from the
// text of a failure, and that no other does.
func TestG4_TheListOfReasonsIsClosed(t *testing.T) {
	seen := map[string]map[string]bool{"nvidia": {}, "amd": {}, "intel": {}}
	all, err := machines.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		p := plan(t, m.Machine)
		given := func(hook string, r sdk.Reason) {
			if e := p.Environment; e.GPULess != nil && r.ID == e.GPULess.ID {
				return // the environment's
			}
			seen[hook][r.ID] = true
			good(t, m.Name, r)
			fits(t, m.Name, m.Facts, r)
		}
		for _, g := range p.GPUs {
			for _, w := range g.Warnings {
				given(g.Hook, w)
			}
		}
		for _, u := range p.Unusable {
			given(u.Hook, u.Reason)
		}
	}
	for id, cases := range failures {
		seen[id][string(why.TimedOut)] = true // TestG6_TimedOutIsAReasonOfItsOwn
		seen[id][string(why.NotFound)] = true // TestH4_EveryHookAnswersOnEveryMachine
		for _, c := range cases {
			seen[id][string(c.want)] = true
		}
	}
	for id, bit := range hookBits {
		for _, want := range why.IDs(bit) {
			if !seen[id][string(want)] {
				t.Errorf("nothing provokes %s.%s", id, want)
			}
			delete(seen[id], string(want))
		}
		for other := range seen[id] {
			t.Errorf("%s.%s is not in the list", id, other)
		}
	}
}

// TestG4_RemediesFitTheSurroundings holds that no remedy names what its surroundings do not have.
func TestG4_RemediesFitTheSurroundings(t *testing.T) {
	for id, cases := range failures {
		for _, c := range cases {
			for _, on := range c.on {
				r := diagnose(t, id, on, sdk.Failure{Step: c.step, Exit: 1, Output: c.text})
				if r.Reason != nil {
					fits(t, on, machine(t, on).Facts, *r.Reason)
				}
			}
		}
	}
}

// fits holds the remedies of a reason against what there is on a machine.
func fits(t *testing.T, name string, f sdk.Facts, r sdk.Reason) {
	t.Helper()
	var never []string
	desktop := strings.HasPrefix(f.Engine.Product, "Docker Desktop")
	behind := f.Host.OS == "windows" || f.Host.WSL.Known()
	if desktop || f.Host.OS == "windows" {
		never = append(never, "sudo ", "systemctl", "nvidia-ctk", "/etc/docker", "apt") // its machine is not for users
	}
	if behind {
		never = append(never, "modprobe", "dmesg", "reboot", "ubuntu-drivers", "persistenced", "mokutil") // no driver of Linux
	} else {
		never = append(never, "wsl --", "Windows", "Docker Desktop >")
	}
	switch {
	case desktop:
	case f.Engine.Snap:
		never = append(never, "systemctl restart docker", "/etc/docker", "runtime configure")
	case f.Engine.Rootless:
		never = append(never, "sudo systemctl restart docker", "/etc/docker/daemon.json")
	case strings.HasPrefix(f.Engine.Product, "Podman"):
		never = append(never, "restart docker", "daemon.json", "runtime configure")
	}
	if !desktop {
		never = append(never, "Docker Desktop >")
	}
	for _, do := range r.Remedy {
		for _, n := range never {
			if strings.Contains(do, n) {
				t.Errorf("%s: %s tells to use %q: %s", name, r.ID, n, do)
			}
		}
		if slices.Contains(f.Engine.Runtimes, "nvidia") && !f.Host.WSL.Known() && strings.Contains(do, "runtime configure") && !strings.HasPrefix(r.ID, "toolkit") && r.ID != "libraries-not-injected" {
			t.Errorf("%s: %s tells to do what was done: %s", name, r.ID, do)
		}
	}
}
