// Package runlog is the log file of one run: everything that people need not see while it goes well.
package runlog

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sort"
	"time"

	"rigup.dev/rigup/core/redact"
)

// Keep is how many logs of earlier runs stay in the folder.
const Keep = 10

// Log is an open log file. Secrets are taken out of what is written (E2).
type Log struct {
	*slog.Logger
	Path   string
	file   *os.File
	writer *redact.Writer
}

// Open makes a log file for command in dir, readable by this user alone, and removes the oldest ones.
func Open(dir, command string, now time.Time) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	prune(dir)
	name := fmt.Sprintf("%s-%s-%d.log", now.UTC().Format("20060102T150405"), command, os.Getpid())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := redact.NewWriter(f)
	return &Log{
		Logger: slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Path:   f.Name(), file: f, writer: w,
	}, nil
}

// Discard is a log that keeps nothing, for commands that only look.
func Discard() *Log { return &Log{Logger: slog.New(slog.NewJSONHandler(io.Discard, nil))} }

// Secret adds values that must never be written.
func (l *Log) Secret(values ...string) {
	if l.writer != nil {
		l.writer.Add(values...)
	}
}

// Close writes what is left.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	err := l.writer.Close()
	if cerr := l.file.Close(); err == nil {
		err = cerr
	}
	return err
}

// prune leaves the newest logs. A log that cannot be removed is no reason to stop.
func prune(dir string) {
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) < Keep {
		return
	}
	sort.Strings(logs) // the names begin with the time
	for _, old := range logs[:len(logs)-Keep+1] {
		_ = os.Remove(old)
	}
}
