package engine

import (
	"context"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// Limits keep a container small and harmless. The zero value sets none.
type Limits struct {
	// ReadOnly makes the container's own file system read-only.
	ReadOnly bool
	// NoPrivileges drops every capability, and keeps programs from gaining any.
	NoPrivileges bool
	Memory       int64 // bytes, with no swap beside them; engines that cannot limit it ignore it with a warning
	Processes    int64
	// Log is how many bytes of output the engine keeps, at least; the oldest go first.
	Log int64
}

func (l Limits) apply(h *container.HostConfig) {
	h.ReadonlyRootfs = l.ReadOnly
	if l.NoPrivileges {
		h.CapDrop = []string{"ALL"}
		h.SecurityOpt = append(h.SecurityOpt, "no-new-privileges:true")
	}
	if l.Memory > 0 {
		h.Memory, h.MemorySwap = l.Memory, l.Memory
	}
	if l.Processes > 0 {
		h.PidsLimit = &l.Processes
	}
	if l.Log > 0 {
		// The engine's own driver may keep nothing, or send output elsewhere.
		h.LogConfig = container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": strconv.FormatInt(l.Log, 10), "max-file": "2"}}
	}
}

// LogTail returns the last bytes that a container wrote, both streams in one.
func (e *Engine) LogTail(ctx context.Context, id string, limit int) (string, error) {
	ctx, done := e.limited(ctx, e.timeouts.Query, "read the log of the container "+ShortID(id))
	r, err := e.cli.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		return "", done(err)
	}
	defer r.Close()
	t := tail{limit: limit}
	_, err = stdcopy.StdCopy(&t, &t, r)
	return string(t.kept), done(err)
}

// tail keeps the end of what is written to it.
type tail struct {
	kept  []byte
	limit int
}

func (t *tail) Write(p []byte) (int, error) {
	n := len(p)
	if n > t.limit {
		p = p[n-t.limit:]
	}
	if over := len(t.kept) + len(p) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}
