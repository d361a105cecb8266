package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"rigup.dev/rigup/core/engine"
	"rigup.dev/rigup/core/reason"
)

// labelImage is the label in containerd that says which image of the engine was loaded.
const labelImage = "dev.rigup.image"

// ctr is containerd's client in the node. The socket and the namespace are those of k3s and of Kubernetes,
// written out so that another build of ctr finds them as well.
func ctr(args ...string) []string {
	return append([]string{"ctr", "-a", "/run/k3s/containerd/containerd.sock", "-n", "k8s.io"}, args...)
}

// HasImage reports whether the node has an image under this reference, with this id. The id is the engine's
// or the archive's; "" means any. containerd that does not answer yet is asked until the context ends.
func (m *Manager) HasImage(ctx context.Context, st State, ref, id string) (bool, error) {
	full, err := fullRef(ref)
	if err != nil {
		return false, err
	}
	filter := "name==" + full
	if id != "" {
		filter += `,labels."` + labelImage + `"==` + id
	}
	for {
		out, err := m.run(ctx, st, nil, ctr("images", "ls", "-q", filter)...)
		if err == nil {
			return strings.TrimSpace(out) != "", nil
		}
		if !starting(err) {
			return false, err
		}
		if err := m.pause(ctx, st); err != nil {
			return false, err
		}
	}
}

// LoadImage streams an image archive into the node and marks it with the image's id, for HasImage. open is
// called again when containerd was not up yet. Its errors have the reason image.load, or why the archive
// could not be read.
func (m *Manager) LoadImage(ctx context.Context, st State, ref, id string, open func() (io.ReadCloser, error)) error {
	full, err := fullRef(ref)
	if err != nil {
		return reason.Fail(reason.New(reason.ImageLoad, "image", ref), err)
	}
	// Nothing is streamed before containerd answers: half a stream is wasted otherwise.
	if _, err := m.HasImage(ctx, st, ref, id); err != nil {
		return err
	}
	r, err := open()
	if err != nil {
		return err
	}
	src := &source{r: r}
	_, err = m.run(ctx, st, src, ctr("images", "import", "-")...)
	cerr := r.Close()
	switch {
	case src.err != nil:
		return src.err
	case err != nil:
		return loadFailure(ref, err)
	case cerr != nil:
		return cerr
	}
	if _, err := m.run(ctx, st, nil, ctr("images", "label", full, labelImage+"="+id)...); err != nil {
		return loadFailure(ref, err)
	}
	return nil
}

// LoadFromEngine streams an image of the engine into the node, its own platform alone, without a file in
// between. It does nothing when the node has it. It reports whether it loaded something.
func (m *Manager) LoadFromEngine(ctx context.Context, st State, ref string) (bool, error) {
	if strings.Contains(ref, "@") {
		// An engine's archive carries tags only, and packs layers anew, so the digest would not be the image's.
		return false, reason.Fail(reason.New(reason.UsageValue, "flag", "--load-image", "value", ref, "allowed", "name the image by its tag"), nil)
	}
	img, err := m.Engine.Image(ctx, ref)
	if engine.KindOf(err) == engine.NotFound {
		return false, reason.Fail(reason.New(reason.ImageNotPresent, "image", ref), err)
	}
	if err != nil {
		return false, err
	}
	if has, err := m.HasImage(ctx, st, ref, img.ID); has || err != nil {
		return false, err
	}
	err = m.LoadImage(ctx, st, ref, img.ID, func() (io.ReadCloser, error) { return m.Engine.Save(ctx, ref, img.OS, img.Arch) })
	return err == nil, err
}

func loadFailure(ref string, err error) error {
	switch engine.KindOf(err) {
	case engine.Canceled, engine.Timeout, engine.Unreachable:
		return err
	}
	return reason.Fail(reason.New(reason.ImageLoad, "image", ref), err)
}

// source remembers the error of a stream, which would otherwise look like one of the command that reads it.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// failed is a command in the node that ended with another code than 0.
type failed struct {
	cmd    string
	code   int
	output string
}

func (f *failed) Error() string {
	return fmt.Sprintf("%s in the node ended with %d: %s", f.cmd, f.code, lastLines(f.output, 3))
}

// run runs a command in the node and returns its standard output.
func (m *Manager) run(ctx context.Context, st State, in io.Reader, cmd ...string) (string, error) {
	var out, errs bytes.Buffer
	code, err := m.Engine.Exec(ctx, st.Node.ID, engine.ExecOptions{Cmd: cmd, Stdin: in, Stdout: &limited{b: &out}, Stderr: &limited{b: &errs}})
	if err != nil {
		return "", err
	}
	if code != 0 {
		return "", &failed{cmd: cmd[0], code: code, output: errs.String() + out.String()}
	}
	return out.String(), nil
}

// limited keeps the start of what a command says.
type limited struct{ b *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if room := 1<<20 - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// starting reports whether a command failed because containerd or the node is not up yet.
func starting(err error) bool {
	var f *failed
	if errors.As(err, &f) {
		return says(f, "no such file or directory", "connection refused", "deadline exceeded", "unavailable", "not implemented")
	}
	return engine.KindOf(err) == engine.Conflict && says(err, "is not running", "is restarting")
}

// pause waits before the next attempt, unless the node is gone or the context ends.
func (m *Manager) pause(ctx context.Context, st State) error {
	if err := m.Alive(ctx, st); err != nil {
		return err
	}
	if err := m.sleep(ctx); err != nil {
		return reason.Fail(reason.New(reason.ClusterNotReady, "what", "its containerd does not answer", "node", st.Node.Name), err)
	}
	return nil
}

// sleep waits for the next attempt, or for the context to end.
func (m *Manager) sleep(ctx context.Context) error {
	t := time.NewTimer(m.retry())
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// fullRef is the name under which containerd keeps an image.
func fullRef(ref string) (string, error) {
	r, err := name.ParseReference(ref, name.WithDefaultRegistry("docker.io"))
	if err != nil {
		return "", fmt.Errorf("the image name %s: %w", ref, err)
	}
	full := r.Name()
	if rest, ok := strings.CutPrefix(full, "index.docker.io/"); ok {
		full = "docker.io/" + rest
	}
	return full, nil
}
