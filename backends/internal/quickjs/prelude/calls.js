// Host functions: a call is queued with the host and gives a promise, which the host settles once nothing else moves.
// Guards against scripts that replace built-ins, and against names that were not handed out: calling one is a call
// like any other, for the host to refuse.

OP.CALL = 48;
OP.EVENT = 49;
OP.ERROR_CALL = 50;
OP.CALL_LIMITED = 51;

const MAX_NAME = 256;
const NativeWeakMap = WeakMap;
const { captureStackTrace } = Error;
const deleteProperty = Reflect.deleteProperty;

// What waits for a reply, by the number of the call, which the host counts likewise.
let callsWithoutReply = new NativeMap();
let callCount = 0;

// The errors that the host has given, with the number of their call; 0 is a call that was never taken.
const errorCalls = new NativeWeakMap();

class DeniedError extends NativeError {}
class ToolError extends NativeError {}
for (const kind of [DeniedError, ToolError]) defineHidden(kind.prototype, 'name', kind.name);

// placeIn finds the line and the column where a script appears first in a stack.
function placeIn(stack) {
  const start = stringIndexOf(stack, 'script.js:');
  if (start < 0) return '';
  const end = stringIndexOf(stack, ')', start);
  return end < 0 ? '' : stringSlice(stack, start + 10, end);
}

// callError makes the error of a call, with the stack of the place that called.
function callError(id, name, kind, message, stack) {
  let error;
  if (kind === 'DeniedError') error = new DeniedError(message);
  else if (kind === 'TypeError') error = new NativeTypeError(message);
  else if (kind === 'RangeError') error = new NativeRangeError(message);
  else {
    error = new ToolError(message);
    if (kind !== 'ToolError') defineHidden(error, 'name', kind);
  }
  defineHidden(error, 'function', name);
  if (stack !== undefined) defineHidden(error, 'stack', stack);
  weakMapSet(errorCalls, error, id);
  return error;
}

// argumentJSON is the JSON of one argument: undefined is null, as it is inside an array.
function argumentJSON(name, value) {
  let text;
  try {
    text = jsonStringify(value);
  } catch (error) {
    const problem = whyNotJSON(value);
    if (problem === undefined) throw error;
    throw new NativeTypeError(name + ': ' + problem);
  }
  return text === undefined ? 'null' : text;
}

// beginning is how the message of each call of a function begins.
const beginning = (name) => '[' + jsonStringify(name) + ',';

// queueCall hands a call to the host; args is its arguments as JSON, without the brackets. The stack is that of
// whoever called the function caller, which spares frames that are ours.
function queueCall(name, begin, args, caller) {
  const trace = { __proto__: null, stack: '' };
  captureStackTrace(trace, caller);
  const { stack } = trace;
  return new NativePromise((resolve, reject) => {
    if (emit(OP.CALL, begin + jsonStringify(placeIn(stack)) + (args === '' ? ']' : ',' + args + ']'))) {
      mapSet(callsWithoutReply, ++callCount, { __proto__: null, name, resolve, reject, stack });
    } else if (emit(OP.CALL_LIMITED, '')) {
      reject(callError(0, name, 'DeniedError', name + ': denied: more calls or larger arguments than allowed', stack));
    } else {
      reject(new NativeTypeError(name + ': the arguments nest too deeply, or have two names that are the same as valid Unicode'));
    }
  });
}

// callHost calls a host function with one argument, for the function caller.
function callHost(name, argument, caller) {
  return queueCall(name, beginning(name), argumentJSON(name, argument), caller);
}

// hostFunction is what a script gets. Arguments that have no JSON reject the promise, as an async function would.
function hostFunction(name) {
  const begin = beginning(name);
  const f = (...args) => {
    let text = '';
    try {
      let count = args.length;
      while (count > 0 && args[count - 1] === undefined) count--;
      for (let i = 0; i < count; i++) text += i > 0 ? ',' + argumentJSON(name, args[i]) : argumentJSON(name, args[i]);
    } catch (error) {
      return new NativePromise((resolve, reject) => reject(error));
    }
    return queueCall(name, begin, text, f);
  };
  return f;
}

// isReserved tells names that the language looks up by itself: a promise, a JSON text or a class would be found there.
const isReserved = (name) => name === 'then' || name === 'toJSON' || name === 'constructor' || name === 'prototype' || name === '__proto__';

