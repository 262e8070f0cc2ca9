package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/wasmtime"
	"github.com/loom-sandbox/sandboxd/backends/wazero"
	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// mover is what the backends of both engines are.
type mover interface {
	spi.Backend
	spi.Resumer
}

// waitingScripts make calls, in all the ways of waiting that there are.
func waitingScripts() map[string]string {
	return map[string]string{
		"one":                "await tools.echo(1)",
		"one after another":  "let s = 0; for (let i = 0; i < 8; i++) s += (await tools.echo(i))[0]; s",
		"at once":            "(await Promise.all([1, 2, 3, 4].map((n) => tools.deep.er.echo(n)))).flat()",
		"the first":          "await Promise.race([tools.echo('a'), tools.echo('b')])",
		"returned":           "return tools.echo('thenable').then((v) => [v, input])",
		"a function's":       "return await (async () => { const a = await tools.echo(1); return [a, await tools.echo(a)] })()",
		"not awaited":        "const p = tools.echo('x'); p",
		"caught":             "const out = []; for (const n of ['fail', 'deny', 'type']) try { await tools.echo(n) } catch (e) { out.push([e.name, e.message, e instanceof Error]) } out",
		"uncaught failure":   "\n  await tools.echo('fail')",
		"uncaught denial":    "console.log('before'); await tools.echo(1); await tools.echo('deny')",
		"generators":         "async function* g() { for (let i = 0; i < 3; i++) yield await tools.echo(i) } const out = []; for await (const v of g()) out.push(v); out",
		"classes and state":  "class A { #n = 1; async bump() { this.#n += (await tools.echo(2))[0]; return this.#n } } const a = new A(); await a.bump(); await a.bump()",
		"random and clock":   "const o = []; for (let i = 0; i < 3; i++) { o.push(Math.random(), crypto.randomUUID(), Date.now() > 0, performance.now()); await tools.echo(i) } o.push(Date.now()); o",
		"timers":             "const o = []; setTimeout(() => o.push('early'), 1); setInterval(() => o.push('tick'), 40); o.push(await tools.echo(1)); await new Promise((r) => setTimeout(r, 100)); o.push(await tools.echo(2), performance.now() >= 100); o",
		"logs":               "console.log('one'); await tools.echo(1); console.warn('two', { a: [1] }); await tools.echo(2); console.error('three'); 3",
		"much memory":        "const big = Array.from({ length: 40000 }, (_, i) => ({ i, s: 'x'.repeat(i % 50) })); await tools.echo(1); const sum = big.reduce((a, o) => a + o.i + o.s.length, 0); await tools.echo(2); [sum, big.length]",
		"buffers":            "const b = new Uint8Array(3 << 20).map((_, i) => i); const before = b.reduce((a, x) => (a * 31 + x) >>> 0, 7); await tools.echo(1); [before === b.reduce((a, x) => (a * 31 + x) >>> 0, 7), b.length]",
		"deep stacks":        "const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1)); const a = deep(3000); await tools.echo(1); [a, deep(3000)]",
		"regular expression": "const r = /(a+)(b)?/g; const s = 'aab aaab'; const first = r.exec(s)[0]; await tools.echo(1); [first, r.exec(s)[0], r.lastIndex]",
		"maps, symbols":      "const k = Symbol('k'); const m = new Map([[k, 1], ['x', new Set([1, 2])]]); const w = new WeakMap([[m, 'w']]); await tools.echo(1); [m.get(k), [...m.get('x')], w.get(m), Symbol.for('q') === Symbol.for('q')]",
		"caught memory":      "let refused = false; try { new ArrayBuffer(1 << 30) } catch { refused = true } await tools.echo(1); refused",
		"proxies":            "const p = new Proxy({}, { get: (_, k) => k + '!' }); await tools.echo(1); [p.a, await tools.echo(p.b)]",
		"serialised late":    "const v = { toJSON() { return 'late' } }; await tools.echo(1); v",
		"error after a wait": "await tools.echo(1);\nnull.x",
		"deadlock":           "await tools.echo(1); await new Promise(() => {})",
		"no JSON":            "await tools.echo(1); ({ a: { b: 1n } })",
		"ends by itself":     "tools.echo('nobody waits'); 'done'",
		"absent":             "try { await tools.nothing.like.it(1) } catch (e) { e.message }",
		"long answers":       "(await tools.echo('long'))[0].length",
		"events":             "emit('a', { x: 1 }); await tools.echo(1); emit('b'); 'emitted'",
	}
}

