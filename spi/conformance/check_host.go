package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

func hostChecks() []Check {
	return slices.Concat(absentChecks(), hostRouteChecks(), clockChecks())
}

// absentChecks are what is not there, and how a script learns of it.
func absentChecks() []Check {
	absent := func(id string, level Level, rule string, names ...string) Check {
		return Check{ID: id, Level: level, Rule: rule, body: absentNames(names)}
	}
	return []Check{
		absent("HOST-001", MUST, "No global of a server runtime is there.",
			"process", "require", "module", "exports", "__dirname", "__filename", "Deno", "Bun"),
		absent("HOST-002", MUST, "No global that an engine's own shell or library adds is there.",
			"std", "os", "bjson", "scriptArgs", "load", "loadScript", "read", "readFile", "readline", "snarf", "quit", "exit", "version", "d8", "$262", "WScript", "java", "Java", "Packages"),
		absent("HOST-003", MUST, "No global that reaches the network or starts another thread is there.",
			"XMLHttpRequest", "WebSocket", "EventSource", "WebTransport", "RTCPeerConnection", "Worker", "SharedWorker", "importScripts"),
		absent("HOST-004", MUST, "No global that a page has is there.",
			"window", "document", "location", "localStorage", "indexedDB", "alert", "prompt", "open"),
		absent("HOST-005", SHOULD, "Shared memory and WebAssembly are not there.", "SharedArrayBuffer", "Atomics", "WebAssembly"),
		absent("HOST-006", SHOULD, "Neither print, gc, navigator nor fetch is there without a grant.", "print", "gc", "navigator", "fetch"),
		{ID: "HOST-007", Level: MUST, Rule: "The constructors of functions that a script can reach make code that sees no more than the script.", body: functionConstructors},
		{ID: "HOST-008", Level: MUST, Rule: "Errors that the engine throws lead to no object of the host.", body: script{
			source: `const lead = (o) => { const F = o.constructor.constructor; return [F === Function, F('return this')() === globalThis, F('return typeof process + typeof require')()].join() };
const caught = [];
for (const f of [() => null.x, () => undefinedName, () => JSON.parse('{'), () => new Array(-1), () => decodeURIComponent('%'), () => eval('let a = ;'), () => BigInt('x'), () => new Proxy({}, null)])
  try { f() } catch (e) { caught.push(e) }
try { await import('./none.js') } catch (e) { caught.push(e) }
[caught.length >= 9, caught.filter((e) => lead(e) !== 'true,true,undefinedundefined').map(String)]`,
			kinds: []spi.Kind{spi.KindDenied}, orValue: []string{"[true,[]]"},
		}.body()},
		{ID: "HOST-009", Level: MUST, Rule: "Importing a module while the script runs is refused, whatever its name.", body: script{
			source: `const loaded = [];
for (const name of ['qjs:std', 'qjs:os', 'qjs:bjson', 'std', 'os', 'bjson', 'fs', 'node:fs', 'node:process', 'bun', 'wasi', './x.js', '../../etc/passwd', '/etc/passwd', '/proc/self/environ',
  'file:///etc/passwd', 'data:text/javascript,export default 1', 'blob:x', 'http://127.0.0.1:1/x.js', 'https://example.invalid/x.js', 'script.js', '', '<input>'])
  try { await import(name); loaded.push(name) } catch {}
loaded`,
			kinds: []spi.Kind{spi.KindDenied, spi.KindSyntax}, orValue: []string{"[]"},
		}.body()},
		{ID: "HOST-010", Level: MUST, Rule: "A static import of a module is refused.", body: staticImports},
		{ID: "HOST-011", Level: MUST, Rule: "A missing capability is an error that the script can catch.", body: script{
			source: "const names = []; try { require('fs') } catch (e) { names.push(e instanceof Error) } try { process.exit(1) } catch (e) { names.push(e instanceof Error) } names",
			value:  "[true,true]",
		}.body()},
		{ID: "HOST-012", Level: MUST, Rule: "A missing capability that nobody catches is an exception or denied, and its name is told.", body: script{
			source: "const { readFileSync } = require('fs'); readFileSync('/etc/hostname', 'utf8')",
			kinds:  []spi.Kind{spi.KindException, spi.KindDenied}, message: "require",
		}.body()},
		{ID: "HOST-013", Level: MUST, Rule: "A fetch without a grant fails in a way that the script can catch, or is denied.", body: script{
			source: "let got; try { got = 'status ' + (await fetch('http://127.0.0.1:9/')).status } catch { got = 'blocked' } got",
			kinds:  []spi.Kind{spi.KindDenied}, orValue: []string{`"blocked"`},
		}.body()},
		{ID: "HOST-014", Level: MUST, Rule: "Error texts and stacks hold no path and no frame of the host.", body: hostPaths},
	}
}

