package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// ending is a way for an isolate to be used and to end.
type ending struct {
	name    string
	scripts []string // one eval each; none to close the isolate unused
	input   string
	limits  func(l *spi.Limits) // nil for the usual ones
	stop    stop
	kind    spi.Kind // of the last eval; "" for a value
}

// stop is how an eval is ended from outside.
type stop int

const (
	stopNot      stop = iota
	stopKill          // Close while it runs
	stopCancel        // its context is cancelled
	stopDeadline      // its context has a deadline
)

// smallest is a cap at which nothing can grow, so that the isolate is used again
// after it was refused memory.
func smallest(image int64) func(*spi.Limits) {
	return func(l *spi.Limits) { l.MemoryBytes = image }
}

func fuel(units int64) func(*spi.Limits) { return func(l *spi.Limits) { l.Fuel = units } }

// endings are all ways that are known, on an image of this size.
func endings(image int64) []ending {
	const recurse = "const down = (n) => down(n + 1) + 1; down(0)"
	short := func(l *spi.Limits) { l.Timeout = 15 * time.Millisecond }
	large := strings.Repeat("0123456789abcdef", 4<<10)
	one := func(name, script string, kind spi.Kind, limits func(*spi.Limits)) ending {
		return ending{name: name, scripts: []string{script}, kind: kind, limits: limits}
	}
	return []ending{
		{name: "not used at all"},
		one("a value", "[1, 'two', { three: 3 }]", "", nil),
		one("a throw", "throw new TypeError('x')", spi.KindException, nil),
		one("no script", "let = ;", spi.KindSyntax, nil),
		one("a deadlock", "await new Promise(() => {})", spi.KindDeadlock, nil),
		one("not JSON", "({ a: 1n })", spi.KindUnserializable, nil),
		one("too large", "'x'.repeat(1e5)", spi.KindOutputTooLarge, func(l *spi.Limits) { l.OutputBytes = 100 }),
		one("much output", "'x'.repeat(1e6)", "", nil),
		one("many logs", "for (let i = 0; i < 5000; i++) console.log(i, { i }, [i]); 1", "", nil),
		one("built-ins replaced", "for (const c of [Array, String, Map, RegExp]) for (const k of Object.getOwnPropertyNames(c.prototype)) try { c.prototype[k] = () => 'mine' } catch {}; Promise.prototype.then = JSON.stringify = Math.random = Date.now = () => 4; globalThis.leak = 'leak'; 1", "", nil),
		one("no globals", "const g = globalThis; for (const k of Reflect.ownKeys(g)) delete g[k]; 1", "", nil),
		one("timers left", "setInterval(() => {}, 1); setTimeout(() => { for (;;) ; }, 5); Promise.reject(1); 1", "", nil),
		one("no time", "for (;;) ;", spi.KindTimeout, short),
		one("no time in a getter", "({ get a() { for (;;) ; } })", spi.KindTimeout, short),
		one("no time in an expression", "/(a+)+$/.test('a'.repeat(40) + 'b')", spi.KindTimeout, short),
		one("no time in jobs", "while (true) await 0", spi.KindTimeout, short),
		one("no fuel to parse", "1 + 1", spi.KindFuel, fuel(1)),
		one("no fuel in the first slice", "for (;;) ;", spi.KindFuel, fuel(9_999)),
		one("no fuel later", "for (let a = []; ; ) { a.push({}); if (a.length > 100) a.length = 0 }", spi.KindFuel, fuel(300_001)),
		one("no fuel while recursing", "(function f() { for (let i = 0; i < 100; i++) f() })()", spi.KindFuel, fuel(100_000)),
		one("recursion", recurse, spi.KindStackOverflow, nil),
		one("recursion, caught", "try { "+recurse+" } catch { 'caught' }", "", nil),
		one("recursion in the engine", "JSON.parse('['.repeat(1e5))", spi.KindStackOverflow, nil),
		one("recursion in the parser", "eval('('.repeat(1e5))", spi.KindStackOverflow, nil),
		one("4,000 calls", "(function f(n) { return n ? f(n - 1) + 1 : 0 })(4000)", "", nil),
		one("memory, grown", "const u = new Uint8Array(6 << 20).fill(1); u.length", "", nil),
		one("memory refused, grown", "const a = []; for (;;) a.push(new Uint8Array(1e5).fill(1))", spi.KindMemory, func(l *spi.Limits) { l.MemoryBytes = image + 2<<20 }),
		one("memory refused at once", "new Uint8Array(3e6)", spi.KindMemory, smallest(image)),
		one("memory refused, little by little", "const a = []; for (;;) a.push({ a: [1, 2, 3] })", spi.KindMemory, smallest(image)),
		one("memory full to the cap", `
			const a = [];
			for (let n = 1 << 20; n >= 16; n >>= 1) try { for (;;) a.push(new Uint8Array(n).fill(0xaa)) } catch {}
			for (;;) a.push([0xaaaa])`, spi.KindMemory, smallest(image)),
		one("much of the stack and little of the heap", "(function f(n, ...x) { return n ? f(n - 1, ...x) + x.length : 0 })(500, 1, 2, 3)", "", smallest(image)),
		{name: "much input", scripts: []string{"input.length"}, input: `["` + large + large + large + `"]`},
		{name: "input that just fits its place", scripts: []string{"input.length"}, input: `"` + large[:len(large)-3] + `"`},
		one("a long script", "/* "+large+large+" */ 1", "", nil),
		one("a long program", strings.Repeat("var x = { a: [1, 2, 3], b: 'text' };\n", 400)+"x", "", nil),
		{name: "several evals", scripts: []string{"globalThis.a = [1]; 1", "a.push(2); let b = 5; a", "await 0; throw a"}, kind: spi.KindException},
		{name: "several, the last one endless", scripts: []string{"var n = 1", "for (;;) n++"}, limits: short, kind: spi.KindTimeout},
		{name: "killed", scripts: []string{"for (;;) ;"}, stop: stopKill, kind: spi.KindKilled},
		{name: "killed deep down", scripts: []string{"(function f(n) { if (n) return f(n - 1) + 1; for (;;) ; })(1000)"}, stop: stopKill, kind: spi.KindKilled},
		{name: "killed while it writes", scripts: []string{"const u = new Uint8Array(1e5); for (;;) u.fill(Math.random() * 255)"}, stop: stopKill, kind: spi.KindKilled},
		{name: "cancelled", scripts: []string{"while (true) await 0"}, stop: stopCancel, kind: spi.KindCancelled},
		{name: "at its context's deadline", scripts: []string{"for (;;) { try { null.x } catch {} }"}, stop: stopDeadline, kind: spi.KindTimeout},
	}
}

