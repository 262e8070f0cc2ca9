// structuredClone of the HTML standard, without recursion: what a value contains is queued, so depth costs no stack.
// Guards against scripts that replace built-ins; only getters of the value itself run, as the standard has it.

const MAX_CLONED_OBJECTS = 5_000_000;

const typedArrayKinds = { __proto__: null };
for (const kind of [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array,
  BigUint64Array, Float16Array, Float32Array, Float64Array]) typedArrayKinds[kind.name] = kind;
const errorKinds = { __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

// The objects whose kind only a probe can tell, in the order of how often they are met.
const kindProbes = [
  [Map.prototype, 'Map', mapSize],
  [Set.prototype, 'Set', setSize],
  [Date.prototype, 'Date', dateGetTime],
  [RegExp.prototype, 'RegExp', (value) => {
    regExpSource(value);
    if (value === RegExp.prototype) throw value;
  }],
  [ArrayBuffer.prototype, 'ArrayBuffer', arrayBufferByteLength],
  [Number.prototype, 'Number', numberValueOf],
  [String.prototype, 'String', stringValueOf],
  [Boolean.prototype, 'Boolean', booleanValueOf],
  [BigInt.prototype, 'BigInt', bigintValueOf],
  [Symbol.prototype, 'Symbol', symbolValueOf],
  [DOMException.prototype, 'DOMException', domExceptionName],
];
for (const weak of [Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry]) {
  kindProbes[kindProbes.length] = [weak.prototype, weak.name, () => {}];
}
setPrototypeOf(kindProbes, null);

// kindOf names what an object is inside, by its brand and never by what a script can set on it. An object whose
// prototypes hold no built-in is 'Object': a Map robbed of its prototype is read as a plain object.
function kindOf(object) {
  if (typeof object === 'function') return 'Function';
  if (isProxy(object)) return 'Proxy';
  if (isArray(object)) return 'Array';
  let above = getPrototypeOf(object);
  if (above === ObjectPrototype || above === null) return 'Object';
  if (isErrorObject(object)) return 'Error';
  if (isView(object)) return typedArrayTag(object) ?? 'DataView';
  for (let i = 0; i < 100 && above !== null && above !== ObjectPrototype && !isProxy(above); i++) {
    for (let k = 0; k < kindProbes.length; k++) {
      if (kindProbes[k][0] === above && brand(kindProbes[k][2], object)) return kindProbes[k][1];
    }
    above = getPrototypeOf(above);
  }
  if (urlOf(object) !== undefined) return 'URL';
  if (paramsOf(object) !== undefined) return 'URLSearchParams';
  if (headersOf(object) !== undefined) return 'Headers';
  if (requestOf(object) !== undefined) return 'Request';
  if (responseOf(object) !== undefined) return 'Response';
  return 'Object';
}

function cloneError(what) {
  return new NativeDOMException(what + ' could not be cloned', 'DataCloneError');
}

function emptyLike(buffer) {
  const length = arrayBufferByteLength(buffer);
  return arrayBufferResizable(buffer)
    ? new NativeArrayBuffer(length, { __proto__: null, maxByteLength: arrayBufferMaxByteLength(buffer) })
    : new NativeArrayBuffer(length);
}

function cloneBuffer(buffer) {
  if (arrayBufferDetached(buffer)) throw cloneError('A detached ArrayBuffer');
  const copy = emptyLike(buffer);
  typedArraySet(new NativeUint8Array(copy), new NativeUint8Array(buffer));
  return copy;
}

function dataProperty(object, key) {
  const descriptor = getOwnPropertyDescriptor(object, key);
  return descriptor !== undefined && hasOwn(descriptor, 'value') ? descriptor : undefined;
}

function cloneErrorObject(source) {
  let name = source.name;
  name = name === undefined ? 'Error' : toText(name);
  const copy = construct(errorKinds[name] ?? NativeError, []);
  const message = dataProperty(source, 'message');
  if (message !== undefined) defineHidden(copy, 'message', toText(message.value));
  const stack = dataProperty(source, 'stack');
  if (stack !== undefined && typeof stack.value === 'string') defineHidden(copy, 'stack', stack.value);
  return copy;
}

// startClone makes the copy of one object and tells, through queue, whether its contents are still to be copied.
function startClone(source, kind, visit, queue) {
  switch (kind) {
    case 'Array': {
      const copy = [];
      queue(copy);
      return copy;
    }
    case 'Object': {
      const copy = {};
      queue(copy);
      return copy;
    }
    case 'Map': {
      const copy = new NativeMap();
      queue(copy);
      return copy;
    }
    case 'Set': {
      const copy = new NativeSet();
      queue(copy);
      return copy;
    }
    case 'Date':
      return new NativeDate(dateGetTime(source));
    case 'RegExp':
      return new NativeRegExp(regExpSource(source), regExpFlagText(source));
    case 'Number':
      return new NativeNumber(numberValueOf(source));
    case 'String':
      return new NativeString(stringValueOf(source));
    case 'Boolean':
      return new NativeBoolean(booleanValueOf(source));
    case 'BigInt':
      return nativeObject(bigintValueOf(source));
    case 'ArrayBuffer':
      return cloneBuffer(source);
    case 'DataView': {
      const buffer = visit(dataViewBuffer(source));
      return new NativeDataView(buffer, dataViewByteOffset(source), dataViewByteLength(source));
    }
    case 'Error': {
      const copy = cloneErrorObject(source);
      queue(copy);
      return copy;
    }
    case 'DOMException':
      return new NativeDOMException(domExceptionMessage(source), domExceptionName(source));
  }
  const typed = typedArrayKinds[kind];
  if (typed === undefined) throw cloneError(kind === 'Function' ? 'A function' : 'A value of kind ' + kind);
  const buffer = visit(typedArrayBuffer(source));
  return construct(typed, [buffer, typedArrayByteOffset(source), typedArrayLength(source)]);
}

const NativeNumber = Number;
const NativeBoolean = Boolean;
const nativeObject = Object;
const regExpFlagGetters = createList();
for (const [name, flag] of [['hasIndices', 'd'], ['global', 'g'], ['ignoreCase', 'i'], ['multiline', 'm'], ['dotAll', 's'],
  ['unicode', 'u'], ['unicodeSets', 'v'], ['sticky', 'y']]) {
  regExpFlagGetters[regExpFlagGetters.length] = { __proto__: null, get: getter(RegExp.prototype, name), flag };
}

function regExpFlagText(value) {
  let text = '';
  for (let i = 0; i < regExpFlagGetters.length; i++) {
    if (regExpFlagGetters[i].get(value)) text += regExpFlagGetters[i].flag;
  }
  return text;
}

function cloneValue(value, seen) {
  const pending = createList();
  let count = 0;
  const visit = (item) => {
    if (typeof item === 'symbol') throw cloneError(symbolToString(item));
    if (!isObject(item)) return item;
    const known = mapGet(seen, item);
    if (known !== undefined) return known;
    if (++count > MAX_CLONED_OBJECTS) throw new NativeRangeError('structuredClone: more than ' + MAX_CLONED_OBJECTS + ' objects');
    const kind = kindOf(item);
    const copy = startClone(item, kind, visit, (target) => {
      pending[pending.length] = { __proto__: null, kind, source: item, target };
    });
    mapSet(seen, item, copy);
    return copy;
  };
  const result = visit(value);
  while (pending.length > 0) {
    const { kind, source, target } = pending[pending.length - 1];
    pending.length--;
    if (kind === 'Map') cloneMap(source, target, visit);
    else if (kind === 'Set') cloneSet(source, target, visit);
    else if (kind === 'Error') cloneCause(source, target, visit);
    else cloneProperties(source, target, visit);
  }
  return result;
}

function cloneMap(source, target, visit) {
  const entries = mapEntries(source);
  for (let step = mapIteratorNext(entries); !step.done; step = mapIteratorNext(entries)) {
    mapSet(target, visit(step.value[0]), visit(step.value[1]));
  }
}

function cloneSet(source, target, visit) {
  const values = setValues(source);
  for (let step = setIteratorNext(values); !step.done; step = setIteratorNext(values)) setAdd(target, visit(step.value));
}

function cloneCause(source, target, visit) {
  const cause = dataProperty(source, 'cause');
  if (cause !== undefined) defineHidden(target, 'cause', visit(cause.value));
}

function cloneProperties(source, target, visit) {
  const length = isArray(source) ? source.length : 0;
  const keys = ownKeys(source);
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i];
    if (typeof key !== 'string') continue;
    const descriptor = getOwnPropertyDescriptor(source, key);
    if (descriptor === undefined || !descriptor.enumerable) continue;
    setOwn(target, key, visit(hasOwn(descriptor, 'value') ? descriptor.value : source[key]));
  }
  if (isArray(target) && target.length < length) target.length = length; // holes at the end
}

