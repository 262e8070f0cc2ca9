// What must not be there is removed, and what this engine build gets wrong is mended.
// Guards against shared memory, against call sites that would hand a script the prelude's own functions, and
// against proxies that cannot be told from other objects.

// The engine has no WebAssembly or shell globals unless it is built otherwise: a later build must not bring them in.
for (const name of ['SharedArrayBuffer', 'Atomics', 'WebAssembly', 'std', 'os', 'bjson', 'scriptArgs', 'print',
  'navigator', 'gc', 'Worker', 'load', 'loadScript', 'require', 'module', 'process']) {
  if (hasOwn(theGlobal, name) && !delete theGlobal[name]) throw new NativeError('cannot remove ' + name);
}

// A stack trace formatter is given CallSite objects, whose getFunction returns whatever runs, prelude included.
delete Error.prepareStackTrace;

defineGlobal('performance', performance);

// RegExp.escape of this build reads a concatenated string before it is made flat; slicing makes it flat.
const nativeEscape = RegExp.escape;
defineHidden(RegExp, 'escape', { escape(string) {
  return nativeEscape(typeof string === 'string' ? stringSlice(string, 0) : string);
} }.escape);

// Every proxy is noted with its target. A bound function, as the native Proxy, has no prototype property.
const NativeProxy = Proxy;
const nativeRevocable = Proxy.revocable;
const WatchedProxy = uncurryThis(Function.prototype.bind)(function (target, handler) {
  if (new.target === undefined) throw new NativeTypeError("Constructor Proxy requires 'new'");
  const proxy = new NativeProxy(target, handler);
  weakMapSet(proxyTargets, proxy, target);
  return proxy;
}, undefined);
defineProperty(WatchedProxy, 'name', { value: 'Proxy' });
defineProperty(WatchedProxy, 'length', { value: 2 });
defineHidden(WatchedProxy, 'revocable', { revocable(target, handler) {
  const pair = nativeRevocable(target, handler);
  weakMapSet(proxyTargets, pair.proxy, target);
  return pair;
} }.revocable);
defineGlobal('Proxy', WatchedProxy);
