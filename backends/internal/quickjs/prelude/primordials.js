// The built-ins as they were before any script ran, and the few tools the other files are written with.
// Guards against scripts that replace built-ins: nothing below looks a method up on a prototype, iterates with
// Symbol.iterator or stores through a setter a script could plant once the prelude has run.

const { apply, construct, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
const uncurryThis = Function.prototype.bind.bind(Function.prototype.call);

const ObjectPrototype = Object.prototype;
const hasOwn = Object.hasOwn;
const setPrototypeOf = Object.setPrototypeOf;
const isArray = Array.isArray;
const isErrorObject = Error.isError;
const isView = ArrayBuffer.isView;
const jsonStringify = JSON.stringify;
const numberParseInt = parseInt;
const numberParseFloat = parseFloat;
const mathFloor = Math.floor;
const mathTrunc = Math.trunc;
const mathRandom = Math.random;
const numberToString = uncurryThis(Number.prototype.toString);
const numberToFixed = uncurryThis(Number.prototype.toFixed);
const symbolToString = uncurryThis(Symbol.prototype.toString);
const functionBind = uncurryThis(Function.prototype.bind);
const functionToString = uncurryThis(Function.prototype.toString);
const arraySort = uncurryThis(Array.prototype.sort);

const fromCharCode = String.fromCharCode;
const fromCodePoint = String.fromCodePoint;
const charCodeAt = uncurryThis(String.prototype.charCodeAt);
const codePointAt = uncurryThis(String.prototype.codePointAt);
const stringIndexOf = uncurryThis(String.prototype.indexOf);
const stringSlice = uncurryThis(String.prototype.slice);
const stringRepeat = uncurryThis(String.prototype.repeat);
const stringStartsWith = uncurryThis(String.prototype.startsWith);
const stringToLowerCase = uncurryThis(String.prototype.toLowerCase);
const stringToWellFormed = uncurryThis(String.prototype.toWellFormed);
const stringNormalize = uncurryThis(String.prototype.normalize);

const getter = (object, name) => uncurryThis(getOwnPropertyDescriptor(object, name).get);

const NativeMap = Map;
const mapGet = uncurryThis(Map.prototype.get);
const mapSet = uncurryThis(Map.prototype.set);
const mapHas = uncurryThis(Map.prototype.has);
const mapDelete = uncurryThis(Map.prototype.delete);
const mapSize = getter(Map.prototype, 'size');
const mapEntries = uncurryThis(Map.prototype.entries);
const mapIteratorNext = uncurryThis(getPrototypeOf(new Map().entries()).next);
const NativeSet = Set;
const setAdd = uncurryThis(Set.prototype.add);
const setSize = getter(Set.prototype, 'size');
const setValues = uncurryThis(Set.prototype.values);
const setIteratorNext = uncurryThis(getPrototypeOf(new Set().values()).next);
const weakMapGet = uncurryThis(WeakMap.prototype.get);
const weakMapSet = uncurryThis(WeakMap.prototype.set);
const weakMapHas = uncurryThis(WeakMap.prototype.has);

const NativeUint8Array = Uint8Array;
const NativeArrayBuffer = ArrayBuffer;
const NativeDataView = DataView;
const TypedArrayPrototype = getPrototypeOf(Uint8Array.prototype);
const typedArrayTag = getter(TypedArrayPrototype, Symbol.toStringTag);
const typedArrayBuffer = getter(TypedArrayPrototype, 'buffer');
const typedArrayByteOffset = getter(TypedArrayPrototype, 'byteOffset');
const typedArrayByteLength = getter(TypedArrayPrototype, 'byteLength');
const typedArrayLength = getter(TypedArrayPrototype, 'length');
const typedArraySet = uncurryThis(TypedArrayPrototype.set);
const dataViewBuffer = getter(DataView.prototype, 'buffer');
const dataViewByteOffset = getter(DataView.prototype, 'byteOffset');
const dataViewByteLength = getter(DataView.prototype, 'byteLength');
const arrayBufferByteLength = getter(ArrayBuffer.prototype, 'byteLength');
const arrayBufferMaxByteLength = getter(ArrayBuffer.prototype, 'maxByteLength');
const arrayBufferResizable = getter(ArrayBuffer.prototype, 'resizable');
const arrayBufferDetached = getter(ArrayBuffer.prototype, 'detached');
const arrayBufferTransfer = uncurryThis(ArrayBuffer.prototype.transfer);

const NativeDate = Date;
const dateGetTime = uncurryThis(Date.prototype.getTime);
const dateToISOString = uncurryThis(Date.prototype.toISOString);
const NativeRegExp = RegExp;
const regExpSource = getter(RegExp.prototype, 'source');
const NativeDOMException = DOMException;
const domExceptionName = getter(DOMException.prototype, 'name');
const domExceptionMessage = getter(DOMException.prototype, 'message');
const NativeTypeError = TypeError;
const NativeRangeError = RangeError;
const NativeError = Error;
const NativeString = String;
const numberValueOf = uncurryThis(Number.prototype.valueOf);
const stringValueOf = uncurryThis(String.prototype.valueOf);
const booleanValueOf = uncurryThis(Boolean.prototype.valueOf);
const bigintValueOf = uncurryThis(BigInt.prototype.valueOf);
const symbolValueOf = uncurryThis(Symbol.prototype.valueOf);
const symbolIterator = Symbol.iterator;
const symbolToStringTag = Symbol.toStringTag;

const theGlobal = globalThis;
const clock = performance;
const now = () => apply(clockNow, clock, []);
const clockNow = clock.now;
const dateNow = Date.now;

// Numbers of the messages a prelude function sends with host.emit.
const OP = {
  __proto__: null,
  LOG: 0,
  INFO: 1,
  WARN: 2,
  ERROR: 3,
  DEBUG: 4,
  ADVANCE: 16,
};

// createList makes an array without a prototype: storing at an index never meets a setter.
const { emit } = host;
const createList = () => setPrototypeOf([], null);

// setOwn defines an ordinary own property, whatever the prototypes hold.
function setOwn(object, key, value) {
  defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function defineHidden(object, key, value) {
  defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}

function defineGlobal(name, value) {
  defineHidden(theGlobal, name, value);
}

// isObject is true for what can have properties, functions included.
function isObject(value) {
  return typeof value === 'object' ? value !== null : typeof value === 'function';
}

// toText is the web's conversion to DOMString: symbols throw, objects run their own conversion. It is no template
// literal, and nothing here may be one: the engine looks String.prototype.concat up for it.
function toText(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'symbol') throw new NativeTypeError('cannot convert symbol to string');
  return NativeString(value);
}

// inChain tells whether prototype is above object, without running any code of a script.
function inChain(object, prototype) {
  for (let i = 0; i < 100; i++) {
    if (isProxy(object)) return false;
    object = getPrototypeOf(object);
    if (object === null) return false;
    if (object === prototype) return true;
  }
  return false;
}

// brand tells whether probe, a captured getter or method, accepts object.
function brand(probe, object) {
  try {
    probe(object);
    return true;
  } catch {
    return false;
  }
}

// bytesOf is a view of the bytes behind a buffer source; it throws for anything else.
function bytesOf(source) {
  if (isView(source)) {
    if (typedArrayTag(source) !== undefined) {
      return new NativeUint8Array(typedArrayBuffer(source), typedArrayByteOffset(source), typedArrayByteLength(source));
    }
    return new NativeUint8Array(dataViewBuffer(source), dataViewByteOffset(source), dataViewByteLength(source));
  }
  if (isObject(source) && brand(arrayBufferByteLength, source)) return new NativeUint8Array(source);
  throw new NativeTypeError('The argument must be an ArrayBuffer or a view of one');
}

// isProxy recognises every proxy a script can make: globals.js keeps account of them.
const proxyTargets = new WeakMap();
function isProxy(value) {
  return weakMapHas(proxyTargets, value);
}

// webClass gives a class the look of a web interface; it is called while the prelude loads.
function webClass(constructor, tag, members) {
  const prototype = constructor.prototype;
  defineProperty(prototype, symbolToStringTag, { __proto__: null, value: tag, configurable: true });
  for (let i = 0; i < members.length; i++) defineProperty(prototype, members[i], { __proto__: null, enumerable: true });
}
