package conformance

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// routesSource collects every object through which scripts of the known engines
// reach their host: globals, modules and what constructors lead to. attempt tries
// one way and logs what it gave, at once: a way may hang or end the script.
const routesSource = `
const found = [], objects = new Map();
const note = (name, v) => { if ((typeof v === 'object' && v !== null) || typeof v === 'function') if (!objects.has(v)) objects.set(v, name) };
const show = (v) => { try { return typeof v === 'string' ? v : v instanceof Uint8Array || v instanceof ArrayBuffer
  ? String.fromCharCode(...new Uint8Array(v).slice(0, 4096)) : JSON.stringify(v) ?? String(v) } catch { return '' } };
const attempt = async (name, f) => {
  try {
    let v = await f();
    for (const k of ['text', 'readAsString', 'toString']) if (v !== null && typeof v === 'object' && !Array.isArray(v) && typeof v[k] === 'function' &&
      v[k] !== Object.prototype.toString) { v = await v[k](); break }
    if (v !== undefined && v !== null && v !== false && v !== -1) { found.push(name + ': ' + show(v)); console.log(name, show(v)) }
  } catch (e) {}
};
const globalNames = ['process', 'Deno', 'Bun', 'std', 'os', 'bjson', 'fs', 'module', 'java', 'Java', 'Packages', 'WScript', 'imports', 'sys', '$262', 'vm',
  'native', 'host', 'go', 'global', 'self', 'window', 'parent', 'top', 'navigator', 'performance', 'console', 'd8', 'Realm', 'qjs', 'exports'];
for (const name of globalNames) { try { note(name, globalThis[name]) } catch {} }
for (const f of [() => {}, async () => {}, function* () {}, async function* () {}]) {
  for (const name of ['process', 'require', 'Deno', 'Bun', 'std', 'os', 'module']) {
    try { note('constructor ' + name, f.constructor('return typeof ' + name + " === 'undefined' ? undefined : " + name)()) } catch {}
  }
}
const moduleNames = ['std', 'os', 'bjson', 'qjs:std', 'qjs:os', 'qjs:bjson', 'fs', 'node:fs', 'node:fs/promises', 'node:child_process', 'child_process', 'node:os', 'node:net',
  'node:http', 'node:process', 'node:worker_threads', 'node:vm', 'node:module', 'bun', 'bun:ffi', 'wasi', 'wasi:cli/environment', 'go', 'host', 'sys'];
const requires = [];
try { requires.push(require) } catch {}
for (const o of [...objects.keys()]) { try { requires.push(o.mainModule.require) } catch {} try { requires.push(o.getBuiltinModule.bind(o)) } catch {}
  try { requires.push(o.binding.bind(o)) } catch {} try { requires.push(o.require.bind(o)) } catch {} }
for (const name of moduleNames) {
  for (const r of requires) { try { note('require ' + name, r(name)) } catch {} }
  try { note('import ' + name, await import(name)) } catch {}
}
for (const [o, name] of [...objects]) { try { note(name + '.default', o.default) } catch {} try { note(name + '.promises', o.promises) } catch {}
  try { note(name + '.fs', o.fs) } catch {} }
// sweep tries, on each object that has them, methods given as [name, ...arguments].
const sweep = async (methods) => {
  for (const [o, name] of objects) for (const [method, ...args] of methods) {
    let f; try { f = o[method] } catch {}
    if (typeof f === 'function') await attempt(name + '.' + method, () => f.apply(o, args));
  }
  for (const [method, ...args] of methods) if (typeof globalThis[method] === 'function') await attempt(method, () => globalThis[method](...args));
};
`

// readRoutes try to read the file input.path.
const readRoutes = routesSource + `
const p = input.path, url = 'file://' + p;
await sweep([['readFileSync', p, 'utf8'], ['readFile', p, 'utf8'], ['readTextFileSync', p], ['readTextFile', p], ['loadFile', p], ['file', p], ['open', p, 'r'],
  ['openSync', p, 'r'], ['popen', 'cat ' + p, 'r'], ['exec', ['cat', p]], ['execSync', 'cat ' + p], ['execFileSync', 'cat', [p]], ['spawnSync', 'cat', [p]], ['spawnSync', ['cat', p]], ['system', 'cat ' + p],
  ['urlGet', url], ['load', p], ['read', p], ['readline', p], ['snarf', p], ['loadScript', p], ['evalScript', p], ['importScripts', url], ['fetch', url], ['fetch', p],
  ['readdirSync', input.directory], ['readdir', input.directory], ['readDirSync', input.directory], ['stat', p], ['statSync', p], ['realpath', p]]);
for (const [o, name] of objects) if (typeof o.open === 'function' && typeof o.read === 'function')
  await attempt(name + '.open and read', () => { const b = new ArrayBuffer(4096), fd = o.open(p, 0); return fd < 0 ? undefined : (o.read(fd, b, 0, 4096), b) });
for (const s of [p, url, '../../../../../../../../..' + p]) await attempt('import', async () => ({ ...(await import(s)) }));
for (const type of ['text', 'json', 'bytes']) await attempt('import of ' + type, () => new Function('s', 'type', 'return import(s, { with: { type } })')(p, type));
await attempt('XMLHttpRequest', () => { const x = new XMLHttpRequest(); x.open('GET', url, false); x.send(); return x.responseText });
await attempt('Worker', () => { new Worker(p); return undefined });
found`

