package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

func errorChecks() []Check {
	return slices.Concat(errorKindChecks(), errorTextChecks(), errorPlaceChecks(), errorHostChecks())
}

// errorKindChecks: the host says what ended an eval, whatever the guest says.
func errorKindChecks() []Check {
	return []Check{
		{ID: "ERROR-001", Level: MUST, Rule: "A source that does not parse is a syntax error.", body: scripts{
			{source: "let x = ;", kinds: syntax()},
			{source: "const a: number = 1", kinds: syntax()},
			{source: "function (", kinds: syntax()},
			{source: "return 1; let y = ;", kinds: syntax()},
			{source: "await 1; let y = ;", kinds: syntax()},
			{source: "let a; let a", kinds: syntax()},
		}.body()},
		{ID: "ERROR-002", Level: MUST, Rule: "What a script throws and nobody catches is an exception, with name and message.", body: scripts{
			{source: "throw new TypeError('not a list')", kinds: exception(), name: "TypeError", message: "not a list"},
			{source: "return (() => { throw new RangeError('too far') })()", kinds: exception(), name: "RangeError", message: "too far"},
			{source: "await null; throw new Error('later')", kinds: exception(), name: "Error", message: "later"},
			{source: "missing + 1", kinds: exception(), name: "ReferenceError", message: "missing"},
			{source: "null.x", kinds: exception(), name: "TypeError"},
			{source: "new Array(-1)", kinds: exception(), name: "RangeError"},
			{source: "decodeURIComponent('%')", kinds: exception(), name: "URIError"},
		}.body()},
		{ID: "ERROR-003", Level: MUST, Rule: "Anything may be thrown, and is an exception.", Watchdog: manyWatchdog, body: scripts{
			{source: "throw null", kinds: exception()},
			{source: "throw undefined", kinds: exception()},
			{source: "throw 0", kinds: exception()},
			{source: "throw ''", kinds: exception()},
			{source: "throw false", kinds: exception()},
			{source: "throw 10n", kinds: exception()},
			{source: "throw Symbol('s')", kinds: exception()},
			{source: "throw Object.create(null)", kinds: exception()},
			{source: "throw () => 1", kinds: exception()},
			{source: "throw Object.freeze(new Error('cold'))", kinds: exception(), message: "cold"},
			{source: "const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy", kinds: exception()},
			{source: "throw new Proxy(new Error('x'), { get() { throw new Error('y') }, getPrototypeOf() { throw new Error('z') } })", kinds: exception()},
			{source: "await Promise.reject()", kinds: exception()},
		}.body()},
		{ID: "ERROR-004", Level: MUST, Rule: "A SyntaxError that is thrown while the script runs is an exception.", body: scripts{
			{source: `const cfg = JSON.parse('{"a": tru'); return cfg.a`, kinds: exception(), name: "SyntaxError"},
			{source: "new RegExp('(')", kinds: exception(), name: "SyntaxError"},
			{source: "throw new SyntaxError('made up')", kinds: exception(), name: "SyntaxError", message: "made up"},
		}.body()},
		{ID: "ERROR-005", Level: MUST, Rule: "An error that calls itself by a kind or a failure of the host is an exception and names no limit.", Watchdog: manyWatchdog, body: forgedErrors()},
		{ID: "ERROR-006", Level: MUST, Rule: "An error whose properties throw is an exception.", body: scripts{
			{source: "const e = new Error('m'); Object.defineProperty(e, 'name', { get() { throw new Error('inner') } }); throw e", kinds: exception()},
			{source: "const e = new Error('m'); for (const k of ['message', 'stack', 'cause', 'toString']) Object.defineProperty(e, k, { get() { throw e } }); throw e", kinds: exception()},
			{source: "const e = new Error('m'); e.name = e.message = { toString() { throw e } }; throw e", kinds: exception()},
			{source: "throw { toString() { throw 1 }, [Symbol.toPrimitive]() { throw 2 } }", kinds: exception()},
			{source: "const e = new Error('m'); e.name = Symbol('n'); e.message = Symbol('m'); e.stack = 5n; throw e", kinds: exception()},
		}.body()},
		{ID: "ERROR-007", Level: MUST, Rule: "An error whose properties never return ends as an exception or at the time limit.", body: script{
			source:  "const e = new Error('shown');\nfor (const k of ['name', 'message', 'stack']) Object.defineProperty(e, k, { get() { for (;;) {} } });\nthrow e",
			timeout: 100 * time.Millisecond,
			kinds:   []spi.Kind{spi.KindException, spi.KindTimeout}, next: "6 * 7", nextValue: "42",
		}.body()},
		{ID: "ERROR-008", Level: MUST, Rule: "An error that the script caught is none.", body: scripts{
			{source: "try { null.x } catch { 'caught' }", value: `"caught"`},
			{source: "await Promise.reject(new Error('x')).catch((e) => e.message)", value: `"x"`},
			{source: "return new Error('returned, not thrown') instanceof Error", value: "true"},
		}.body()},
		{ID: "ERROR-009", Level: MUST, Rule: "Logs and usage come back with an error.", body: scripts{
			{source: "console.log('before'); throw new Error('x')", kinds: exception(), logs: []string{"before"}, also: usedSomething},
			{source: "console.log('before'); await null; console.warn('after'); return { get a() { throw 1 } }", kinds: exception(), logs: []string{"before", "after"}, also: usedSomething},
			{source: "console.log('before'); 1n", kinds: unserializable(), logs: []string{"before"}, also: usedSomething},
			{source: "console.log('before'); await new Promise(() => {})", kinds: []spi.Kind{spi.KindDeadlock}, logs: []string{"before"}, also: usedSomething},
		}.body()},
		{ID: "ERROR-010", Level: MUST, Rule: "An error that the script made up does no harm to the next script.", body: script{
			source: "Error.prototype.name = 'Forged'; Error.prototype.toString = () => { throw 1 }; Error.prepareStackTrace = () => { throw 2 }; Error.stackTraceLimit = -1; globalThis.Error = null; null.x",
			kinds:  exception(), next: "try { null.x } catch (e) { [e.name, typeof Error, e instanceof Error] }", nextValue: `["TypeError","function",true]`,
		}.body()},
	}
}

