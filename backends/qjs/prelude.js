// What a script finds: `input` and `console`. What the library adds to the global object goes; nothing here is a
// wall, since a script can still import the modules behind it.
(host) => {
  const { evalScript } = std;
  const { stringify } = JSON;
  const { defineProperty } = Object;
  const { isArray } = Array;
  const NativeError = Error;
  const NativeString = String;
  const global = globalThis;
  const apply = Reflect.apply;
  const { slice } = String.prototype;
  const cut = (text, length) => (text.length > length ? apply(slice, text, [0, length]) : text);

  // The function behind `host`, which calls it by way of Function.prototype.call, where a script could stand.
  let emit;
  const { call } = Function.prototype;
  Function.prototype.call = function () {
    emit = this;
  };
  host();
  Function.prototype.call = call;
  const tell = (op, payload) => emit(0, 0, 0, undefined, `${op} ${payload}`);

  for (const name of [
    'std', 'os', 'bjson', 'gc', 'navigator', 'performance', 'print', 'scriptArgs', 'QJS_PROXY_VALUE', 'SharedArrayBuffer',
    'setTimeout', 'setInterval', 'clearTimeout', 'clearInterval',
  ]) {
    delete global[name];
  }

  const show = (value) => {
    try {
      if (typeof value === 'string') return value;
      if (value instanceof NativeError) return `${value.name}: ${value.message}`;
      return (typeof value === 'object' && stringify(value)) || NativeString(value);
    } catch {
      return '<value that cannot be shown>';
    }
  };

  let logLength = 0;
  let logsFull = false;
  const console = {};
  for (const level of ['log', 'info', 'warn', 'error', 'debug']) {
    console[level] = (...args) => {
      if (logsFull) return;
      let text = '';
      for (let i = 0; i < args.length; i++) text += (i > 0 ? ' ' : '') + show(args[i]);
      logsFull = tell(level, stringify(cut(text, logLength))) === true;
    };
  }
  defineProperty(global, 'console', { value: console, writable: true, configurable: true });

  const fail = (kind, error, shift) => {
    const part = (key, length) => {
      try {
        return error[key] === undefined ? '' : cut(show(error[key]), length);
      } catch {
        return '';
      }
    };
    const told = { __proto__: null, name: '', message: '', stack: '', shift };
    let isError = false;
    try {
      isError = error instanceof NativeError;
    } catch {}
    if (isError) {
      told.name = part('name', 300);
      told.message = part('message', 9000);
      told.stack = part('stack', 9000);
    } else {
      told.message = cut(show(error), 9000);
    }
    tell(kind, stringify(told));
  };

  // What the engine throws at a result that JSON has no text for.
  const hasNoJSON = (error) => {
    try {
      return error.message === 'circular reference' || error.message === 'BigInt are forbidden in JSON.stringify';
    } catch {
      return false;
    }
  };

  const finish = (value) => {
    let text;
    try {
      text = stringify(value);
    } catch (error) {
      fail(hasNoJSON(error) ? 'unserializable' : 'exception', error, 0);
      return;
    }
    let type = value === null ? 'null' : isArray(value) ? 'array' : typeof value;
    if (type === 'bigint') type = 'object'; // a script gave it a toJSON
    tell(`result:${type}`, text === undefined ? 'null' : text);
  };

  return async (source, input, maxLog) => {
    logLength = maxLog;
    logsFull = false;
    defineProperty(global, 'input', { value: input, writable: true, enumerable: true, configurable: true });
    const options = { __proto__: null, async: true };
    const wrapper = '(async()=>{';
    let record;
    let shift = 0;
    try {
      record = evalScript(source, options);
    } catch (error) {
      // It does not parse, so nothing of it has run. With a return at its top level it may parse as a function's body:
      // as that of an arrow, and also of a method, since what would close one and open it again does not suit both.
      try {
        if (error.message !== 'return not in a function') throw error;
        shift = wrapper.length;
        evalScript(`()=>({async body(){${source}\n}})`);
        record = evalScript(`${wrapper}${source}\n})()`, options);
      } catch (error) {
        fail('syntax', error, shift);
        return;
      }
    }
    try {
      record = await record;
      finish(await record.value);
    } catch (error) {
      fail('exception', error, shift);
    }
  };
};