// config is what all isolates of these tests are opened with.
func config(change func(*spi.Limits)) *spi.Config {
	cfg := &spi.Config{
		Limits: spi.Limits{Timeout: time.Minute, MemoryBytes: 64 << 20, OutputBytes: 2 << 20, LogBytes: 64 << 10},
		Now:    time.Unix(1_700_000_000, 0), Seed: 7,
	}
	if change != nil {
		change(&cfg.Limits)
	}
	return cfg
}

// used is what came of an ending.
type used struct {
	last     *spi.Outcome // nil where nothing ran
	evalErr  error
	closeErr error // of the Close that released the isolate
}

// run goes through an ending on a backend. An isolate that was killed before its
// eval began, as on a busy machine, shows nothing: another is.
func (e *ending) run(ctx context.Context, b spi.Backend) (*used, error) {
	for attempt := 1; ; attempt++ {
		u, err := e.runOnce(ctx, b)
		early := err == nil && e.stop == stopKill && errors.Is(u.evalErr, spi.ErrClosed) && u.closeErr == nil
		if !early || attempt == 20 {
			return u, err
		}
	}
}

func (e *ending) runOnce(ctx context.Context, b spi.Backend) (*used, error) {
	iso, err := b.Open(ctx, config(e.limits))
	if err != nil {
		return nil, err
	}
	const delay = 15 * time.Millisecond
	u := &used{}
	closed := make(chan error, 1)
	switch e.stop {
	case stopKill:
		defer time.AfterFunc(delay, func() { closed <- iso.Close() }).Stop()
	case stopCancel:
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(delay, cancel).Stop()
	case stopDeadline:
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, delay)
		defer cancel()
	}
	input := "null"
	if e.input != "" {
		input = e.input
	}
	for _, s := range e.scripts {
		u.last, u.evalErr = iso.Eval(ctx, &spi.Request{Source: s, Language: spi.JavaScript, Input: json.RawMessage(input)})
		if u.evalErr != nil || u.last.Error != nil {
			break
		}
	}
	if e.stop == stopKill {
		u.closeErr = <-closed
	} else {
		u.closeErr = iso.Close()
	}
	return u, nil
}

func kindOf(o *spi.Outcome) spi.Kind {
	if o == nil || o.Error == nil {
		return ""
	}
	return o.Error.Kind
}
