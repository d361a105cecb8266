package engine

import (
	"context"
	"io"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// ExecOptions say what to run in a container.
type ExecOptions struct {
	Cmd []string
	// Stdin is read to its end, and its end is passed on; nil means none.
	Stdin          io.Reader
	Stdout, Stderr io.Writer // nil discards
}

// Exec runs a command in a running container and returns its exit code. When the context ends the
// connection is cut, which ends a command that reads or writes.
func (e *Engine) Exec(ctx context.Context, id string, o ExecOptions) (int, error) {
	limit := e.timeouts.Exec
	if o.Stdin != nil {
		limit = e.timeouts.Transfer
	}
	ctx, done := e.limited(ctx, limit, "run "+o.Cmd[0]+" in the container "+ShortID(id))
	code, err := e.exec(ctx, id, o)
	return code, done(err)
}

func (e *Engine) exec(ctx context.Context, id string, o ExecOptions) (int, error) {
	made, err := e.cli.ContainerExecCreate(ctx, id, container.ExecOptions{Cmd: o.Cmd, AttachStdin: o.Stdin != nil, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return 0, err
	}
	conn, err := e.attach(ctx, made.ID)
	if err != nil {
		return 0, err
	}
	// The hijacked connection does not know the context.
	stop := context.AfterFunc(ctx, conn.Close)
	defer func() {
		if stop() {
			conn.Close()
		}
	}()
	input := make(chan error, 1)
	if o.Stdin != nil {
		go func() {
			_, err := io.Copy(conn.Conn, o.Stdin)
			if err != nil {
				// A stream that broke must not look like one that ended.
				conn.Close()
			} else {
				err = conn.CloseWrite()
			}
			input <- err
		}()
	} else {
		input <- nil
	}
	_, err = stdcopy.StdCopy(writer(o.Stdout), writer(o.Stderr), conn.Reader)
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	var broken error
	select {
	case broken = <-input:
	default: // the command ended without reading everything; its exit code says why
	}
	in, ierr := e.cli.ContainerExecInspect(ctx, made.ID)
	switch {
	case ierr != nil:
		return 0, ierr
	case in.ExitCode != 0 && !in.Running:
		return in.ExitCode, nil
	case broken != nil:
		return 0, broken
	case err != nil:
		return 0, err
	}
	return in.ExitCode, nil
}

// attach starts an exec. The client waits for the engine's answer without looking at the context, so that is
// done here: an engine that never answers costs a goroutine, not the run.
func (e *Engine) attach(ctx context.Context, id string) (types.HijackedResponse, error) {
	type answer struct {
		conn types.HijackedResponse
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		conn, err := e.cli.ContainerExecAttach(ctx, id, container.ExecAttachOptions{})
		got <- answer{conn, err}
	}()
	select {
	case a := <-got:
		return a.conn, a.err
	case <-ctx.Done():
		go func() {
			if a := <-got; a.err == nil {
				a.conn.Close()
			}
		}()
		return types.HijackedResponse{}, ctx.Err()
	}
}

func writer(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