func absentNames(names []string) body {
	return func(ctx context.Context, s *subject) error {
		input, err := json.Marshal(names)
		if err != nil {
			return err
		}
		out, err := s.eval(ctx, "input.filter((name) => name in globalThis || new Function('return typeof ' + name)() !== 'undefined')", string(input))
		if err != nil {
			return err
		}
		return wantValue(out, "[]")
	}
}

// functionConstructors walks all that can be reached, and tries what stands as
// a constructor's constructor.
func functionConstructors(ctx context.Context, s *subject) error {
	c := script{
		source: `const seen = new Set(), queue = [globalThis, () => {}, async () => {}, function* () {}, async function* () {}, [].values(), /x/, new Error('x'), console];
const makers = new Set(), foreign = [];
for (const o of queue) {
  if (seen.has(o)) continue;
  seen.add(o);
  if (typeof o === 'function' && o !== Function.prototype && !(o instanceof Function)) foreign.push(String(o));
  let proto = Object.getPrototypeOf(o);
  if (proto !== null) queue.push(proto);
  for (const key of Reflect.ownKeys(o)) {
    const d = Object.getOwnPropertyDescriptor(o, key);
    for (const v of [d.value, d.get, d.set]) if ((typeof v === 'object' && v !== null) || typeof v === 'function') queue.push(v);
    if (key === 'constructor' && typeof d.value === 'function') makers.add(d.value.constructor);
  }
  if (typeof o === 'function') makers.add(o.constructor);
}
for (const make of makers) {
  if (typeof make !== 'function') continue;
  let made;
  try { made = make("return [typeof process, typeof require, typeof Deno, typeof std, typeof os, this === undefined || this === globalThis].join()") } catch { continue }
  if (typeof made !== 'function') continue;
  let got = made();
  if (got && typeof got.next === 'function') got = (await got.next()).value;
  got = await got;
  if (got !== 'undefined,undefined,undefined,undefined,undefined,true') foreign.push(String(got));
}
[makers.size >= 4, foreign]`,
		value: "[true,[]]",
	}
	return c.run(ctx, s)
}

func staticImports(ctx context.Context, s *subject) error {
	for _, source := range []string{
		"import fs from 'node:fs'; fs.readFileSync('/etc/hostname', 'utf8')",
		"import * as std from 'qjs:std'; std.getenv('PATH')",
		"import * as os from 'os'; os.platform",
		"import './x.js'; 1",
	} {
		out, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		if err := wantKind(out, spi.KindSyntax, spi.KindDenied, spi.KindException); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return nil
}

// hostTracePattern is what only a host writes: its paths, the places in its code,
// and how WebAssembly engines and Go begin to tell of a trap or a panic.
const hostTracePattern = `/(?:root|home|usr|tmp|var|opt|etc|proc|mnt|Users|private)/|\b[A-Z]:\\|\.go:\d|\.c:\d|\.rs:\d|node:internal|` +
	`wasm-function|wasm://|wasm (?:stack trace|backtrace|trap|error)|goroutine \d+|\bpanic:`

// hostPaths looks for what tells where the host runs.
func hostPaths(ctx context.Context, s *subject) error {
	telling := regexp.MustCompile(hostTracePattern)
	var places []string // of this program
	if dir, err := os.Getwd(); err == nil && len(dir) > 3 {
		places = append(places, dir)
	}
	if program, err := os.Executable(); err == nil {
		places = append(places, program, filepath.Dir(program))
	}
	for _, source := range []string{
		"throw new Error('probe')",
		"null.x",
		"JSON.parse('{')",
		"[1].map(() => { undefinedName() })",
		"let a = ;",
		"new Function('throw new Error(1)')()",
		"await Promise.reject(new TypeError('probe'))",
		"import('./none.js')",
		"(function f() { f() })()",
		"({ toJSON() { throw new Error('probe') } })",
		"const e = new Error('outer', { cause: new Error('inner') }); console.log(e, e.stack, e.cause.stack, String(() => {}), String(console.log)); throw e",
	} {
		out, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		texts := append(logTexts(out), string(out.Value))
		if e := out.Error; e != nil {
			texts = append(texts, e.Name, e.Message, e.Stack)
		}
		all := strings.Join(texts, "\n")
		found := telling.FindString(all)
		for _, place := range places {
			if strings.Contains(all, place) {
				found = place
			}
		}
		if found != "" {
			return fmt.Errorf("%s: its texts hold %q: %q", source, found, clip(all))
		}
	}
	return nil
}
