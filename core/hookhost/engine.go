package hookhost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

// engine is the interpreter with one decoded module. The interpreter and not the compiler: what it does takes time in
// proportion to the module, it can be stopped, and it runs where the system forbids to make code executable.
type engine struct {
	limits  Limits
	runtime wazero.Runtime
	code    wazero.CompiledModule
}

// outcome is what became of one request. Cause is empty when there is an answer.
type outcome struct {
	cause       Cause
	text        string
	answer, log []byte
}

func newEngine(ctx context.Context, module []byte, l Limits) (e *engine, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refuse("is not taken by the interpreter: %s", line(fmt.Sprint(p), 200))
		}
	}()
	e = &engine{limits: l, runtime: wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCloseOnContextDone(true).
		WithMemoryLimitPages(l.Pages).
		WithDebugInfoEnabled(false))}
	if err := e.offer(ctx); err != nil {
		return nil, err
	}
	if e.code, err = e.runtime.CompileModule(ctx, module); err != nil {
		return nil, refuse("is not taken by the interpreter: %s", line(firstLine(err.Error()), 200))
	}
	return e, nil
}

// offer makes WASI available. fd_renumber is refused at run time too: see offered.
func (e *engine) offer(ctx context.Context) error {
	const notSupported = 58 // ENOTSUP of WASI
	b := e.runtime.NewHostModuleBuilder(wasi)
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(b)
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) { stack[0] = notSupported }),
		[]api.ValueType{api.ValueTypeI32, api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}).Export("fd_renumber")
	_, err := b.Instantiate(ctx)
	return err
}

// run asks the module once, in a fresh instance.
func (e *engine) run(ctx context.Context, module [sha256.Size]byte, request []byte) (o outcome) {
	ctx, cancel := context.WithTimeout(ctx, e.limits.Run*time.Duration(e.limits.Stretch))
	defer cancel()
	defer afterWork(e.limits.Run, cancel)()
	out := &output{max: e.limits.Output, stop: cancel}
	log := &journal{output: output{max: e.limits.Log, stop: cancel}}
	w := newWorld(module, request)
	err := e.start(ctx, wazero.NewModuleConfig().
		WithName("").
		WithStdin(bytes.NewReader(request)).WithStdout(out).WithStderr(log).
		WithWalltime(w.walltime, tick).WithNanotime(w.nanotime, tick).WithNanosleep(w.sleep).WithOsyield(func() {}).
		WithRandSource(w.random))
	o.log = log.Bytes()
	var exit *sys.ExitError
	// The context and the writers decide what happened, not the exit code: a module can choose it, and two codes are
	// those that the interpreter itself uses for a context that ended.
	switch {
	case out.flooded:
		o.cause, o.text = Flooded, fmt.Sprintf("wrote more than %d KiB to its standard output", e.limits.Output>>10)
	case log.flooded:
		o.cause, o.text = Flooded, fmt.Sprintf("wrote more than %d KiB to its standard error", maxDropped>>10)
	case ctx.Err() != nil:
		o.cause, o.text = TimedOut, late(e.limits.Run)
	case errors.As(err, &exit) && exit.ExitCode() != 0:
		o.cause, o.text = Crashed, fmt.Sprintf("ended with exit code %d", exit.ExitCode())
	case err != nil:
		o.cause, o.text = crash(err)
	default:
		o.answer = out.Bytes()
	}
	return o
}

func (e *engine) start(ctx context.Context, c wazero.ModuleConfig) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("wasm error: %v", p)
		}
	}()
	instance, err := e.runtime.InstantiateModule(ctx, e.code, c)
	if instance != nil {
		_ = instance.Close(context.WithoutCancel(ctx)) // nothing of it is used any more
	}
	return err
}

// crash tells a module that failed while it ran from one that could not be started at all.
func crash(err error) (Cause, string) {
	text := firstLine(err.Error())
	if _, trap, ok := strings.Cut(text, "wasm error: "); ok {
		if trap == "stack overflow" {
			return Crashed, "called functions more than about 2000 deep"
		}
		return Crashed, "trapped: " + line(trap, 200)
	}
	if _, failed, ok := strings.Cut(text, "] failed: "); ok {
		return Crashed, "failed in the interpreter: " + line(failed, 200)
	}
	return Refused, "could not be started: " + line(text, 200)
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// late is the text of a hook that took too long.
func late(d time.Duration) string { return "did not end within " + seconds(d) }

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', 3, 64) + " s" }
