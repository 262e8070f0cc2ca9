// What the host calls: settling the script's result, writing it as JSON, and telling an error.
// Guards against scripts whose getters, toJSON methods and error classes run while the host listens.

const NativePromise = Promise;
const ErrorPrototype = Error.prototype;
const RangeErrorPrototype = RangeError.prototype;

// Messages beyond those of the console and the timers; the host has the same numbers.
OP.ERROR_NAME = 32;
OP.ERROR_MESSAGE = 33;
OP.ERROR_STACK = 34;
OP.ERROR_BRAND = 35;
OP.UNSERIALIZABLE = 36;
OP.ERROR_CLASSES = 37;
OP.RESULT = 64;

const VALUE_TYPES = {
  __proto__: null,
  undefined: 0,
  null: 1,
  boolean: 2,
  number: 3,
  string: 4,
  array: 5,
  object: 6,
  function: 7,
  symbol: 8,
  bigint: 6, // never written: a BigInt has no JSON, unless a script gives it one
};

function typeOfValue(value) {
  if (value === null) return VALUE_TYPES.null;
  if (isArray(value)) return VALUE_TYPES.array;
  return VALUE_TYPES[typeof value];
}

// adopt is what `return value` does in an async function: a thenable is awaited, its `then` read once. Most values are
// none; they come back as they are, which spares a promise.
function adopt(value) {
  const then = value.then;
  if (typeof then !== 'function') return value;
  const once = { __proto__: null, then: functionBind(then, value) }; // bound, so that no frame of ours is in its stack
  return new NativePromise((resolve) => resolve(once));
}

// completion takes the value out of the record that an async script ends with. Where a script has made records
// thenable or given them a setter, what the promise was settled with is the value.
function completion(record) {
  return isObject(record) && hasOwn(record, 'value') ? record.value : record;
}

// finish writes the result. Everything of the script's that runs here runs within the limits.
function finish(value) {
  resetConsole();
  let text;
  try {
    text = jsonStringify(value);
  } catch (error) {
    const problem = whyNotJSON(value);
    if (problem === undefined) throw error;
    emit(OP.UNSERIALIZABLE, problem);
    return;
  }
  emit(OP.RESULT + typeOfValue(value), text === undefined ? 'null' : text);
}

// whyNotJSON looks for the BigInt or the cycle that made writing fail. It runs getters a second time,
// which nobody can tell from the result: there is none.
function whyNotJSON(root) {
  const holders = createList();
  const keys = createList();
  let depth = 0;
  let problem;
  const wasFull = logsFull;
  logsFull = true;
  try {
    jsonStringify(root, function (key, value) {
      while (depth > 0 && holders[depth - 1] !== this) depth--;
      if (typeof value === 'bigint' || (isObject(value) && brand(bigintValueOf, value))) {
        problem = 'a BigInt at ' + pathOf(keys, holders, depth, key) + ' cannot be written as JSON';
        throw null;
      }
      if (typeof value === 'object' && value !== null) {
        for (let i = 0; i < depth; i++) {
          if (holders[i] === value) {
            problem = 'a cycle at ' + pathOf(keys, holders, depth, key) + ' cannot be written as JSON';
            throw null;
          }
        }
        keys[depth] = key;
        holders[depth++] = value;
      }
      return value;
    });
  } catch {
    // Either ours, or the script's again: it is reported as the first one was.
  } finally {
    logsFull = wasFull;
  }
  return problem;
}

// pathOf spells where a value stands: $ is the result, whose own key is the empty one at depth 0.
function pathOf(keys, holders, depth, key) {
  let path = '$';
  for (let i = 1; i <= depth && path.length < 200; i++) {
    const step = i < depth ? keys[i] : key;
    if (isArray(holders[i - 1])) path += '[' + step + ']';
    else path += isName(step) ? '.' + step : '[' + jsonStringify(step) + ']';
  }
  return path.length < 200 ? path : stringSlice(path, 0, 200) + '…';
}

function isName(text) {
  if (text === '') return false;
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i) | 32;
    const digit = c >= 48 && c <= 57 && i > 0;
    if (!(c >= 97 && c <= 122) && charCodeAt(text, i) !== 95 && charCodeAt(text, i) !== 36 && !digit) return false;
  }
  return true;
}

// fail tells the host what was thrown, whatever it is.
function fail(reason) {
  resetConsole();
  if (isObject(reason) && weakMapHas(errorCalls, reason)) emit(OP.ERROR_CALL, '' + weakMapGet(errorCalls, reason));
  if (!isObject(reason) || typeof reason === 'function' || !(isErrorObject(reason) || brand(domExceptionName, reason))) {
    emit(OP.ERROR_NAME, '');
    emit(OP.ERROR_MESSAGE, typeof reason === 'string' ? reason : inspect(reason));
    return;
  }
  if (inChain(reason, RangeErrorPrototype)) emit(OP.ERROR_BRAND, '');
  emit(OP.ERROR_CLASSES, classesOf(reason));
  emit(OP.ERROR_NAME, errorPart(reason, 'name'));
  emit(OP.ERROR_MESSAGE, errorPart(reason, 'message'));
  emit(OP.ERROR_STACK, errorPart(reason, 'stack'));
}

// classesOf names an error's own classes, whose constructors stand first in its stack.
function classesOf(error) {
  let names = '';
  for (let i = 0; i < 8 && !isProxy(error); i++) {
    error = getPrototypeOf(error);
    if (error === null || error === ErrorPrototype) break;
    const constructor = dataValue(error, 'constructor');
    const name = typeof constructor === 'function' && !isProxy(constructor) ? dataValue(constructor, 'name') : undefined;
    if (typeof name === 'string') names += name + '\n';
  }
  return names;
}

function errorPart(error, key) {
  let part;
  try {
    part = error[key];
  } catch {
    return '';
  }
  if (typeof part === 'string') return part;
  return part === undefined ? '' : inspect(part);
}

// reportUncaught ends the eval with what a timer's callback threw: nobody is left to catch it.
function reportUncaught(error) {
  throw error;
}

return { __proto__: null, adopt, completion, finish, fail, runNextTimer, grant, answer, loosen };
