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
    const frames = scriptFrames(cutText(stack, MAX_NESTED_STRING));
    text = stringStartsWith(frames, ' ') ? text + '\n' + frames : stringStartsWith(frames, text) ? frames : text + '\n' + frames;
    while (text.length > 0 && charCodeAt(text, text.length - 1) === 10) text = stringSlice(text, 0, text.length - 1);
  } else {
    text = '[' + text + ']';
  }
  return text;
}

// scriptFrames leaves the prelude's own frames out of a stack, which is cut to a bounded text before.
function scriptFrames(stack) {
  if (stringIndexOf(stack, '(sandboxd:') < 0) return stack;
  let kept = '';
  for (let start = 0; start < stack.length;) {
    const end = stringIndexOf(stack, '\n', start) + 1 || stack.length;
    const line = stringSlice(stack, start, end);
    if (stringIndexOf(line, '(sandboxd:') < 0) kept += line;
    start = end;
  }
  return kept;
}
