// The text of any value, in the manner of Node's util.inspect, for the console and for errors nobody caught.
// Guards against hostile values: getters, proxy traps, toString and toJSON are never run, and the text is bounded.

const MAX_DEPTH = 4;
const MAX_ITEMS = 100;
const MAX_NESTED_STRING = 10_000;
const MAX_INSPECTED = 100_000; // characters of one inspected value, roughly
const LINE_WIDTH = 72;

const functionKinds = createList();
for (const f of [async () => {}, function* () {}, async function* () {}]) {
  const prototype = getPrototypeOf(f);
  functionKinds[functionKinds.length] = { __proto__: null, prototype, name: prototype[Symbol.toStringTag] };
}

// inspect writes value; a budget { left } makes several values share the bound.
function inspect(value, budget) {
  const state = { __proto__: null, left: MAX_INSPECTED, above: createList(), indent: 0 };
  if (budget !== undefined) state.left = budget.left;
  const text = inspectValue(state, value, 0);
  if (budget !== undefined) budget.left = state.left;
  return text;
}

function inspectValue(state, value, depth) {
  const text = isObject(value) ? inspectObject(state, value, depth) : inspectPrimitive(value);
  state.left -= text.length < 40 ? text.length : 40; // what is inside has paid already, long strings pay below
  if (typeof value === 'string') state.left -= text.length;
  return text;
}

function inspectPrimitive(value) {
  if (typeof value === 'string') return quote(value, MAX_NESTED_STRING);
  if (typeof value === 'number') return value === 0 && 1 / value < 0 ? '-0' : '' + value;
  if (typeof value === 'bigint') return bigintText(value);
  if (typeof value === 'symbol') return cutText(symbolToString(value), MAX_NESTED_STRING);
  return '' + value;
}

// bigintText does not write out what would take long to convert.
function bigintText(value) {
  if (value > hugeBigInt || value < -hugeBigInt) return value > 0n ? '<huge BigInt>' : '<huge negative BigInt>';
  return '' + value + 'n';
}
const hugeBigInt = 10n ** 1000n;

function cutText(text, limit) {
  if (text.length <= limit) return text;
  const more = text.length - limit;
  return stringSlice(text, 0, limit) + '... ' + more + ' more character' + (more > 1 ? 's' : '');
}

// quote writes a string as a literal, with the quotes that need the least escaping.
function quote(text, limit) {
  const length = text.length < limit ? text.length : limit;
  let mark = "'";
  const within = stringSlice(text, 0, length);
  if (stringIndexOf(within, "'") >= 0) {
    if (stringIndexOf(within, '"') < 0) mark = '"';
    else if (stringIndexOf(within, '`') < 0 && stringIndexOf(within, '${') < 0) mark = '`';
  }
  const markCode = charCodeAt(mark, 0);
  let out = mark;
  let plain = 0;
  for (let i = 0; i < length; i++) {
    const c = charCodeAt(within, i);
    let escape;
    if (c === markCode || c === 92) escape = '\\' + fromCharCode(c);
    else if (c === 10) escape = '\\n';
    else if (c === 13) escape = '\\r';
    else if (c === 9) escape = '\\t';
    else if (c < 32 || (c >= 127 && c < 160)) escape = '\\x' + (c < 16 ? '0' : '') + hexUpper(c);
    else if (isSurrogate(c)) {
      if (codePointAt(within, i) > 0xffff) {
        i++;
        continue;
      }
      escape = '\\u' + hexUpper(c >> 8) + (c & 240 ? '' : '0') + hexUpper(c & 255);
    } else continue;
    out += stringSlice(within, plain, i) + escape;
    plain = i + 1;
  }
  out += stringSlice(within, plain) + mark;
  const more = text.length - length;
  return more > 0 ? out + '... ' + more + ' more character' + (more > 1 ? 's' : '') : out;
}

function inspectObject(state, value, depth) {
  for (let i = 0; isProxy(value); i++) {
    if (i === 100 || !brand(isArray, value)) return '<Revoked Proxy>';
    value = weakMapGet(proxyTargets, value);
  }
  for (let i = 0; i < state.above.length; i++) if (state.above[i] === value) return '[Circular]';
  const kind = kindOf(value);
  const shape = { __proto__: null, base: '', open: '{', close: '}', entries: createList(), skipIndexes: false, hidden: undefined };
  const name = constructorName(value);
  let heading = headingOf(value, name, kind);
  if (depth > MAX_DEPTH || state.left <= 0) {
    const leaf = leafText(value, kind, name);
    return leaf ?? '[' + (heading === '' ? kind : trimmed(heading)) + ']';
  }
  const level = state.above.length;
  state.above[level] = value;
  state.indent += 2;
  describeContents(state, value, kind, shape, depth + 1, name);
  if (shape.hidden !== undefined) heading = shape.hidden;
  addProperties(state, value, kind, shape, depth + 1);
  state.indent -= 2;
  state.above.length = level;
  if (shape.base !== '') {
    if (shape.entries.length === 0) return shape.base;
    heading = shape.base + ' ';
  }
  return layOut(state, heading + shape.open, shape.entries, shape.close, kind === 'Array' || shape.skipIndexes);
}

