package hookhost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"rigup.dev/rigup/hooks/sdk"
)

// Options are how a Host works. The zero value does.
type Options struct {
	// Exe is the absolute path of the program that Args turn into a child; empty means this one. Args nil means ChildArg.
	Exe  string
	Args []string
	// Memory remembers responses; nil remembers none.
	Memory Memory
	// Limits are the numbers that hooks are held to.
	Limits Limits

	unchecked bool                   // tests: the module goes to the child as it is
	observe   func(*os.ProcessState) // tests: hears of children that are gone
}

// Host runs modules in child processes: one for each module, started when it is first asked and kept for further
// requests, so that the module is decoded once.
type Host struct {
	Options

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*session
	clock    int // orders the uses of sessions
	closed   context.Context
	close    func()
}

// session is one module, checked, and its child if there is one.
type session struct {
	turn    chan struct{} // holds one token; who has it works with the fields below
	module  Module
	checked bool
	err     *Failure // of the check
	child   *child
	used    int // guarded by the host
	observe func(*os.ProcessState)
}

// New returns a host. Nothing is started yet.
func New(o Options) *Host {
	o.Limits = o.Limits.withDefaults()
	if o.Args == nil {
		o.Args = []string{ChildArg}
	}
	h := &Host{Options: o, sessions: map[[sha256.Size]byte]*session{}}
	h.closed, h.close = context.WithCancel(context.Background())
	return h
}

var _ Runner = (*Host)(nil)

// Ask gives a request to a module.
func (h *Host) Ask(ctx context.Context, m Module, req sdk.Request) (Answer, error) {
	begin := time.Now()
	a, err := h.answer(ctx, m, req)
	a.Took = time.Since(begin)
	return a, err
}

func (h *Host) answer(ctx context.Context, m Module, req sdk.Request) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	request, err := json.Marshal(req)
	switch {
	case err != nil:
		return Answer{}, &Failure{Cause: Unable, Text: "was not asked: " + err.Error()}
	case len(request) > h.Limits.Request:
		return Answer{}, &Failure{Cause: Unable, Text: fmt.Sprintf("was not asked: the request has %d MiB", len(request)>>20)}
	}
	key := rememberedAs(m, request)
	if resp, ok := h.remembered(key, req); ok {
		return Answer{Response: resp, Remembered: true}, nil
	}
	out, log, err := h.run(ctx, m, request)
	if err != nil {
		return Answer{Log: log}, withLog(err, log)
	}
	resp, err := CheckResponse(req, out)
	if err != nil {
		return Answer{Log: log}, withLog(err, log)
	}
	if h.Memory != nil {
		h.Memory.Put(key, out)
	}
	return Answer{Response: resp, Log: log}, nil
}

func withLog(err error, log string) error {
	if f := (*Failure)(nil); errors.As(err, &f) {
		f.Log = log
	}
	return err
}

// rememberedAs is the name of a response: a hook is a pure function of its request.
func rememberedAs(m Module, request []byte) string {
	sum := sha256.Sum256(request)
	return hex.EncodeToString(m.Sum[:]) + hex.EncodeToString(sum[:])
}

// remembered is a response from memory. It passes the same checks as a new one.
func (h *Host) remembered(key string, req sdk.Request) (sdk.Response, bool) {
	if h.Memory == nil {
		return sdk.Response{}, false
	}
	b, ok := h.Memory.Get(key)
	if !ok {
		return sdk.Response{}, false
	}
	resp, err := CheckResponse(req, b)
	return resp, err == nil
}

