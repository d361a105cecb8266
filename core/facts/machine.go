package facts

import (
	"context"
	"runtime"
	"time"
)

// Machine is what was observed of the machine that rigup runs on. What the engine has (its memory and
// CPUs, which can be those of a virtual machine) is the engine's to say.
type Machine struct {
	OS     string       `json:"os"`   // as Go names it: linux, darwin, windows
	Arch   string       `json:"arch"` // as Go names it: amd64, arm64
	Distro Fact[string] `json:"distro"`
	// GPUs are the GPUs of known vendors on the PCI bus or behind WSL.
	GPUs Fact[[]GPU] `json:"gpus"`
	// Watches is fs.inotify.max_user_watches, which a node needs many of.
	Watches Fact[int64] `json:"watches"`
}

// GPU is one graphics processor.
type GPU struct {
	Vendor  string `json:"vendor"`  // NVIDIA, AMD, Intel
	Address string `json:"address"` // PCI address, or /dev/dxg
}

// Place is a directory's file system.
type Place struct {
	Type Fact[string] `json:"type"` // for example ext4, nfs4
	Free Fact[uint64] `json:"free"` // bytes that this user may still write
}

// Observer reads facts below Root ("/" on a real machine), each within Limit.
type Observer struct {
	Root  string
	Limit time.Duration
}

// Machine observes the machine.
func (o Observer) Machine(ctx context.Context) Machine {
	return Machine{
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
		Distro:  within(ctx, o.Limit, o.distro),
		GPUs:    within(ctx, o.Limit, o.gpus),
		Watches: within(ctx, o.Limit, o.watches),
	}
}

// Place observes the file system that a directory is on, or will be on once it is made.
func (o Observer) Place(ctx context.Context, dir string) Place {
	return Place{
		Type: within(ctx, o.Limit, func() (string, error) { return o.fsType(existing(dir)) }),
		Free: within(ctx, o.Limit, func() (uint64, error) { return freeBytes(existing(dir)) }),
	}
}

// within reads one fact and gives up at the deadline: a file on a dead network mount blocks for ever.
func within[T any](ctx context.Context, limit time.Duration, read func() (T, error)) Fact[T] {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	got := make(chan Fact[T], 1)
	go func() { got <- From(read()) }()
	select {
	case f := <-got:
		return f
	case <-ctx.Done():
		return Not[T](Late)
	}
}
