// The console: each call is one line of text given to the host with its level. Nothing is formatted once the host
// has said that the log budget is spent. Guards against hostile arguments (see inspect.js) and detached methods.

const MAX_LINE = 1_000_000; // characters of one call
const MAX_GROUPS = 20; // levels that are indented
const MAX_TABLE_COLUMNS = 20;

let logsFull = false;
let groupDepth = 0;
const counters = new NativeMap();
const stopwatches = new NativeMap();

// resetConsole begins a new evaluation: a fresh budget, no groups.
function resetConsole() {
  logsFull = false;
  groupDepth = 0;
}

function writeText(op, text) {
  if (groupDepth > 0) {
    const margin = stringRepeat('  ', groupDepth < MAX_GROUPS ? groupDepth : MAX_GROUPS);
    text = margin + indentLines(text, margin.length);
  }
  if (!emit(op, stringToWellFormed(cutText(text, MAX_LINE)))) logsFull = true;
}

function writeLine(op, args) {
  if (logsFull) return;
  let text;
  try {
    text = formatArguments(args);
  } catch {
    text = '<value that cannot be shown>';
  }
  writeText(op, text);
}

const argumentText = (value, budget) => (typeof value === 'string' ? cutText(value, MAX_LINE) : inspect(value, budget));

function formatArguments(args) {
  const budget = { __proto__: null, left: MAX_INSPECTED };
  let text = '';
  let used = 0;
  if (args.length > 0 && typeof args[0] === 'string') {
    text = cutText(args[0], MAX_LINE);
    used = 1;
    if (args.length > 1 && stringIndexOf(text, '%') >= 0) {
      const format = text;
      text = '';
      let plain = 0;
      for (let p = stringIndexOf(format, '%'); p >= 0 && p < format.length - 1; p = stringIndexOf(format, '%', p)) {
        const letter = stringSlice(format, p + 1, p + 2);
        let value;
        if (letter === '%') value = '%';
        else if (used < args.length && stringIndexOf('sdifjoOc', letter) >= 0) value = specifierText(letter, args[used++], budget);
        if (value === undefined) {
          p++;
          continue;
        }
        text += stringSlice(format, plain, p) + value;
        p += 2;
        plain = p;
        if (text.length > MAX_LINE) break;
      }
      text += stringSlice(format, plain);
    }
  }
  for (; used < args.length && text.length <= MAX_LINE; used++) text += (used > 0 ? ' ' : '') + argumentText(args[used], budget);
  return text;
}

function specifierText(letter, value, budget) {
  switch (letter) {
    case 's':
      return argumentText(value, budget);
    case 'c':
      return '';
    case 'j':
      try {
        return cutText('' + jsonStringify(value), MAX_INSPECTED);
      } catch {
        return '[Circular]';
      }
    case 'd':
    case 'i':
    case 'f': {
      if (typeof value === 'bigint' && letter !== 'f') return bigintText(value);
      if (isObject(value) || typeof value === 'symbol') return 'NaN';
      if (letter === 'd') return inspectPrimitive(typeof value === 'bigint' ? NaN : +value);
      return inspectPrimitive(letter === 'i' ? numberParseInt(value) : numberParseFloat(value));
    }
  }
  return inspect(value, budget);
}

function labelText(label) {
  try {
    return cutText(toText(label), 1000);
  } catch {
    return inspect(label);
  }
}

// listAfter is what a spread would make, without the iterator a script may have replaced.
function listAfter(first, rest) {
  const list = copyList(first);
  for (let i = 0; i < rest.length; i++) list[list.length] = rest[i];
  return list;
}

function durationText(ms) {
  return ms < 1000 ? +numberToFixed(ms, 3) + 'ms' : numberToFixed(ms / 1000, 3) + 's';
}

// reportStopwatch writes the time since console.time(label), or a warning when there was none.
function reportStopwatch(method, label, rest) {
  label = labelText(label);
  const start = mapGet(stopwatches, label);
  if (start === undefined) {
    writeLine(OP.WARN, ["Warning: No such label '" + label + "' for console." + method + '()']);
    return;
  }
  if (method === 'timeEnd') mapDelete(stopwatches, label);
  if (logsFull) return;
  const text = label + ': ' + durationText(now() - start);
  writeLine(OP.LOG, listAfter(['%s', text], rest));
}

