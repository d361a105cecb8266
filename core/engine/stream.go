package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/docker/docker/api/types/image"

	"rigup.dev/rigup/core/reason"
)

var errStalled = errors.New("nothing moved")

var removeImage = image.RemoveOptions{PruneChildren: true}

// watchdog cancels its context when it is not fed for a while.
type watchdog struct {
	timer  *time.Timer
	limit  time.Duration
	fired  atomic.Bool
	cancel context.CancelCauseFunc
}

func watch(ctx context.Context, limit time.Duration) (context.Context, *watchdog) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{limit: limit, cancel: cancel}
	w.timer = time.AfterFunc(limit, func() {
		w.fired.Store(true)
		cancel(errStalled)
	})
	return ctx, w
}

func (w *watchdog) feed() { w.timer.Reset(w.limit) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

type saveStream struct {
	body    io.ReadCloser
	stalled *watchdog
	done    func(error) error
	limit   time.Duration
	what    string
}

func (s *saveStream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	if n > 0 {
		s.stalled.feed()
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	if s.stalled.fired.Load() {
		return n, failure(&Error{Kind: Timeout, What: s.what, Err: errStalled}, s.limit, "")
	}
	return n, s.done(err)
}

func (s *saveStream) Close() error {
	s.stalled.stop()
	err := s.body.Close()
	s.done(nil)
	return err
}

// message is one line of the engine's progress stream.
type message struct {
	ID       string `json:"id"`
	Status   string `json:"status"`
	Progress *struct {
		Current int64 `json:"current"`
		Total   int64 `json:"total"`
	} `json:"progressDetail"`
	Error  string `json:"error"`
	Detail *struct {
		Message string `json:"message"`
	} `json:"errorDetail"`
}

// decode reads a progress stream to its end. An error that the stream reports is returned.
func decode(r io.Reader, each func(message)) error {
	dec := json.NewDecoder(r)
	for {
		var m message
		if err := dec.Decode(&m); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if m.Detail != nil && m.Detail.Message != "" {
			return errors.New(m.Detail.Message)
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		each(m)
	}
}

// Progress is how far a pull is, in bytes of layers that have to be fetched. Total grows while the engine
// finds out about layers.
type Progress struct {
	Done, Total int64
}

// layers adds up the progress of an image's layers.
type layers struct {
	byID map[string]*Progress
	last Progress
}

// add takes one message in and reports whether the sum changed.
func (l *layers) add(m message) (Progress, bool) {
	if l.byID == nil {
		l.byID = map[string]*Progress{}
	}
	p := l.byID[m.ID]
	switch m.Status {
	case "Downloading":
		if m.Progress == nil || m.Progress.Total <= 0 {
			return l.last, false
		}
		if p == nil {
			p = &Progress{}
			l.byID[m.ID] = p
		}
		p.Total = max(p.Total, m.Progress.Total)
		p.Done = max(p.Done, min(m.Progress.Current, p.Total))
	case "Download complete", "Verifying Checksum", "Extracting", "Pull complete":
		// Only what was seen downloading counts: the engine does not tell the size of what it has.
		if p == nil {
			return l.last, false
		}
		p.Done = p.Total
	default:
		return l.last, false
	}
	var sum Progress
	for _, p := range l.byID {
		sum.Done += p.Done
		sum.Total += p.Total
	}
	changed := sum != l.last
	l.last = sum
	return sum, changed
}

func stallReason(ref string, limit time.Duration) error {
	return reason.Fail(reason.New(reason.ImageTimeout, "image", ref, "limit", Spell(limit)), &Error{Kind: Timeout, What: "pull " + ref, Err: errStalled})
}