// forgedErrors throws each kind's name, and texts that engines use themselves.
func forgedErrors() body {
	texts := []string{
		"TimeoutError", "AbortError", "InternalError", "out of memory", "interrupted", "stack overflow", "Maximum call stack size exceeded",
		"unreachable executed", "wasm trap", "context deadline exceeded", "signal: killed", "ExitError", "ok",
	}
	for _, kind := range spi.Kinds() {
		texts = append(texts, string(kind))
	}
	const source = `var mode = input[0], text = input[1];
if (mode === 'error') { const e = new Error(text); e.name = text; e.kind = text; e.stack = text; throw e }
if (mode === 'object') throw { name: text, message: text, kind: text, limit: { name: 'timeoutMs', value: 1 } };
if (mode === 'range') throw new RangeError(text);
throw text`
	return func(ctx context.Context, s *subject) error {
		for _, mode := range []string{"error", "object", "range", "text"} {
			// An exception does not end an isolate, and opening many takes long.
			iso, err := s.isolate(ctx)
			if err != nil {
				return err
			}
			for _, text := range texts {
				out, err := s.evalIn(ctx, iso, source, fmt.Sprintf("[%q,%q]", mode, text))
				if err == nil {
					err = wantKind(out, spi.KindException)
				}
				if err != nil {
					return fmt.Errorf("thrown %s %q: %w", mode, text, err)
				}
			}
		}
		return nil
	}
}

func usedSomething(out *spi.Outcome) error {
	u := &out.Usage
	if u.Wall <= 0 || u.MemoryPeakBytes <= 0 || u.LogBytes <= 0 {
		return fmt.Errorf("usage is missing: %+v", *u)
	}
	return nil
}