// transferBuffers checks the whole list before anything is detached.
function transferList(transfer) {
  const list = createList();
  if (transfer === undefined) return list;
  const method = isObject(transfer) ? iteratorOf(transfer) : undefined;
  if (method === undefined) throw new NativeTypeError('The transfer list must be iterable');
  eachItem(transfer, method, (item) => {
    if (!isObject(item) || kindOf(item) !== 'ArrayBuffer') throw cloneError('A transferred value that is no ArrayBuffer');
    if (arrayBufferDetached(item)) throw cloneError('A detached ArrayBuffer');
    for (let i = 0; i < list.length; i++) if (list[i] === item) throw cloneError('An ArrayBuffer listed twice');
    list[list.length] = item;
  });
  return list;
}

defineGlobal('structuredClone', { structuredClone(value, options = undefined) {
  needs(1, arguments.length);
  const buffers = transferList(options?.transfer);
  const seen = new NativeMap();
  // An empty buffer stands for each transferred one, which keeps its bytes if the rest cannot be cloned.
  for (let i = 0; i < buffers.length; i++) mapSet(seen, buffers[i], emptyLike(buffers[i]));
  const copy = cloneValue(value, seen);
  for (let i = 0; i < buffers.length; i++) {
    const target = mapGet(seen, buffers[i]);
    if (arrayBufferDetached(buffers[i])) throw cloneError('A detached ArrayBuffer');
    typedArraySet(new NativeUint8Array(target), new NativeUint8Array(arrayBufferTransfer(buffers[i], arrayBufferByteLength(target))));
  }
  return copy;
} }.structuredClone);