// absentIn handles what is not in a namespace, or above a function that is not there: whatever a script calls there,
// the host hears of it.
function absentIn(name) {
  return {
    __proto__: null,
    get(target, key) {
      return key in target || typeof key === 'symbol' || isReserved(key) ? target[key] : absent(name + '.' + key);
    },
  };
}

// watched makes a proxy that console.log shows as its target.
function watched(target, handler) {
  const proxy = new NativeProxy(target, handler);
  weakMapSet(proxyTargets, proxy, target);
  return proxy;
}

// absent stands for a function that was not handed out.
function absent(name) {
  if (name.length > MAX_NAME) name = stringSlice(name, 0, MAX_NAME);
  return watched(hostFunction(name), absentIn(name));
}

// namespace is an object for functions and further namespaces. What is not there is looked for in its prototype, so
// that finding what is costs nothing.
function namespace(name) {
  return setPrototypeOf({}, watched({}, absentIn(name)));
}

// placeFunction makes a function a member of members, whose own name is above; namespaces on the way are made.
function placeFunction(members, above, name) {
  const rest = above === '' ? name : stringSlice(name, above.length + 1);
  const dot = stringIndexOf(rest, '.');
  if (dot < 0) {
    const f = hostFunction(name);
    defineProperty(f, 'name', { __proto__: null, value: rest, configurable: true });
    setOwn(members, rest, f);
    return;
  }
  const key = stringSlice(rest, 0, dot);
  const path = above === '' ? key : above + '.' + key;
  if (!hasOwn(members, key)) setOwn(members, key, namespace(path));
  placeFunction(members[key], path, name);
}

// emitEvent is a script's emit(type, data): it tells the host and returns at once.
function emitEvent(type, data) {
  const text = '[' + jsonStringify(cutText(toText(type), MAX_NAME)) + ',' + argumentJSON('emit', data) + ']';
  emit(OP.EVENT, text);
}
defineProperty(emitEvent, 'name', { __proto__: null, value: 'emit', configurable: true });

// What the script before was handed, by the name of the global.
let granted = createList();

// handOut makes a global, to be taken back before the next script.
function handOut(name, value) {
  defineGlobal(name, value);
  granted[granted.length] = { __proto__: null, name, value };
}

// takeBack removes what an earlier script was handed, unless it has made something else of it.
function takeBack() {
  callsWithoutReply = new NativeMap();
  for (let i = 0; i < granted.length; i++) {
    const { name, value } = granted[i];
    if (dataValue(theGlobal, name) === value) deleteProperty(theGlobal, name);
  }
  granted = createList();
}

// grant hands out the functions of a list, in place of those of an earlier script.
function grant(names) {
  takeBack();
  if (names.length === 0) return;
  const roots = {};
  for (let i = 0; i < names.length; i++) {
    if (names[i] === 'emit') setOwn(roots, 'emit', emitEvent);
    else if (names[i] === 'fetch') installFetch();
    else placeFunction(roots, '', names[i]);
  }
  const all = ownKeys(roots);
  for (let i = 0; i < all.length; i++) handOut(all[i], roots[all[i]]);
  handOut('DeniedError', DeniedError);
  handOut('ToolError', ToolError);
}

// answer settles calls with replies: [id, value] or [id, name, message].
function answer(replies) {
  for (let i = 0; i < replies.length; i++) {
    const reply = replies[i];
    const call = mapGet(callsWithoutReply, reply[0]);
    if (call === undefined) continue;
    mapDelete(callsWithoutReply, reply[0]);
    if (reply.length === 2) call.resolve(reply[1]);
    else call.reject(callError(reply[0], call.name, reply[1], reply[2], call.stack));
  }
}

// loosen makes variables of what let, const and class have declared, so that a later script may declare it again.
function loosen(declared) {
  const names = ownKeys(declared);
  for (let i = 0; i < names.length; i++) {
    let value;
    let isSet = true;
    try {
      value = declared[names[i]];
      if (value === null) value = null; // looking at what a script that failed has not come to throws
    } catch {
      isSet = false;
    }
    // Where the script has made a property of that name that cannot be changed, or will have no new ones, it stays
    // declared.
    if (!isSet || defineProperty(theGlobal, names[i], { __proto__: null, value, writable: true, enumerable: true, configurable: true })) {
      deleteProperty(declared, names[i]);
    }
  }
}