const trimmed = (heading) => stringSlice(heading, 0, heading.length - 1);

function dataValue(object, key) {
  const descriptor = getOwnPropertyDescriptor(object, key);
  return descriptor !== undefined && hasOwn(descriptor, 'value') ? descriptor.value : undefined;
}

// lookUp reads a data property along the prototypes, past getters and not through proxies.
function lookUp(object, key, type) {
  for (let i = 0; i < 100 && object !== null && !isProxy(object); i++) {
    const value = dataValue(object, key);
    if (typeof value === type) return value;
    object = getPrototypeOf(object);
  }
  return undefined;
}

function constructorName(object) {
  if (getPrototypeOf(object) === null) return null;
  for (let i = 0; i < 100 && object !== null && !isProxy(object); i++) {
    const constructor = dataValue(object, 'constructor');
    if (typeof constructor === 'function' && !isProxy(constructor)) {
      const name = dataValue(constructor, 'name');
      if (typeof name === 'string' && name !== '') return cutText(name, 100);
    }
    object = getPrototypeOf(object);
  }
  return 'Object';
}

// headingOf is what stands before the brace: the class, a size, a tag; '' for plain objects and arrays.
function headingOf(value, name, kind) {
  let size = -1;
  if (kind === 'Array') size = value.length;
  else if (kind === 'Map') size = mapSize(value);
  else if (kind === 'Set') size = setSize(value);
  else if (typedArrayKinds[kind] !== undefined) size = typedArrayLength(value);
  let heading = name ?? '[' + kind + ': null prototype]';
  if (size >= 0) heading += '(' + size + ')';
  const tag = lookUp(value, symbolToStringTag, 'string');
  if (tag !== undefined && tag !== '' && tag !== name) heading += ' [' + cutText(tag, 100) + ']';
  else if (kind === name && (kind === 'Object' || kind === 'Array')) return '';
  return heading + ' ';
}

// leafText is the whole text of the kinds that need no braces, also below the depth limit.
function leafText(value, kind, name) {
  switch (kind) {
    case 'Function':
      return functionText(value);
    case 'Date': {
      const time = dateGetTime(value);
      return time === time ? dateToISOString(value) : 'Invalid Date';
    }
    case 'RegExp':
      return cutText('/' + regExpSource(value) + '/' + regExpFlagText(value), MAX_NESTED_STRING);
    case 'Number':
      return '[Number: ' + inspectPrimitive(numberValueOf(value)) + ']';
    case 'String':
      return '[String: ' + inspectPrimitive(stringValueOf(value)) + ']';
    case 'Boolean':
      return '[Boolean: ' + booleanValueOf(value) + ']';
    case 'BigInt':
      return '[BigInt: ' + inspectPrimitive(bigintValueOf(value)) + ']';
    case 'Symbol':
      return '[Symbol: ' + inspectPrimitive(symbolValueOf(value)) + ']';
    case 'Error':
    case 'DOMException':
      return errorText(value, kind, name);
  }
  return undefined;
}

function functionText(value) {
  const source = functionToString(value);
  const ownName = dataValue(value, 'name');
  const name = typeof ownName === 'string' ? cutText(ownName, 100) : '';
  if (stringStartsWith(source, 'class') && (charCodeAt(source, 5) === 123 || charCodeAt(source, 5) <= 32)) {
    const above = getPrototypeOf(value);
    const parent = typeof above === 'function' && !isProxy(above) ? dataValue(above, 'name') : '';
    return '[class ' + (name === '' ? '(anonymous)' : name)
      + (typeof parent === 'string' && parent !== '' ? ' extends ' + cutText(parent, 100) : '') + ']';
  }
  let kind = 'Function';
  const above = getPrototypeOf(value);
  for (let i = 0; i < functionKinds.length; i++) if (functionKinds[i].prototype === above) kind = functionKinds[i].name;
  return '[' + kind + (name === '' ? ' (anonymous)' : ': ' + name) + ']';
}

