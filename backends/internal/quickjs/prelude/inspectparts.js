// The parts of an inspected object: members, items, properties, and how they are laid out on lines.
// Guards against hostile values as inspect.js does: only own data properties are read, and everything is bounded.

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
    case 'Headers': {
      const pairs = sortedHeaders(headersOf(value));
      for (let i = 0; i < pairs.length && i < 2 * MAX_ITEMS; i += 2) {
        put(keyText(pairs[i]) + ': ' + inspectValue(state, pairs[i + 1], depth));
      }
      if (pairs.length > 2 * MAX_ITEMS) put(moreText(pairs.length / 2 - MAX_ITEMS, 'item'));
      break;
    }
    case 'Request':
    case 'Response':
      messageParts(value, kind, (label, part) => put(label + ': ' + inspectValue(state, part, depth)));
      break;
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