// replyTo is the same each time.
func replyTo(c spi.HostCall) spi.Reply {
	r := spi.Reply{ID: c.ID}
	switch args := string(c.Args); {
	case c.Function != "tools.echo" && c.Function != "tools.deep.er.echo":
		r.Error = &spi.CallError{Name: "DeniedError", Message: c.Function + " is not granted", Denied: true}
	case args == `["fail"]`:
		r.Error = &spi.CallError{Message: "it failed"}
	case args == `["deny"]`:
		r.Error = &spi.CallError{Name: "DeniedError", Message: "it is denied", Denied: true}
	case args == `["type"]`:
		r.Error = &spi.CallError{Name: "TypeError", Message: "it is of the wrong type"}
	case args == `["long"]`:
		r.Value = json.RawMessage(`["` + strings.Repeat("x", 200_000) + `"]`)
	default:
		r.Value = c.Args
	}
	return r
}

func waitingConfig() *spi.Config {
	return &spi.Config{
		Limits: spi.Limits{
			Timeout: time.Minute, MemoryBytes: 64 << 20, Fuel: 1 << 40, OutputBytes: 1 << 20, LogBytes: 64 << 10, HostCalls: 100, CallBytes: 1 << 20,
		},
		Now: time.Date(2031, 3, 14, 15, 9, 26, 0, time.UTC), Seed: 42,
	}
}

// ending is what a script came to, and the parts that it took.
type ending struct {
	Value, ValueType, Error string
	Logs                    []spi.LogLine
	Pending                 []spi.HostCall
	Usage                   spi.Usage
	Heap                    [32]byte
	Parts                   int
}

// runTo runs a script to its end. At each wait, move may put the isolate away and
// give another one.
func runTo(t *testing.T, b spi.Backend, source string, move func(part int, iso spi.Isolate) spi.Isolate) *ending {
	t.Helper()
	ctx := context.Background()
	iso, err := b.Open(ctx, waitingConfig())
	require.NoError(t, err)
	defer func() { require.NoError(t, iso.Close()) }()
	out, err := iso.Eval(ctx, &spi.Request{
		Source: source, Language: spi.JavaScript, Input: json.RawMessage(`{"in":[1]}`), Functions: []string{"tools.echo", "tools.deep.er.echo", "emit"},
	})
	require.NoError(t, err)
	parts := 1
	for ; out.Waits(); parts++ {
		var replies []spi.Reply
		for _, c := range out.Pending {
			replies = append(replies, replyTo(c))
		}
		iso = move(parts, iso)
		out, err = iso.(spi.Caller).Continue(ctx, replies)
		require.NoError(t, err)
	}
	e := &ending{Value: string(out.Value), ValueType: string(out.ValueType), Logs: out.Logs, Pending: out.Pending, Usage: out.Usage, Parts: parts}
	e.Usage.Wall = 0
	if out.Error != nil {
		e.Error = fmt.Sprintf("%+v", *out.Error)
	}
	if hasher, ok := iso.(heapHasher); ok {
		e.Heap, err = hasher.HeapSHA256()
		require.NoError(t, err)
	}
	return e
}