// errorText is name, message and stack: the engine's stack holds the frames only.
function errorText(value, kind, className) {
  let name;
  let message;
  if (kind === 'DOMException') {
    name = domExceptionName(value);
    message = domExceptionMessage(value);
  } else {
    name = lookUp(value, 'name', 'string') ?? 'Error';
    message = lookUp(value, 'message', 'string') ?? '';
    if (name === 'Error' && className !== null && className !== 'Error') name = className;
  }
  let text = cutText(name, 100);
  if (message !== '') text += (text === '' ? '' : ': ') + cutText(message, MAX_NESTED_STRING);
  const stack = dataValue(value, 'stack');
  if (typeof stack === 'string' && stack !== '') {
    const frames = cutText(stack, MAX_NESTED_STRING);
    text = stringStartsWith(frames, ' ') ? text + '\n' + frames : stringStartsWith(frames, text) ? frames : text + '\n' + frames;
    while (text.length > 0 && charCodeAt(text, text.length - 1) === 10) text = stringSlice(text, 0, text.length - 1);
  } else {
    text = '[' + text + ']';
  }
  return text;
}

function describeContents(state, value, kind, shape, depth, name) {
  const leaf = leafText(value, kind, name);
  if (leaf !== undefined) {
    shape.base = kind === 'Error' || kind === 'DOMException' ? indentLines(leaf, state.indent - 2) : leaf;
    state.left -= leaf.length;
    if (kind === 'Error') addErrorParts(state, value, shape, depth);
    shape.skipIndexes = kind === 'String';
    return;
  }
  const put = (text) => {
    shape.entries[shape.entries.length] = text;
  };
  if (kind === 'Array') {
    shape.open = '[';
    shape.close = ']';
    addItems(state, value, shape, depth);
    return;
  }
  if (kind === 'Map' || kind === 'Set') {
    addMembers(state, value, kind, depth, put);
    return;
  }
  if (typedArrayKinds[kind] !== undefined) {
    shape.open = '[';
    shape.close = ']';
    shape.skipIndexes = true;
    const length = typedArrayLength(value);
    for (let i = 0; i < length && i < MAX_ITEMS; i++) put(inspectValue(state, value[i], depth));
    if (length > MAX_ITEMS) put(moreText(length - MAX_ITEMS, 'item'));
    return;
  }
  switch (kind) {
    case 'ArrayBuffer':
      if (arrayBufferDetached(value)) put('(detached)');
      else put('[Uint8Contents]: <' + hexText(value) + '>');
      put('byteLength: ' + arrayBufferByteLength(value));
      break;
    case 'DataView':
      put('byteLength: ' + dataViewByteLength(value));
      put('byteOffset: ' + dataViewByteOffset(value));
      put('buffer: ' + inspectValue(state, dataViewBuffer(value), depth));
      break;
    case 'WeakMap':
    case 'WeakSet':
      put('<items unknown>');
      break;
    case 'URL':
      put('href: ' + inspectValue(state, urlText(urlOf(value)), depth));
      break;
    case 'URLSearchParams': {
      const pairs = paramsOf(value);
      for (let i = 0; i < pairs.length && i < 2 * MAX_ITEMS; i += 2) {
        put(inspectValue(state, pairs[i], depth) + ' => ' + inspectValue(state, pairs[i + 1], depth));
      }
      if (pairs.length > 2 * MAX_ITEMS) put(moreText(pairs.length / 2 - MAX_ITEMS, 'item'));
      break;
    }
  }
}

const moreText = (count, what) => '... ' + count + ' more ' + what + (count > 1 ? 's' : '');

function indentLines(text, indent) {
  if (indent <= 0 || stringIndexOf(text, '\n') < 0) return text;
  return joinList(splitText(text, '\n'), '\n' + stringRepeat(' ', indent));
}

function hexText(buffer) {
  const bytes = new NativeUint8Array(buffer);
  const length = typedArrayLength(bytes);
  let text = '';
  for (let i = 0; i < length && i < MAX_ITEMS; i++) {
    text += (i > 0 ? ' ' : '') + (bytes[i] < 16 ? '0' : '') + numberToString(bytes[i], 16);
  }
  return length > MAX_ITEMS ? text + ' ' + moreText(length - MAX_ITEMS, 'byte') : text;
}

function addErrorParts(state, value, shape, depth) {
  const cause = getOwnPropertyDescriptor(value, 'cause');
  if (cause !== undefined && !cause.enumerable) {
    shape.entries[shape.entries.length] = '[cause]: ' + propertyText(state, cause, depth);
  }
  const errors = getOwnPropertyDescriptor(value, 'errors');
  if (errors !== undefined && !errors.enumerable) {
    shape.entries[shape.entries.length] = '[errors]: ' + propertyText(state, errors, depth);
  }
}