// run gives a request to the child of a module.
func (h *Host) run(ctx context.Context, m Module, request []byte) (answer []byte, log string, err error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.closed, cancel)()
	s, err := h.take(within, m)
	if err != nil {
		return nil, "", h.instead(ctx, err)
	}
	defer func() { s.turn <- struct{}{} }()
	if s.err != nil {
		return nil, "", s.err.again()
	}
	if s.child == nil || !s.child.alive() {
		if f := h.begin(within, s); f != nil {
			return nil, "", h.instead(ctx, f)
		}
	}
	answer, raw, f := s.child.ask(within, m, request)
	log = plain(string(raw), h.Limits.Log)
	if f != nil {
		s.stop()
		return nil, log, h.instead(ctx, f)
	}
	return answer, log, nil
}

// instead is the error that counts: when the caller's context ended, or the host, then that is why a child did not
// answer.
func (h *Host) instead(ctx context.Context, err error) error {
	if end := ctx.Err(); end != nil {
		return end
	}
	if h.closed.Err() != nil {
		return &Failure{Cause: Unable, Text: "was not asked: the host of the hooks is closed"}
	}
	return err
}

// again is a copy, to which a log can be added.
func (f *Failure) again() *Failure {
	g := *f
	return &g
}

// begin starts the child of a session and gives it the module.
func (h *Host) begin(ctx context.Context, s *session) *Failure {
	s.stop()
	module := s.module.Bytes
	if !h.unchecked {
		b, err := bare(module)
		if err != nil {
			return &Failure{Cause: Refused, Text: err.Error()}
		}
		module = b
	}
	h.room(s)
	c, err := start(h.Exe, h.Args, h.Limits)
	if err != nil {
		return &Failure{Cause: Unable, Text: "was not asked: " + line(err.Error(), 300)}
	}
	s.child = c
	if f := c.load(ctx, module); f != nil {
		s.stop()
		return f
	}
	return nil
}

// stop ends the child of a session. The caller has its turn.
func (s *session) stop() {
	if s.child != nil {
		s.child.end()
		if s.observe != nil {
			s.observe(s.child.state)
		}
		s.child = nil
	}
}

// take waits for a module's turn, and checks it when it comes up for the first time.
func (h *Host) take(ctx context.Context, m Module) (*session, error) {
	h.mu.Lock()
	s := h.sessions[m.Sum]
	if s == nil {
		s = &session{turn: make(chan struct{}, 1), observe: h.observe}
		s.turn <- struct{}{}
		h.sessions[m.Sum] = s
	}
	h.clock++
	s.used = h.clock
	h.mu.Unlock()
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := cmp.Or(h.closed.Err(), ctx.Err(), s.check(m, h.unchecked)); err != nil {
		s.turn <- struct{}{}
		return nil, err
	}
	return s, nil
}

// check holds a module against its sum and, once, against the static check. The error says that these are not the
// bytes of this session, which says nothing about the session.
func (s *session) check(m Module, unchecked bool) error {
	if s.checked {
		return nil
	}
	if sha256.Sum256(m.Bytes) != m.Sum {
		return &Failure{Cause: Refused, Text: "is not the module that was approved: its bytes have another SHA-256"}
	}
	s.module, s.checked = m, true
	if _, err := Inspect(m.Bytes); err != nil && !unchecked {
		s.err = &Failure{Cause: Refused, Text: err.Error()}
	}
	return nil
}

// room ends the idle children that were not used for the longest time, if there are too many.
func (h *Host) room(but *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var idle []*session
	alive := 0
	for _, s := range h.sessions {
		if s == but {
			continue
		}
		select {
		case <-s.turn:
			idle = append(idle, s)
			if s.child != nil {
				alive++
			}
		default:
			alive++ // at work
		}
	}
	slices.SortFunc(idle, func(a, b *session) int { return cmp.Compare(a.used, b.used) })
	for _, s := range idle {
		if alive >= maxChildren && s.child != nil {
			s.stop()
			alive--
		}
		s.turn <- struct{}{}
	}
}

// Close ends every child, and with them the requests that are on. A host that is closed answers no more.
func (h *Host) Close() error {
	h.close()
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range all {
		<-s.turn
		s.stop()
		s.turn <- struct{}{}
	}
	return nil
}
