// Package preflight holds the machine against what the cluster needs. All failures are reported at once,
// each with its remedy, before anything is changed.
package preflight

import (
	"strconv"

	"rigup.dev/rigup/core/facts"
	"rigup.dev/rigup/core/reason"
	"rigup.dev/rigup/core/units"
)

// Finding is one thing that is not as it should be.
type Finding struct {
	// Fatal stops the install; otherwise it is advice.
	Fatal  bool
	Reason reason.Reason
}

// Input is what the checks look at. What is unknown fails no check (C1): it is not evidence.
type Input struct {
	Machine facts.Machine
	// Engine is the engine's own answer about its surroundings.
	Engine Engine
	// EngineDisk is where the engine keeps images and volumes, when that is on this machine's file system.
	EngineDisk facts.Place
	DataDir    string
	// DataProblem is what CheckPlace found, and Data the file system the directory is on.
	DataProblem error
	Data        facts.Place
	// Exists is set when the cluster is there already: then space for its images is not asked for again, and
	// advice about what does not change is not repeated at every run.
	Exists bool
}

// Engine is the part of the engine's answer that the checks need.
type Engine struct {
	OS, Arch  string // as Go names them
	CPUs      int
	Memory    uint64 // bytes
	Cgroup    string // "1" or "2"
	RootDir   string
	InMachine bool // false when the engine runs in a virtual machine of its own
}

// Thresholds of the cluster: k3s with its system pods needs about 1.5 GB of memory and 2 GB of disk; the
// rest is for the first training image. The advice is what a small training job needs beside it.
const (
	minMemory    = 3 << 30
	adviceMemory = 8 << 30
	// memoryGrace is what firmware and kernels keep of a machine's nominal memory.
	memoryGrace = 512 << 20
	minDisk     = 10e9
	adviceDisk  = 20e9
	minDataDisk = 1e9
	adviceCPUs  = 2
	minWatches  = 65536
)

// Check is one requirement.
type Check struct {
	Name string
	Run  func(Input) []Finding
}

// Checks is the list of requirements. To add one, add a value.
func Checks() []Check {
	return []Check{
		{"engine runs Linux containers", engineOS},
		{"engine has our architecture", engineArch},
		{"memory", memory},
		{"CPUs", cpus},
		{"disk of the engine", engineDisk},
		{"data directory", dataDir},
		{"file watches", watches},
		{"cgroup version", cgroup},
	}
}

// Run runs every check and returns all findings, in the order of the list.
func Run(in Input) []Finding {
	var all []Finding
	for _, c := range Checks() {
		all = append(all, c.Run(in)...)
	}
	return all
}

func fatal(r reason.Reason) []Finding  { return []Finding{{Fatal: true, Reason: r}} }
func advice(r reason.Reason) []Finding { return []Finding{{Reason: r}} }

func engineOS(in Input) []Finding {
	if in.Engine.OS == "" || in.Engine.OS == "linux" {
		return nil
	}
	return fatal(reason.New(reason.EngineNotLinux, "os", in.Engine.OS))
}

// engineArch compares with the machine's, because the programs rigup puts into the cluster are of the
// executable's own architecture.
func engineArch(in Input) []Finding {
	if in.Engine.Arch == "" || in.Engine.Arch == in.Machine.Arch {
		return nil
	}
	return fatal(reason.New(reason.EngineArch, "engine", in.Engine.Arch, "program", in.Machine.Arch))
}

func memory(in Input) []Finding {
	have := in.Engine.Memory
	if have == 0 {
		return nil
	}
	grow := "use a machine with more memory"
	if !in.Engine.InMachine {
		grow = "give the engine's virtual machine more memory in its settings (Resources), then run the same command again"
	}
	switch {
	case have < minMemory-memoryGrace:
		return fatal(reason.New(reason.MachineMemory, "have", units.Size(int64(have)), "needed", units.Size(minMemory), "grow", grow))
	case have < adviceMemory-memoryGrace && !in.Exists:
		return advice(reason.New(reason.MachineMemoryLow, "have", units.Size(int64(have)), "wanted", units.Size(adviceMemory), "grow", grow))
	}
	return nil
}

func cpus(in Input) []Finding {
	if in.Exists || in.Engine.CPUs == 0 || in.Engine.CPUs >= adviceCPUs {
		return nil
	}
	return advice(reason.New(reason.MachineCPU, "have", strconv.Itoa(in.Engine.CPUs), "wanted", strconv.Itoa(adviceCPUs)))
}

func engineDisk(in Input) []Finding {
	free := in.EngineDisk.Free
	if !free.Known() {
		return nil
	}
	place := "The disk of the Docker engine (" + in.Engine.RootDir + ")"
	switch {
	case free.Value < minDisk && !in.Exists:
		return fatal(reason.New(reason.MachineDisk, "place", place, "free", units.Size(int64(free.Value)), "needed", units.Size(minDisk)))
	case free.Value < adviceDisk:
		return advice(reason.New(reason.MachineDiskLow, "place", place, "free", units.Size(int64(free.Value)), "wanted", units.Size(adviceDisk)))
	}
	return nil
}

func dataDir(in Input) []Finding {
	if in.DataProblem != nil {
		return fatal(reason.Of(in.DataProblem))
	}
	if t := in.Data.Type; t.Known() && facts.Network(t.Value) {
		return fatal(reason.New(reason.DataNetwork, "path", in.DataDir, "fs", t.Value))
	}
	if free := in.Data.Free; free.Known() && free.Value < minDataDisk {
		return fatal(reason.New(reason.MachineDisk, "place", "The data directory "+in.DataDir, "free", units.Size(int64(free.Value)), "needed", units.Size(minDataDisk)))
	}
	return nil
}

func watches(in Input) []Finding {
	w := in.Machine.Watches
	if in.Exists || !w.Known() || w.Value >= minWatches || !in.Engine.InMachine {
		return nil
	}
	return advice(reason.New(reason.MachineInotify, "have", strconv.FormatInt(w.Value, 10), "needed", "524288"))
}

func cgroup(in Input) []Finding {
	if in.Exists || in.Engine.Cgroup != "1" {
		return nil
	}
	return advice(reason.New(reason.MachineCgroup1))
}