// TestAScriptThatIsPutAwayEndsAsOneThatIsNot puts isolates away at every wait and
// resumes them on another engine and another backend, with the same value, logs,
// error, fuel and peak of memory in the end.
func TestAScriptThatIsPutAwayEndsAsOneThatIsNot(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	open := func(engine string) mover {
		return pooled{IdleIsolates: 3, CheckRestored: true}.open(t, engine).(mover)
	}
	home, away := open(wazero.Name), open(wazero.Name)
	abroad := away
	if wasmtime.Unavailable() == "" {
		abroad = open(wasmtime.Name)
	}
	routes := map[string][]mover{"there and back": {abroad, home}, "elsewhere": {away, abroad, abroad}}
	parts := 0
	for name, source := range waitingScripts() {
		stays := runTo(t, home, source, func(_ int, iso spi.Isolate) spi.Isolate { return iso })
		abroadStays := runTo(t, abroad, source, func(_ int, iso spi.Isolate) spi.Isolate { return iso })
		require.Equal(t, stays, abroadStays, "%s: both engines", name)
		for route, backends := range routes {
			moved := runTo(t, home, source, func(part int, iso spi.Isolate) spi.Isolate {
				state, err := iso.(spi.Suspender).Suspend(ctx, 64<<20)
				require.NoError(t, err, name)
				again, err := iso.(spi.Suspender).Suspend(ctx, 64<<20)
				require.NoError(t, err)
				require.Equal(t, state, again, "%s: suspending changes nothing", name)
				require.NoError(t, iso.Close())
				next, err := backends[part%len(backends)].Resume(ctx, &spi.Resumption{State: state, Limits: waitingConfig().Limits})
				require.NoError(t, err, name)
				return next
			})
			// Below the stack pointer the stack is dead, and not put away.
			moved.Heap = stays.Heap
			assert.Equal(t, stays, moved, "%s, %s", name, route)
		}
		parts += stays.Parts - 1
	}
	assert.Greater(t, parts, 40, "waits")
}

// TestAStateIsResumedAnyNumberOfTimes: each time it is the same.
func TestAStateIsResumedAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 3, CheckRestored: true}.open(t, engine).(mover)
		ctx := context.Background()
		iso, err := b.Open(ctx, waitingConfig())
		require.NoError(t, err)
		out, err := iso.Eval(ctx, &spi.Request{
			Source: "const a = Math.random(); const b = await tools.echo(a); [a, b, Math.random(), crypto.randomUUID(), Date.now()]", Language: spi.JavaScript,
			Input: json.RawMessage("null"), Functions: []string{"tools.echo"},
		})
		require.NoError(t, err)
		require.True(t, out.Waits())
		state, err := iso.(spi.Suspender).Suspend(ctx, 1<<20)
		require.NoError(t, err)
		var values []string
		for range 3 {
			next, err := b.Resume(ctx, &spi.Resumption{State: state, Limits: waitingConfig().Limits})
			require.NoError(t, err)
			out, err := next.(spi.Caller).Continue(ctx, []spi.Reply{{ID: 1, Value: json.RawMessage(`"r"`)}})
			require.NoError(t, err)
			values = append(values, string(out.Value))
			require.NoError(t, next.Close())
		}
		out, err = iso.(spi.Caller).Continue(ctx, []spi.Reply{{ID: 1, Value: json.RawMessage(`"r"`)}})
		require.NoError(t, err)
		assert.Equal(t, []string{string(out.Value), string(out.Value), string(out.Value)}, values, "also the one that was put away goes on")
		require.NoError(t, iso.Close())
	})
}

