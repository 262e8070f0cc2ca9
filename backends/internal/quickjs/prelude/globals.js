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

// The native timeOrigin is the time of the boot. The clock starts anew in each eval, at a whole millisecond.
defineGlobal('performance', {
  now: clockNow,
  get timeOrigin() {
    for (;;) {
      const before = mathFloor(now());
      const wall = dateNow();
      if (mathFloor(now()) === before) return wall - before;
    }
  },
  toJSON() {
    return { timeOrigin: this.timeOrigin };
  },
  [symbolToStringTag]: 'Performance',
});

// repeat of this build appends one character after the other; doubling is twenty times faster on long texts.
defineHidden(String.prototype, 'repeat', { repeat(count) {
  if (this === undefined || this === null) throw new NativeTypeError('String.prototype.repeat called on null or undefined');
  const text = toText(this);
  count = mathTrunc(+count);
  if (text === '' && count >= 0 && count < 1 / 0) return '';
  if (!(count >= 2) || !(count * text.length >= 64 && count * text.length < 0x3fffffff)) return stringRepeat(text, count);
  let out = '';
  for (let piece = text; ; piece += piece) {
    if (count % 2 === 1) out += piece;
    count = mathFloor(count / 2);
    if (count === 0) return stringSlice(out, 0); // in one piece, so that its memory is paid for here
  }
} }.repeat);

// RegExp.escape of this build reads concatenated strings wrongly and escapes letters it should leave alone.
defineHidden(RegExp, 'escape', { escape(string) {
  if (typeof string !== 'string') throw new NativeTypeError('RegExp.escape needs a string');
  let out = '';
  let plain = 0;
  for (let i = 0; i < string.length; i++) {
    const c = charCodeAt(string, i);
    const escape = escapeForRegExp(string, c, i);
    if (escape === undefined) {
      if (c >= 0xd800 && c <= 0xdbff) i++; // a pair: what is alone is escaped
      continue;
    }
    out += stringSlice(string, plain, i) + escape;
    plain = i + 1;
  }
  return out + stringSlice(string, plain);
} }.escape);

// escapeForRegExp gives the escape of the code unit c at index i, or undefined when it stands for itself.
function escapeForRegExp(string, c, i) {
  if (isDigit(c) || isAlpha(c)) return i === 0 ? '\\x' + stringToLowerCase(hexUpper(c)) : undefined;
  if (c < 0x80) {
    if (c >= 9 && c <= 13) return '\\' + charCodes('tnvfr', c - 9);
    if (stringIndexOf('^$\\.*+?()[]{}|/', fromCharCode(c)) >= 0) return '\\' + fromCharCode(c);
    return stringIndexOf(' ,-=<>#&!%:;@~\'`"', fromCharCode(c)) >= 0 ? '\\x' + stringToLowerCase(hexUpper(c)) : undefined;
  }
  if (c === 0xa0) return '\\xa0';
  const space = c === 0x1680 || (c >= 0x2000 && c <= 0x200a) || c === 0x2028 || c === 0x2029 || c === 0x202f || c === 0x205f
    || c === 0x3000 || c === 0xfeff;
  return space || (isSurrogate(c) && codePointAt(string, i) <= 0xffff) ? '\\u' + numberToString(c, 16) : undefined;
}

const charCodes = (text, i) => fromCharCode(charCodeAt(text, i));

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