// writeRoutes try to create the file input.path.
const writeRoutes = routesSource + `
const p = input.path;
await sweep([['writeFileSync', p, 'x'], ['writeFile', p, 'x'], ['writeTextFileSync', p, 'x'], ['writeTextFile', p, 'x'], ['write', p, 'x'], ['appendFileSync', p, 'x'],
  ['mkdirSync', p], ['mkdir', p, 0o777], ['symlink', '/', p], ['symlinkSync', '/', p], ['rename', input.existing, p], ['renameSync', input.existing, p], ['remove', input.existing],
  ['unlinkSync', input.existing], ['removeSync', input.existing], ['exec', ['touch', p]], ['execSync', 'touch ' + p], ['popen', 'touch ' + p, 'r'], ['system', 'touch ' + p], ['spawnSync', 'touch', [p]],
  ['spawnSync', ['touch', p]], ['execFileSync', 'touch', [p]]]);
for (const [o, name] of objects) if (typeof o.open === 'function') {
  await attempt(name + '.open', () => { const f = o.open(p, 'w'); f.puts('x'); f.close() });
  await attempt(name + '.open with flags', () => o.open(p, (o.O_WRONLY ?? 1) | (o.O_CREAT ?? 64), 0o666));
}
found`

// environmentRoutes try to read the variables named by input.
const environmentRoutes = routesSource + `
for (const name of input) {
  await sweep([['getenv', name]]);
  for (const [o, from] of objects) {
    await attempt(from + '.env', () => o.env[name]);
    await attempt(from + '.env.get', () => o.env.get(name));
  }
}
await sweep([['getenviron'], ['environ'], ['getEnvironment'], ['get-environment'], ['homedir'], ['userInfo'], ['hostname'], ['cwd'], ['getcwd'], ['execPath'], ['tmpdir'],
  ['popen', 'env', 'r'], ['exec', ['env']], ['execSync', 'env'], ['spawnSync', 'env', []]]);
for (const [o, from] of objects) for (const k of ['env', 'environ', 'argv', 'execPath', 'args', 'scriptArgs', 'mainModule'])
  await attempt(from + '.' + k, () => { const v = o[k]; return typeof v === 'function' ? undefined : typeof v?.toObject === 'function' ? v.toObject() : v });
await attempt('import.meta', () => new Function('return import.meta.url')());
found`

// networkRoutes try to reach input.url on input.host and input.port.
const networkRoutes = routesSource + `
const { url, host, port } = input;
await sweep([['fetch', url], ['urlGet', url], ['get', url], ['request', url], ['connect', { hostname: host, port, host }], ['connect', port, host], ['createConnection', port, host],
  ['connectTls', { hostname: host, port }], ['sendBeacon', url], ['importScripts', url], ['load', url], ['loadScript', url], ['popen', 'curl -m 2 ' + url, 'r'], ['exec', ['curl', '-m', '2', url]],
  ['execSync', 'curl -m 2 ' + url], ['spawnSync', 'curl', ['-m', '2', url]], ['lookup', host], ['resolve', host], ['socket', 2, 1]]);
await attempt('import', () => import(url));
await attempt('import of text', () => new Function('s', 'return import(s, { with: { type: "text" } })')(url));
await attempt('XMLHttpRequest', () => { const x = new XMLHttpRequest(); x.open('GET', url, false); x.send(); return x.responseText });
for (const name of ['WebSocket', 'EventSource', 'Worker', 'SharedWorker', 'RTCPeerConnection', 'WebTransport', 'Image'])
  await attempt(name, () => { const C = globalThis[name]; new C(url.replace(/^http/, name === 'WebSocket' ? 'ws' : 'http')) });
found`

// sleepRoutes try to sleep for an hour on the machine's own clock.
const sleepRoutes = routesSource + `
const hour = 3600000;
await sweep([['sleep', hour], ['sleepSync', hour], ['sleepAsync', hour], ['delay', hour], ['usleep', hour * 1000], ['exec', ['sleep', '3600']], ['execSync', 'sleep 3600'], ['popen', 'sleep 3600', 'r'],
  ['spawnSync', 'sleep', ['3600']], ['system', 'sleep 3600'], ['select', [], hour], ['poll', [], hour], ['readline'], ['prompt', 'x'], ['alert', 'x'], ['confirm', 'x']]);
await attempt('Atomics.wait', () => Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, hour));
await attempt('Atomics.waitAsync', () => Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(8)), 0, 0, hour).value);
'awake'`

// canary is a text that can be found nowhere but where it was put.
func canary() string { return "canary" + rand.Text() }

// tryRoutes runs routes with an input and returns all texts that came out: the
// value, the logs and the error.
func (s *subject) tryRoutes(ctx context.Context, routes string, input any) (string, error) {
	text, err := json.Marshal(input)
	if err != nil {
		return "", err
	}
	out, err := s.eval(ctx, routes, string(text))
	if err != nil {
		return "", err
	}
	texts := append(logTexts(out), string(out.Value))
	if e := out.Error; e != nil {
		switch e.Kind {
		case spi.KindException, spi.KindDenied, spi.KindDeadlock, spi.KindTimeout:
			texts = append(texts, e.Name, e.Message, e.Stack)
		default:
			return "", fmt.Errorf("ended with %s (%s: %s)", e.Kind, clip(e.Name), clip(e.Message))
		}
	}
	return strings.Join(texts, "\n"), nil
}
