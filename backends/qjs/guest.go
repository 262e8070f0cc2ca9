package qjs

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"

	lib "github.com/fastschema/qjs"

	"github.com/loom-sandbox/sandboxd/spi"
)

//go:embed prelude.js
var prelude string

// guest is one runtime of the library with our prelude in it. One goroutine at a
// time, except stop and memory.
type guest struct {
	runtime *lib.Runtime
	memory  *memory
	stop    context.CancelFunc // ends what runs, for good
	script  *lib.Value         // the prelude's function that runs a script
	sink    *sink              // of the eval that runs

	undefined, full uint64 // what emit answers, as the engine writes it
}

// startGuest opens a runtime. Errors are ctx's or wrap [ErrLibrary].
func startGuest(ctx context.Context, memoryBytes int64) (*guest, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	own, stop := context.WithCancel(context.Background())
	g := &guest{memory: &memory{capBytes: uint64(memoryBytes)}, stop: stop, sink: &sink{over: true}}
	unwatch := context.AfterFunc(ctx, stop)
	err := guarded(func() error { return g.start(own, os.DevNull) })
	if !unwatch() || err != nil {
		g.close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return g, nil
}

// start gives the guest a root, since the library insists on one. It is to be
// something that is no directory: wazero then refuses every path.
func (g *guest) start(ctx context.Context, root string) (err error) {
	g.runtime, err = lib.New(lib.Option{
		CWD:                root,
		Context:            g.memory.givenTo(ctx),
		CloseOnContextDone: true,
		ProxyFunction:      g.emit,
		Stdout:             io.Discard,
		Stderr:             io.Discard,
	})
	if err != nil {
		return err
	}
	c := g.runtime.Context()
	g.undefined, g.full = c.NewUndefined().Raw(), c.NewBool(true).Raw()
	// What this function does is never asked: ours is the only one that the
	// library calls, see ProxyFunction.
	host := c.Function(func(*lib.This) (*lib.Value, error) { return nil, nil })
	setUp, err := g.runtime.Eval("prelude", lib.Code(prelude))
	if err != nil {
		return err
	}
	g.script, err = c.Invoke(setUp, c.NewUndefined(), host)
	return err
}

// errThrew is that the engine let an error of the script's through: one thrown
// in a job, which nobody awaits.
type errThrew struct{ text string }

func (e errThrew) Error() string { return "qjs: script threw in a job" }

// eval runs a script until nothing is left to do; what comes of it is in the sink.
// An error other than [errThrew] means that the guest must not run again.
func (g *guest) eval(s *sink, req *spi.Request) error {
	g.sink = s
	return guarded(func() error {
		// As JSON, since the library's strings end at a zero byte.
		text, err := json.Marshal(req.Source)
		if err != nil {
			return err
		}
		source, err := g.parse(string(text))
		if err != nil {
			return err
		}
		input, err := g.parse(string(req.Input))
		if err != nil {
			return err
		}
		c := g.runtime.Context()
		promise, err := c.Invoke(g.script, c.NewUndefined(), source, input, c.NewFloat64(float64(s.limits.LogBytes)))
		if err != nil {
			return err
		}
		for _, v := range []*lib.Value{source, input, promise} {
			v.Free()
		}
		if _, err := g.runtime.Eval("jobs", lib.Code("0")); err != nil {
			return errThrew{err.Error()}
		}
		return nil
	})
}

// parse makes a value of the guest's from JSON text. (The library's ParseJSON
// does not give the text back.)
func (g *guest) parse(text string) (*lib.Value, error) {
	c := g.runtime.Context()
	h := g.runtime.NewStringHandle(text)
	defer h.Free()
	if g.memory.refused.Load() { // the library does not ask whether it got room for the text
		return nil, ErrLibrary
	}
	v := c.Call("QJS_ParseJSON", c.Raw(), h.Raw())
	if c.HasException() {
		return nil, ErrLibrary
	}
	return v, nil
}

// emit is what the engine calls for every function of the host's, in place of
// the library's own, which gives a script Go stacks when it is called in an
// unforeseen way. Arguments are 8 bytes each, ours after the library's four. It
// answers true where the guest need not log any more.
func (g *guest) emit(_ context.Context, _ uint32, _ uint64, argc, argv uint32) uint64 {
	answer := g.undefined
	_ = guarded(func() error {
		if argc < 5 {
			return nil
		}
		arg, err := g.runtime.Mem().Read(argv+4*8, 8)
		if err != nil {
			return err
		}
		text, free, err := g.text(binary.LittleEndian.Uint64(arg))
		if err != nil {
			return err
		}
		defer free()
		op, payload, ok := bytes.Cut(text, []byte(" "))
		if ok && g.sink.take(string(op[:min(len(op), 32)]), payload) {
			answer = g.full
		}
		return nil
	})
	return answer
}

// text is a string of the guest's, to be freed, empty where it is none. (The
// library's Value.String never frees the copy that it reads.)
func (g *guest) text(raw uint64) (text []byte, free func(), err error) {
	r, c := g.runtime, g.runtime.Context()
	if !c.NewValue(lib.NewHandle(r, raw)).IsString() {
		return nil, func() {}, nil
	}
	packed := r.Call("QJS_ToCString", c.Raw(), raw)
	defer packed.Free()
	at, size := r.Mem().UnpackPtr(packed.Raw())
	text, err = r.Mem().Read(at, uint64(size))
	return text, func() { r.Call("JS_FreeCString", c.Raw(), uint64(at)) }, err
}

// alive reports whether the guest still answers.
func (g *guest) alive() bool {
	return guarded(func() error { g.runtime.Context().HasException(); return nil }) == nil
}

// close releases the runtime. The guest is stopped before, so that none of it
// runs when the library wants to tidy up in it; that it cannot is no loss. The
// library keeps the function that it was given for ever, and with it whatever
// can be reached from here.
func (g *guest) close() {
	g.stop()
	_ = guarded(func() error { g.runtime.Close(); return nil })
	g.runtime, g.script, g.sink = nil, nil, nil
}

// guarded calls the library. It panics where it could return an error; neither
// those texts nor those of its errors may be shown.
func guarded(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = ErrLibrary
		}
	}()
	err = call()
	var threw errThrew
	if err != nil && !errors.As(err, &threw) {
		return ErrLibrary
	}
	return err
}