// TestAnIsolateIsPutAwayBetweenEvals: what scripts have left is there again, and
// may be declared again.
func TestAnIsolateIsPutAwayBetweenEvals(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{IdleIsolates: 3, CheckRestored: true}.open(t, engine).(mover)
		ctx := context.Background()
		iso, err := b.Open(ctx, waitingConfig())
		require.NoError(t, err)
		for _, step := range []struct{ source, want string }{
			{"let x = 1; const c = { n: 2 }; class K { m() { return x } } function f() { return [x, c.n] } var v = 4; globalThis.g = 5; f()", "[1,2]"},
			{"x += 1; f()", "[2,2]"},
			{"let x = 10; const c = { n: 20 }; f()", "[10,20]"},
			{"class K { m() { return 'new' } } new K().m()", `"new"`},
			{"function f() { return 'f' } f() + v + g", `"f45"`},
			{"const gen = (function* () { yield 1; yield 2 })(); gen.next().value", "1"},
			{"gen.next().value", "2"},
			{"const later = new Promise((r) => setTimeout(() => r('fired'), 50)); 0", "0"},
			{"await later", `"fired"`},
			{"const r = await (async () => 7)(); r", "7"},
			{"const r = await (async () => 8)(); [r, typeof K, Object.keys(input)]", `[8,"function",[]]`},
			{"let undefinedYet; typeof undefinedYet", `"undefined"`},
			{"const m = new Map([['a', 1]]); m.set('b', x); [...m]", `[["a",1],["b",10]]`},
			{"m.get('b')", "10"},
		} {
			out, err := iso.Eval(ctx, &spi.Request{Source: step.source, Language: spi.JavaScript, Input: json.RawMessage("{}")})
			require.NoError(t, err)
			require.Nil(t, out.Error, "%s: %+v", step.source, out.Error)
			require.JSONEq(t, step.want, string(out.Value), step.source)
			state, err := iso.(spi.Suspender).Suspend(ctx, 4<<20)
			require.NoError(t, err)
			require.NoError(t, iso.Close())
			iso, err = b.Resume(ctx, &spi.Resumption{State: state, Limits: waitingConfig().Limits})
			require.NoError(t, err)
		}
		require.NoError(t, iso.Close())
	})
}

// TestResultsOfEarlierEvalsAreNotKept: an isolate that is used for long does not
// fill up with what nobody can reach.
func TestResultsOfEarlierEvalsAreNotKept(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, engine string) {
		b := pooled{}.open(t, engine)
		ctx := context.Background()
		iso, err := b.Open(ctx, waitingConfig())
		require.NoError(t, err)
		defer func() { require.NoError(t, iso.Close()) }()
		for i := range 300 { // a megabyte each, of 64
			source := []string{"new Array(1 << 17).fill(0)", "await new Array(1 << 17).fill(1)", "return new Array(1 << 17).fill(2)", "Promise.resolve(new Array(1 << 17).fill(3))"}[i%4]
			out, err := iso.Eval(ctx, &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage("null")})
			require.NoError(t, err)
			require.Nil(t, out.Error, "eval %d: %+v", i, out.Error)
		}
	})
}

// TestAStateDoesNotGrowFromEvalToEval: what no script can reach is not put away,
// whatever it was: results, calls, errors, the parser's leavings.
func TestAStateDoesNotGrowFromEvalToEval(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, nil)
	set := toolbox(t)
	for _, script := range []string{
		"await tools.echo({ a: [1, 2, 3] })", "return 1", "({ a: [1, 2, 3].map((n) => ({ n })) })",
		"try { null.x } catch (e) { e.stack }", "try { await tools.fails() } catch (e) { e.message }", "const c = Math.random(); c", "setTimeout(() => {}, 5); 1",
	} {
		session, err := sb.NewSession(t.Context(), sandbox.SessionOptions{})
		require.NoError(t, err)
		size := func() int {
			saved, err := session.Save()
			require.NoError(t, err)
			return len(saved)
		}
		early := 0
		for i := range 200 {
			res, err := session.Eval(t.Context(), sandbox.Request{Script: script, Tools: set})
			require.NoError(t, err)
			require.Nil(t, res.Error, "%+v", res.Error)
			if i == 40 {
				early = size()
			}
		}
		if late := size(); !strings.HasPrefix(script, "setTimeout") { // that one leaves timers
			assert.Less(t, late, early+early/2, script)
		} else {
			assert.Greater(t, late, early, "what can be reached is kept")
		}
		require.NoError(t, session.Close())
	}
}
