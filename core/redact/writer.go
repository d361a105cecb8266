package redact

import (
	"bytes"
	"io"
	"sync"
)

// maxLine is how much of an unfinished line a Writer holds back before it writes it anyway.
const maxLine = 64 << 10

// Writer passes text on without secrets. It works on whole lines, because a secret may arrive in pieces; Close
// (or Flush) writes what is left of the last line. It is safe for concurrent use.
type Writer struct {
	mu      sync.Mutex
	to      io.Writer
	secrets []string
	rest    []byte
	inKey   bool // inside a private key, which spans lines
}

// NewWriter makes a Writer on to.
func NewWriter(to io.Writer, secrets ...string) *Writer {
	return &Writer{to: to, secrets: append([]string(nil), secrets...)}
}

// Add makes more secrets known, for those that are learned during a run.
func (w *Writer) Add(secrets ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = append(w.secrets, secrets...)
}

// Write takes p whole; the error is the one of the writer below.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	end := bytes.LastIndexByte(w.rest, '\n') + 1
	if end == 0 {
		if len(w.rest) < maxLine {
			return len(p), nil
		}
		end = len(w.rest)
	}
	err := w.pass(w.rest[:end])
	w.rest = append(w.rest[:0], w.rest[end:]...)
	return len(p), err
}

// Flush writes the unfinished line.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	err := w.pass(w.rest)
	w.rest = w.rest[:0]
	return err
}

// Close flushes; the writer below stays open.
func (w *Writer) Close() error { return w.Flush() }

var (
	keyBegin = []byte("-----BEGIN ")
	keyEnd   = []byte("-----END ")
	keyName  = []byte("PRIVATE KEY-----")
)

// pass writes complete lines, dropping those inside a private key.
func (w *Writer) pass(text []byte) error {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		switch {
		case w.inKey:
			w.inKey = !(bytes.Contains(line, keyEnd) && bytes.Contains(line, keyName))
			continue
		case bytes.Contains(line, keyBegin) && bytes.Contains(line, keyName) && !bytes.Contains(line, keyEnd):
			w.inKey = true
			out.Write(line[:bytes.Index(line, keyBegin)])
			out.WriteString(Mask + "\n")
			continue
		}
		out.WriteString(String(string(line), w.secrets...))
	}
	_, err := w.to.Write(out.Bytes())
	return err
}
