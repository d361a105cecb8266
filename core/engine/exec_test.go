package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/pkg/stdcopy"

	"rigup.dev/rigup/core/reason"
)

// attached serves an exec: run gets the hijacked connection.
func attached(s *server, code int, run func(conn net.Conn, in io.Reader)) {
	s.on("POST /containers/c/exec", func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, map[string]string{"Id": "x"}) })
	s.on("POST /exec/x/start", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
		run(conn, buf)
	})
	s.on("GET /exec/x/json", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 200, map[string]any{"ID": "x", "Running": false, "ExitCode": code})
	})
}

func TestExecStreams(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	attached(s, 3, func(conn net.Conn, in io.Reader) {
		b, _ := io.ReadAll(in) // ends when the client's input does
		_, _ = fmt.Fprintf(stdcopy.NewStdWriter(conn, stdcopy.Stdout), "got %d", len(b))
		_, _ = io.WriteString(stdcopy.NewStdWriter(conn, stdcopy.Stderr), "said")
	})
	var out, errs bytes.Buffer
	code, err := e.Exec(t.Context(), "c", ExecOptions{Cmd: []string{"cat"}, Stdin: strings.NewReader(strings.Repeat("x", 1<<20)), Stdout: &out, Stderr: &errs})
	if err != nil || code != 3 || out.String() != "got 1048576" || errs.String() != "said" {
		t.Errorf("%d %v %q %q", code, err, &out, &errs)
	}
}

// A source that breaks must not look like the end of the input to the command.
func TestExecBrokenInput(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	ended := make(chan error, 1)
	attached(s, 0, func(_ net.Conn, in io.Reader) {
		_, err := io.ReadAll(in)
		ended <- err
	})
	broken := errors.New("the source broke")
	pr, pw := io.Pipe()
	go func() {
		_, _ = pw.Write([]byte("half"))
		pw.CloseWithError(broken)
	}()
	if _, err := e.Exec(t.Context(), "c", ExecOptions{Cmd: []string{"import"}, Stdin: pr}); err == nil {
		t.Error("no error")
	}
	<-ended
}

func TestE1_ExecEndsWithItsContext(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	begun, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	attached(s, 0, func(_ net.Conn, in io.Reader) {
		begun <- struct{}{}
		_, _ = io.ReadAll(in)
		gone <- struct{}{}
	})
	pr, pw := io.Pipe() // an input that never ends
	defer pw.Close()
	for _, in := range []io.Reader{nil, pr} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-begun
			cancel()
		}()
		_, err := e.Exec(ctx, "c", ExecOptions{Cmd: []string{"sleep"}, Stdin: in})
		wantReason(t, err, reason.Interrupted)
		<-gone // the connection was cut
		cancel()
	}
}

func TestE1_ExecHasADeadline(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{Exec: 50 * time.Millisecond})
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) }) // before the server waits for its handlers
	attached(s, 0, func(net.Conn, io.Reader) { <-stop })
	_, err := e.Exec(t.Context(), "c", ExecOptions{Cmd: []string{"sleep"}})
	wantReason(t, err, reason.EngineTimeout, "50ms", "run sleep")
	// The engine takes the request and says nothing at all.
	s.on("POST /exec/x/start", func(http.ResponseWriter, *http.Request) { <-stop })
	_, err = e.Exec(t.Context(), "c", ExecOptions{Cmd: []string{"sleep"}})
	wantReason(t, err, reason.EngineTimeout)
}

func TestCopy(t *testing.T) {
	s := &server{}
	e := open(t, s, Timeouts{})
	var got []string
	s.on("PUT /containers/c/archive", func(_ http.ResponseWriter, r *http.Request) {
		for tr := tar.NewReader(r.Body); ; {
			h, err := tr.Next()
			if err != nil {
				break
			}
			b, _ := io.ReadAll(tr)
			got = append(got, fmt.Sprintf("%s %o %d:%d %q", h.Name, h.Mode, h.Uid, h.Gid, b))
		}
	})
	if err := e.CopyTo(t.Context(), "c", []File{{Path: "/etc/x/", Mode: 0o755}, {Path: "/etc/x/f", Mode: 0o600, Data: []byte("hi")}}); err != nil {
		t.Fatal(err)
	}
	if want := `etc/x/ 755 0:0 "";etc/x/f 600 0:0 "hi"`; strings.Join(got, ";") != want {
		t.Errorf("%v", got)
	}
	s.on("GET /containers/c/archive", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Docker-Container-Path-Stat", "eyJuYW1lIjoiZiJ9")
		tw := tar.NewWriter(w)
		_ = tw.WriteHeader(&tar.Header{Name: "f", Size: 2, Mode: 0o600, Typeflag: tar.TypeReg})
		_, _ = tw.Write([]byte("hi"))
		_ = tw.Close()
	})
	if b, err := e.CopyFrom(t.Context(), "c", "/etc/x/f"); err != nil || string(b) != "hi" {
		t.Errorf("%q %v", b, err)
	}
	s.on("GET /containers/c/archive", refuse(404, "Could not find the file /f in container c"))
	if _, err := e.CopyFrom(t.Context(), "c", "/f"); KindOf(err) != NotFound {
		t.Error(err)
	}
	s.on("GET /containers/c/archive", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Docker-Container-Path-Stat", "eyJuYW1lIjoiZiJ9")
		tw := tar.NewWriter(w)
		_ = tw.WriteHeader(&tar.Header{Name: "f", Linkname: "/etc/shadow", Typeflag: tar.TypeSymlink})
		_ = tw.Close()
	})
	if _, err := e.CopyFrom(t.Context(), "c", "/f"); err == nil {
		t.Error("a link was read")
	}
}

func TestE1_StalledSave(t *testing.T) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	s := &server{}
	e := open(t, s, Timeouts{Stall: 40 * time.Millisecond})
	s.on("GET /images/get", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("some"))
		w.(http.Flusher).Flush()
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	})
	r, err := e.Save(t.Context(), "a:1", "linux", "amd64")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(r)
	if cerr := r.Close(); cerr != nil {
		t.Error(cerr)
	}
	wantReason(t, err, reason.EngineTimeout, "read the image a:1")
}

func TestSaveAsksForOnePlatformWhereItCan(t *testing.T) {
	for api, want := range map[string]bool{"1.41": false, "1.47": false, "1.48": true} {
		s := &server{api: api}
		e := open(t, s, Timeouts{})
		query := ""
		s.on("GET /images/get", func(_ http.ResponseWriter, r *http.Request) { query = r.URL.Query().Get("platform") })
		r, err := e.Save(t.Context(), "a:1", "linux", "arm64")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if (query != "") != want || want && !strings.Contains(query, "arm64") {
			t.Errorf("%s: %q", api, query)
		}
	}
}