const consoleMethods = {
  log(...args) {
    writeLine(OP.LOG, args);
  },
  info(...args) {
    writeLine(OP.INFO, args);
  },
  warn(...args) {
    writeLine(OP.WARN, args);
  },
  error(...args) {
    writeLine(OP.ERROR, args);
  },
  debug(...args) {
    writeLine(OP.DEBUG, args);
  },
  trace(...args) {
    if (logsFull) return;
    let text = 'Trace';
    try {
      if (args.length > 0) text += ': ' + formatArguments(args);
      const stack = dataValue(new NativeError(), 'stack');
      const frames = typeof stack === 'string' ? scriptFrames(cutText(stack, MAX_NESTED_STRING)) : '';
      if (frames !== '') text += '\n' + stringSlice(frames, 0, frames.length - 1);
    } catch {
      text = 'Trace';
    }
    writeText(OP.LOG, text);
  },
  assert(condition = false, ...args) {
    if (condition || logsFull) return;
    if (args.length > 0 && typeof args[0] === 'string') args[0] = 'Assertion failed: ' + args[0];
    else if (args.length === 0) args = ['Assertion failed'];
    else args = listAfter(['Assertion failed:'], args);
    writeLine(OP.ERROR, args);
  },
  dir(value, options = undefined) {
    writeLine(OP.LOG, ['%O', value]);
  },
  table(data, columns = undefined) {
    if (logsFull) return;
    let text;
    try {
      text = tableText(data, columns);
    } catch {
      // shown as any other value below
    }
    if (text === undefined) writeLine(OP.LOG, [data]);
    else writeText(OP.LOG, text);
  },
  group(...args) {
    if (args.length > 0) writeLine(OP.LOG, args);
    groupDepth++;
  },
  groupCollapsed(...args) {
    if (args.length > 0) writeLine(OP.LOG, args);
    groupDepth++;
  },
  groupEnd() {
    if (groupDepth > 0) groupDepth--;
  },
  count(label = 'default') {
    label = labelText(label);
    const count = (mapGet(counters, label) ?? 0) + 1;
    mapSet(counters, label, count);
    writeLine(OP.LOG, ['%s', label + ': ' + count]);
  },
  countReset(label = 'default') {
    label = labelText(label);
    if (!mapDelete(counters, label)) writeLine(OP.WARN, ["Warning: Count for '" + label + "' does not exist"]);
  },
  time(label = 'default') {
    label = labelText(label);
    if (mapHas(stopwatches, label)) {
      writeLine(OP.WARN, ["Warning: Label '" + label + "' already exists for console.time()"]);
    } else {
      mapSet(stopwatches, label, now());
    }
  },
  timeEnd(label = 'default') {
    reportStopwatch('timeEnd', label, []);
  },
  timeLog(label = 'default', ...args) {
    reportStopwatch('timeLog', label, args);
  },
};
defineProperty(consoleMethods, symbolToStringTag, { __proto__: null, value: 'console', configurable: true });
defineGlobal('console', consoleMethods);

// tableText draws rows and columns of a plain object or array; undefined when the data is neither.
function tableText(data, columns) {
  if (!isObject(data)) return undefined;
  const kind = kindOf(data);
  if (kind !== 'Array' && kind !== 'Object') return undefined;
  const wanted = createList();
  if (isObject(columns) && kindOf(columns) === 'Array') {
    for (let i = 0; i < columns.length && i < MAX_TABLE_COLUMNS; i++) wanted[i] = labelText(dataValue(columns, i));
  }
  const fixed = wanted.length > 0;
  const heads = wanted;
  const rows = createList();
  let values = false;
  const keys = ownKeys(data);
  for (let i = 0; i < keys.length && rows.length < MAX_ITEMS; i++) {
    const descriptor = getOwnPropertyDescriptor(data, keys[i]);
    if (descriptor === undefined || !descriptor.enumerable) continue;
    const row = { __proto__: null, index: cellKey(keys[i]), cells: new NativeMap(), value: undefined };
    rows[rows.length] = row;
    const item = descriptor.value;
    const itemKind = isObject(item) ? kindOf(item) : '';
    if (itemKind !== 'Array' && itemKind !== 'Object') {
      row.value = cellText(descriptor);
      values = true;
      continue;
    }
    const fields = ownKeys(item);
    for (let k = 0; k < fields.length && k < 1000; k++) {
      const field = getOwnPropertyDescriptor(item, fields[k]);
      if (field === undefined || !field.enumerable) continue;
      const head = cellKey(fields[k]);
      let known = false;
      for (let h = 0; h < heads.length && !known; h++) known = heads[h] === head;
      if (!known && !fixed && heads.length < MAX_TABLE_COLUMNS) {
        heads[heads.length] = head;
        known = true;
      }
      if (known) mapSet(row.cells, head, cellText(field));
    }
  }
  return drawTable(heads, rows, values);
}

const cellKey = (key) => cutText(typeof key === 'symbol' ? symbolToString(key) : key, 50);

function cellText(descriptor) {
  if (!hasOwn(descriptor, 'value')) return propertyText(null, descriptor, 0);
  const state = { __proto__: null, left: 1000, above: createList(), indent: 0 };
  const text = inspectValue(state, descriptor.value, MAX_DEPTH);
  return cutText(stringIndexOf(text, '\n') < 0 ? text : joinList(splitText(text, '\n'), ' '), 100);
}

function drawTable(heads, rows, values) {
  const columns = createList();
  const add = (head, cell) => {
    const column = { __proto__: null, head, cells: createList(), width: head.length };
    for (let i = 0; i < rows.length; i++) {
      const text = cell(rows[i]) ?? '';
      column.cells[i] = text;
      if (text.length > column.width) column.width = text.length;
    }
    columns[columns.length] = column;
  };
  add('(index)', (row) => row.index);
  for (let i = 0; i < heads.length; i++) add(heads[i], (row) => mapGet(row.cells, heads[i]));
  if (values) add('Values', (row) => row.value);
  const rule = (left, middle, right) => {
    let text = left;
    for (let i = 0; i < columns.length; i++) text += (i > 0 ? middle : '') + stringRepeat('─', columns[i].width + 2);
    return text + right;
  };
  const line = (cell) => {
    let text = '';
    for (let i = 0; i < columns.length; i++) {
      const content = cell(columns[i]);
      text += '│ ' + content + stringRepeat(' ', columns[i].width - content.length + 1);
    }
    return text + '│';
  };
  let text = rule('┌', '┬', '┐') + '\n' + line((column) => column.head) + '\n' + rule('├', '┼', '┤');
  for (let i = 0; i < rows.length; i++) text += '\n' + line((column) => column.cells[i]);
  return text + '\n' + rule('└', '┴', '┘');
}
