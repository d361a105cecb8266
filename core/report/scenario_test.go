package report

import (
	"time"

	"rigup.dev/rigup/core/event"
	"rigup.dev/rigup/core/reason"
)

// clock is a clock that stands still until it is moved.
type clock struct{ t time.Time }

func newClock() *clock { return &clock{time.Date(2030, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *clock) now() time.Time             { return c.t }
func (c *clock) move(d time.Duration)       { c.t = c.t.Add(d) }
func (c *clock) ago(d time.Duration) string { return c.t.Add(-d).Format(time.RFC3339) }

// script plays a run into a sink. draw is called where a terminal would be drawn.
type script struct {
	sink  event.Sink
	clock *clock
	draw  func()
}

func (s *script) emit(e event.Event) {
	e.Time = s.clock.t.UTC().Format(TimeFormat)
	s.sink.Emit(e)
}

func (s *script) run(command string) {
	s.emit(event.Event{Type: event.TypeRun, Run: &event.Run{Schema: event.Schema, Command: command, Cluster: "rigup", Version: "0.1.0"}})
}

func (s *script) machine(command, machine string) {
	s.emit(event.Event{Type: event.TypeRun, Run: &event.Run{Schema: event.Schema, Command: command, Cluster: "rigup", Version: "0.1.0", Machine: machine}})
}

func (s *script) begin(stage, text string) {
	s.emit(event.Event{Type: event.TypeStage, Stage: stage, State: event.Running, Text: text})
}

func (s *script) end(stage string, state event.State, text string, took time.Duration) {
	s.clock.move(took)
	s.emit(event.Event{Type: event.TypeStage, Stage: stage, State: state, Text: text, Seconds: took.Seconds()})
}

func (s *script) endWith(stage string, state event.State, r reason.Reason, took time.Duration) {
	s.clock.move(took)
	s.emit(event.Event{Type: event.TypeStage, Stage: stage, State: state, Reason: &r, Seconds: took.Seconds()})
}

func (s *script) stage(stage string, state event.State, text string, took time.Duration) {
	s.begin(stage, "")
	s.end(stage, state, text, took)
}

func (s *script) step(stage, text string) {
	s.emit(event.Event{Type: event.TypeStep, Stage: stage, Text: text})
	s.look()
}

func (s *script) progress(stage string, p event.Progress) {
	s.emit(event.Event{Type: event.TypeProgress, Stage: stage, Progress: &p})
	s.look()
}

func (s *script) change(stage string, c event.Change) {
	s.emit(event.Event{Type: event.TypeChange, Stage: stage, Change: &c})
}

func (s *script) look() {
	if s.draw != nil {
		s.draw()
	}
}

func (s *script) result(exit int, mode string, why *reason.Reason, text string, r event.Result) {
	s.emit(event.Event{Type: event.TypeResult, Mode: mode, Reason: why, Exit: &exit, Text: text, Result: &r})
}

func ptr(r reason.Reason) *reason.Reason { return &r }

var noGPU = reason.New(reason.GPUNone)

func left(s *script) event.Result {
	return event.Result{
		Changed: true, Context: "rigup", Kubeconfig: "/home/ada/.kube/config", API: "https://127.0.0.1:6550",
		Release: "rigup", Namespace: "rigup", Chart: "rigup 0.1.0", DataDir: "/home/ada/.rigup/clusters/rigup/data",
		Restart: "comes back by itself when Docker starts", Since: s.clock.ago(0), Log: "/home/ada/.rigup/clusters/rigup/log/install.log",
	}
}

const native = "Docker Engine on Debian 13"

func head(s *script, command string) {
	s.run(command)
	s.begin("observe", "")
	s.step("observe", "asking the engine")
	s.machine(command, native)
	s.end("observe", event.Done, "16 GB memory, 8 CPUs, 212 GB free", 400*time.Millisecond)
	s.stage("preflight", event.Done, "", 200*time.Millisecond)
}

func cpuDecision(s *script) {
	s.stage("decide", event.Done, "CPU: no GPU found", 0)
	s.begin("prove", "")
	s.endWith("prove", event.Skipped, noGPU, 0)
}

// pulling is the part of an install up to the middle of its longest step.
func pulling(s *script) {
	head(s, "install")
	cpuDecision(s)
	s.begin("image", "pulling registry.test/k3s:1")
	s.clock.move(41 * time.Second)
	s.progress("image", event.Progress{Unit: event.Bytes, Done: 212e6, Total: 389e6, What: "layer 3 of 5"})
}

func install(s *script) {
	pulling(s)
	s.end("image", event.Done, "pulled registry.test/k3s:1, 389 MB", 30*time.Second)
	s.begin("cluster", "")
	s.step("cluster", "creating the node")
	s.end("cluster", event.Done, "created", 4*time.Second)
	s.begin("provision", "")
	s.progress("provision", event.Progress{Unit: event.Seconds, Done: 12, Total: 60, What: "waiting for the API"})
	s.end("provision", event.Done, "ready at https://127.0.0.1:6550", 17*time.Second)
	s.begin("verify", "")
	s.endWith("verify", event.Skipped, noGPU, 0)
	s.stage("deploy", event.Done, "rigup 0.1.0 installed", 3*time.Second)
	s.begin("ready", "")
	s.progress("ready", event.Progress{Unit: event.Pods, Done: 1, Total: 2, What: "jobs-manager"})
	s.end("ready", event.Done, "2 of 2 pods ready", 9*time.Second)
	s.stage("report", event.Done, "", 0)
}

// scenarios are the runs of the golden files.
var scenarios = []struct {
	name string
	play func(*script)
}{
	{"install-cpu", func(s *script) {
		install(s)
		s.result(0, "cpu", &noGPU, "", left(s))
	}},
	{"install-running", pulling},
	{"install-gpu-not-in-use", func(s *script) {
		why := reason.New(reason.GPUNotInUse, "gpu", "an NVIDIA GeForce RTX 4050").With("/sys/bus/pci/devices/0000:01:00.0  10de:28a1")
		head(s, "install")
		s.stage("decide", event.Done, "CPU", 0)
		s.begin("prove", "")
		s.endWith("prove", event.Degraded, why, 0)
		s.stage("image", event.Done, "registry.test/k3s:1 is here", 0)
		s.stage("cluster", event.Done, "created", 20*time.Second)
		s.stage("provision", event.Done, "", 0)
		s.stage("verify", event.Skipped, "", 0)
		s.stage("deploy", event.Done, "rigup 0.1.0 installed", 3*time.Second)
		s.stage("ready", event.Done, "2 of 2 pods ready", 9*time.Second)
		s.result(0, "cpu", &why, "", left(s))
	}},
	{"install-gpu", func(s *script) {
		s.run("install")
		s.machine("install", "Docker Desktop on WSL2, Windows 11")
		s.stage("observe", event.Done, "NVIDIA GeForce RTX 4050 Laptop GPU, 16 GB memory, 212 GB free", 600*time.Millisecond)
		s.stage("preflight", event.Done, "", 0)
		s.stage("decide", event.Done, "nvidia 1.0.0 (built in): engine GPU support, CDI inside the cluster", 300*time.Millisecond)
		s.stage("prove", event.Done, "a CUDA kernel ran in a container on this engine in 38 ms", 6100*time.Millisecond)
		s.stage("image", event.Done, "built for GPU, 389 MB", 200*time.Second)
		s.stage("cluster", event.Done, "created", 19*time.Second)
		s.stage("provision", event.Done, "1 GPU allocatable", 4*time.Second)
		s.stage("verify", event.Done, "a CUDA kernel ran in a pod in 41 ms", 5*time.Second)
		s.stage("deploy", event.Done, "rigup 0.1.0 installed", 3*time.Second)
		s.stage("ready", event.Done, "2 of 2 pods ready", 9*time.Second)
		s.result(0, "gpu", nil, "Pods and jobs can ask for nvidia.com/gpu (1 available).", left(s))
	}},
	{"nothing-to-do", func(s *script) {
		head(s, "install")
		cpuDecision(s)
		s.stage("image", event.Done, "registry.test/k3s:1 is here", 0)
		s.stage("cluster", event.Done, "running", 50*time.Millisecond)
		s.stage("provision", event.Done, "", 0)
		s.stage("verify", event.Skipped, "", 0)
		s.stage("deploy", event.Done, "rigup 0.1.0 is as asked", 0)
		s.stage("ready", event.Done, "2 of 2 pods ready", 50*time.Millisecond)
		r := left(s)
		r.Changed, r.Since = false, s.clock.ago(75*time.Hour)
		s.result(0, "cpu", &noGPU, "", r)
	}},
	{"preflight-failures", func(s *script) {
		s.run("install")
		s.machine("install", native)
		s.stage("observe", event.Done, "2 GB memory, 2 CPUs, 1.1 GB free", 400*time.Millisecond)
		s.begin("preflight", "")
		disk := reason.New(reason.MachineDisk, "place", "/var/lib/docker", "free", "1.1 GB", "needed", "8 GB")
		for _, r := range []reason.Reason{
			disk,
			reason.New(reason.MachineMemory, "have", "2.0 GB", "needed", "3 GB", "grow", "give this machine more memory"),
			reason.New(reason.MachinePorts, "range", "6550-6560").With("127.0.0.1:6550 is held by process 812 (nginx)"),
		} {
			s.emit(event.Event{Type: event.TypeWarning, Stage: "preflight", State: event.Failed, Reason: &r})
		}
		s.emit(event.Event{Type: event.TypeWarning, Stage: "preflight", Reason: ptr(reason.New(reason.MachineCPU, "have", "2", "wanted", "4"))})
		s.clock.move(300 * time.Millisecond)
		s.emit(event.Event{Type: event.TypeStage, Stage: "preflight", State: event.Failed, Text: "3 of 9 checks failed", Reason: &disk, Seconds: 0.3})
		s.result(2, "cpu", &disk, "", event.Result{Log: "/home/ada/.rigup/clusters/rigup/log/install.log"})
	}},
	{"pull-failed", func(s *script) {
		pulling(s)
		why := reason.New(reason.ImageUntrusted, "host", "registry.test").
			With("Get \"https://registry.test/v2/\": tls: failed to verify certificate: x509: certificate signed by unknown authority\x1b[31m")
		s.endWith("image", event.Failed, why, 2*time.Second)
		s.result(1, "cpu", &why, "", event.Result{Log: "/home/ada/.rigup/clusters/rigup/log/install.log"})
	}},
	{"degraded", func(s *script) {
		pulling(s)
		s.end("image", event.Done, "pulled registry.test/k3s:1, 389 MB", 30*time.Second)
		s.stage("cluster", event.Done, "created", 4*time.Second)
		s.stage("provision", event.Done, "ready at https://127.0.0.1:6550", 17*time.Second)
		s.stage("verify", event.Skipped, "", 0)
		s.stage("deploy", event.Done, "rigup 0.1.0 installed", 3*time.Second)
		s.begin("ready", "")
		why := reason.New(reason.WorkloadStarting, "workload", "jobs-manager", "limit", "5 min").With("0 of 1 pods ready: ContainerCreating")
		s.endWith("ready", event.Degraded, why, 300*time.Second)
		s.result(0, "cpu", &noGPU, "", left(s))
	}},
	{"plan", func(s *script) {
		head(s, "plan")
		cpuDecision(s)
		s.begin("image", "")
		s.change("image", event.Change{Action: event.Pull, Kind: "image", Name: "registry.test/k3s:1", Detail: "389 MB"})
		s.end("image", event.Planned, "1 image to pull", 0)
		s.begin("cluster", "")
		s.change("cluster", event.Change{Action: event.Create, Kind: "network", Name: "rigup-rigup", Detail: "172.30.0.0/24"})
		s.change("cluster", event.Change{Action: event.Create, Kind: "node", Name: "rigup-rigup", Detail: "API on 127.0.0.1:6550"})
		s.end("cluster", event.Planned, "1 node to create", 0)
		s.begin("provision", "")
		s.change("provision", event.Change{Action: event.Update, Kind: "kubeconfig", Name: "/home/ada/.kube/config", Detail: "adds the context rigup"})
		s.end("provision", event.Planned, "", 0)
		s.stage("verify", event.Skipped, "", 0)
		s.begin("deploy", "")
		s.change("deploy", event.Change{Action: event.Create, Kind: "release", Name: "rigup", Detail: "chart rigup 0.1.0 in namespace rigup"})
		s.end("deploy", event.Planned, "chart rigup 0.1.0 to install", 0)
		s.stage("ready", event.Skipped, "", 0)
		s.result(0, "cpu", &noGPU, "", event.Result{Changed: true})
	}},
	{"plan-nothing", func(s *script) {
		head(s, "plan")
		cpuDecision(s)
		for _, st := range []string{"image", "cluster", "provision", "deploy", "ready"} {
			s.stage(st, event.Done, "as asked", 0)
		}
		s.result(0, "cpu", &noGPU, "", event.Result{})
	}},
	{"plan-explain", func(s *script) {
		head(s, "plan")
		s.begin("decide", "")
		for _, h := range []event.Hook{
			{Name: "native 1.0.0 (built in)", Kind: "environment", Phase: "detect", Because: []string{"runs on linux"}, Answer: "claim",
				Why: []string{"the engine's endpoint is unix:///var/run/docker.sock", "its kernel is this machine's"}},
			{Name: "native 1.0.0 (built in)", Kind: "environment", Phase: "decide", Because: []string{"runs on linux"}, Answer: "decision", Why: []string{"the engine knows CDI"}, Remembered: true},
			{Name: "acme 2.1.0 (Acme Inc.)", Kind: "gpu", Phase: "detect", Because: []string{"PCI 0x1234:0x0001 at 0000:01:00.0"}, Answer: "probes"},
			{Name: "acme 2.1.0 (Acme Inc.)", Kind: "gpu", Phase: "detect", Because: []string{"PCI 0x1234:0x0001 at 0000:01:00.0"}, Answer: "claim",
				Probes: []string{"node (device.stat): absent"}, Why: []string{"1 card"}, Log: "looking\x1b[31m\nfound one"},
			{Name: "acme 2.1.0 (Acme Inc.)", Kind: "gpu", Phase: "decide", Because: []string{"PCI 0x1234:0x0001 at 0000:01:00.0"}, Failure: "did not end within 2 s"},
		} {
			s.emit(event.Event{Type: event.TypeHook, Stage: "decide", Hook: &h})
		}
		why := reason.New(reason.GPUHookFailed, "hook", "acme", "what", "did not end within 2 s", "do", "ask Acme Inc. for a corrected hook, or switch it off: rigup hooks disable acme")
		s.end("decide", event.Done, "CPU: rigup does not know what to do with the GPU", 0)
		s.begin("prove", "")
		s.endWith("prove", event.Skipped, why, 0)
		for _, st := range []string{"image", "cluster", "provision", "deploy", "ready"} {
			s.stage(st, event.Done, "as asked", 0)
		}
		s.result(0, "cpu", &why, "", event.Result{})
	}},
	{"interrupted", func(s *script) {
		pulling(s)
		s.clock.move(time.Second)
		why := reason.New(reason.Interrupted)
		s.result(130, "cpu", &why, "", event.Result{})
	}},
	{"uninstall", func(s *script) {
		s.run("uninstall")
		s.begin("cluster", "")
		s.change("cluster", event.Change{Action: event.Delete, Kind: "node", Name: "rigup-rigup"})
		s.change("cluster", event.Change{Action: event.Keep, Kind: "data", Name: "/home/ada/.rigup/clusters/rigup/data", Detail: "rigup uninstall --delete-data removes it too"})
		s.end("cluster", event.Done, "1 node, 1 network, 2 volumes removed", 3*time.Second)
		s.result(0, "", nil, "", event.Result{Changed: true})
	}},
}
