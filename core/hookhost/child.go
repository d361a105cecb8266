package hookhost

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// ChildArg is the one argument of the program that makes it a child. A program that uses Host has to call Child, and
// nothing else, when it is started with it.
const ChildArg = "__hook"

// Exit codes of a child. It ends itself with the first two when it is too large or too late: the parent would end it
// too, but the parent may be gone.
const (
	exitMemory = 81
	exitLate   = 82
	exitBroken = 83 // it cannot work, and said why on its standard error
)

// grace is how much longer than the parent the child waits before it ends itself.
const grace = time.Second

// Child is the other end of a Host: it takes one module and answers requests to it until in ends. It first gives up
// everything that it does not need of the process it runs in, so it is of no use for anything else afterwards. The
// result is the exit code.
func Child(ctx context.Context, in io.Reader, out io.Writer) int {
	debug.SetTraceback("none")
	runtime.GOMAXPROCS(2)
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	l := Limits{}.withDefaults()
	kind, setup, err := readFrame(r, l.fromParent)
	if err == nil && kind != frameSetup {
		err = errors.New("read the setup: this is something else")
	}
	if err == nil {
		err = json.Unmarshal(setup, &l)
	}
	if err == nil {
		l = l.withDefaults()
		watch(l.Process)
		err = lower(l)
	}
	if err == nil {
		err = serve(ctx, l, r, w)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		return exitBroken
	}
	return 0
}

// watch ends the process when it has more memory than it may. Where the system has a limit too, that one is the
// harder of the two.
//
// Decoding makes a lot that stays: until half of the memory is in use, collecting garbage less often saves a fifth of
// the time.
func watch(most uint64) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(int64(most / 2))
	look := time.NewTicker(10 * time.Millisecond)
	go func() {
		for range look.C {
			if inUse() > most {
				os.Exit(exitMemory)
			}
		}
	}()
}

// inUse is how many bytes the process has from the system.
func inUse() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// serve speaks with the parent. The error is io.EOF when the parent has no more requests.
func serve(ctx context.Context, l Limits, r *bufio.Reader, w *bufio.Writer) error {
	send := func(kind byte, parts ...[]byte) error {
		if err := writeFrame(w, kind, parts...); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := send(frameHello); err != nil {
		return err
	}
	kind, module, err := readFrame(r, l.fromParent)
	if err != nil {
		return err
	}
	if kind != frameModule {
		return errors.New("read the module: this is something else")
	}
	stop := endAfter(l.decode(len(module)) + grace)
	e, err := newEngine(ctx, module, l)
	stop()
	if err != nil {
		return send(frameFailure, []byte(Refused), []byte("\n"), []byte(err.Error()))
	}
	if err := send(frameDecoded); err != nil {
		return err
	}
	for {
		kind, request, err := readFrame(r, l.fromParent)
		if err != nil {
			return err
		}
		if kind != frameRequest || len(request) < sha256.Size {
			return errors.New("read a request: this is something else")
		}
		stop, stopWork := endAfter(l.Kill*time.Duration(l.Stretch)+grace), afterWork(l.Kill, func() { os.Exit(exitLate) })
		o := e.run(ctx, [sha256.Size]byte(request), request[sha256.Size:])
		stop()
		stopWork()
		if err := reply(send, o); err != nil {
			return err
		}
		// What the last instance had is garbage, up to three times its memory; the next one must not be the one to
		// find no room.
		if inUse() > l.Process/4 {
			debug.FreeOSMemory()
		}
	}
}

func reply(send func(byte, ...[]byte) error, o outcome) error {
	if err := send(frameLog, o.log); err != nil {
		return err
	}
	if o.cause != "" {
		return send(frameFailure, []byte(o.cause), []byte("\n"), []byte(strings.ToValidUTF8(o.text, "")))
	}
	return send(frameAnswer, o.answer)
}

// endAfter ends the process unless stop is called in time.
func endAfter(d time.Duration) (stop func()) {
	t := time.AfterFunc(d, func() { os.Exit(exitLate) })
	return func() { t.Stop() }
}

// afterWork calls end when the process has worked for so long, unless stop is called before. A process that has to
// wait for others does not work. On several processors at once it works faster than time passes, which is not held
// against it.
func afterWork(d time.Duration, end func()) (stop func()) {
	done, begin := make(chan struct{}), worked()
	go func() {
		for left := d; left > 0; left = d - (worked() - begin) {
			select {
			case <-done:
				return
			case <-time.After(max(left, time.Millisecond)):
			}
		}
		end()
	}()
	return func() { close(done) }
}