function addMembers(state, value, kind, depth, put) {
  const map = kind === 'Map';
  const iterator = map ? mapEntries(value) : setValues(value);
  for (let n = 0; ; n++) {
    const step = map ? mapIteratorNext(iterator) : setIteratorNext(iterator);
    if (step.done) break;
    if (n === MAX_ITEMS || state.left <= 0) {
      put(moreText((map ? mapSize(value) : setSize(value)) - n, 'item'));
      break;
    }
    put(map ? inspectValue(state, step.value[0], depth) + ' => ' + inspectValue(state, step.value[1], depth)
      : inspectValue(state, step.value, depth));
  }
}

function addItems(state, value, shape, depth) {
  const length = value.length;
  const put = (text) => {
    shape.entries[shape.entries.length] = text;
  };
  let keys;
  let at = 0;
  let i = 0;
  for (let n = 0; i < length; n++) {
    if (n === MAX_ITEMS || state.left <= 0) {
      put(moreText(length - i, 'item'));
      return;
    }
    const descriptor = getOwnPropertyDescriptor(value, i);
    if (descriptor !== undefined) {
      put(propertyText(state, descriptor, depth));
      i++;
      continue;
    }
    keys ??= ownKeys(value); // indexes come first, in order
    while (at < keys.length && isIndex(keys[at]) && +keys[at] < i) at++;
    const next = at < keys.length && isIndex(keys[at]) ? +keys[at] : length;
    put('<' + (next - i) + ' empty item' + (next - i > 1 ? 's' : '') + '>');
    i = next;
  }
}

function isIndex(key) {
  if (typeof key !== 'string' || key.length > 10 || key === '') return false;
  const number = numberParseInt(key, 10);
  return number >= 0 && number < 4294967295 && '' + number === key;
}

function addProperties(state, value, kind, shape, depth) {
  const keys = ownKeys(value);
  const indexed = kind === 'Array' || shape.skipIndexes;
  let shown = 0;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (indexed && isIndex(key)) continue;
    const descriptor = getOwnPropertyDescriptor(value, key);
    if (descriptor === undefined || !descriptor.enumerable) continue;
    if (shown === MAX_ITEMS || state.left <= 0) {
      shape.entries[shape.entries.length] = moreText(keys.length - i, 'key');
      return;
    }
    shown++;
    const label = keyText(key);
    state.left -= label.length;
    shape.entries[shape.entries.length] = label + ': ' + propertyText(state, descriptor, depth);
  }
}

function keyText(key) {
  if (typeof key === 'symbol') return '[' + cutText(symbolToString(key), 200) + ']';
  let plain = key !== '' && key.length <= 200 && !isDigit(charCodeAt(key, 0));
  for (let i = 0; i < key.length && plain; i++) {
    const c = charCodeAt(key, i);
    plain = isAlpha(c) || isDigit(c) || c === 95 || c === 36;
  }
  return plain ? key : quote(key, 200);
}

function propertyText(state, descriptor, depth) {
  if (hasOwn(descriptor, 'value')) return inspectValue(state, descriptor.value, depth);
  if (descriptor.get === undefined) return '[Setter]';
  return descriptor.set === undefined ? '[Getter]' : '[Getter/Setter]';
}

// layOut writes entries on one line if they fit, short ones of an array in filled lines, others one a line.
function layOut(state, open, entries, close, fill) {
  const count = entries.length;
  if (count === 0) return open + close;
  let width = state.indent + open.length + close.length + 2;
  let widest = 0;
  let broken = false;
  for (let i = 0; i < count; i++) {
    width += entries[i].length + 2;
    if (entries[i].length > widest) widest = entries[i].length;
    if (width > LINE_WIDTH || stringIndexOf(entries[i], '\n') >= 0) broken = true;
  }
  if (!broken) return open + ' ' + joinList(entries, ', ') + ' ' + close;
  const margin = '\n' + stringRepeat(' ', state.indent);
  if (!fill || count <= 6 || widest > 24) return open + margin + '  ' + joinList(entries, ',' + margin + '  ') + margin + close;
  let text = open;
  let room = 0;
  for (let i = 0; i < count; i++) {
    const piece = entries[i] + (i < count - 1 ? ',' : '');
    if (piece.length + 1 > room) {
      text += margin + '  ' + piece;
      room = LINE_WIDTH - state.indent - 2 - piece.length;
    } else {
      text += ' ' + piece;
      room -= piece.length + 1;
    }
  }
  return text + margin + close;
}
