// Headers of the web's fetch standard: a list lowercase name, value, name, value... in the order of appending.
// Guards against scripts that replace built-ins, as urlparams.js does; the names that browsers keep to themselves
// (host, cookie, set-cookie...) are for the host to judge.

const TOKEN_MARKS = "!#$%&'*+-.^_`|~";

function isToken(text) {
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i);
    if (!isAlpha(c) && !isDigit(c) && (c >= 0x80 || stringIndexOf(TOKEN_MARKS, fromCharCode(c)) < 0)) return false;
  }
  return text !== '';
}

function headerName(name) {
  if (!isToken(name)) throw new NativeTypeError('A header name must be of letters, digits and ' + TOKEN_MARKS);
  return stringToLowerCase(name);
}

const isHeaderBlank = (c) => c === 32 || c === 9 || c === 10 || c === 13;

function headerValue(value) {
  let start = 0;
  let end = value.length;
  while (start < end && isHeaderBlank(charCodeAt(value, start))) start++;
  while (end > start && isHeaderBlank(charCodeAt(value, end - 1))) end--;
  for (let i = start; i < end; i++) {
    const c = charCodeAt(value, i);
    if (c > 0xff || c === 0 || c === 10 || c === 13) {
      throw new NativeTypeError('A header value must have no line ends, no NUL and no characters above U+00FF');
    }
  }
  return stringSlice(value, start, end);
}

// headerIndex is where the first value of a name stands, after the name; -1 if there is none.
function headerIndex(pairs, name) {
  for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return i + 1;
  return -1;
}

// sortedHeaders is what iterating shows: names in order, values of one name joined, except those of set-cookie.
function sortedHeaders(record) {
  if (record.sorted !== null) return record.sorted;
  const { pairs } = record;
  const order = createList();
  for (let i = 0; i < pairs.length; i += 2) order[i / 2] = { __proto__: null, name: pairs[i], value: pairs[i + 1] };
  arraySort(order, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)); // stable
  const sorted = createList();
  for (let i = 0; i < order.length; i++) {
    const { name, value } = order[i];
    if (i > 0 && name === order[i - 1].name && name !== 'set-cookie') {
      sorted[sorted.length - 1] += ', ' + value;
    } else {
      sorted[sorted.length] = name;
      sorted[sorted.length] = value;
    }
  }
  record.sorted = sorted;
  return sorted;
}

function appendHeader(record, name, value) {
  name = headerName(name);
  value = headerValue(value);
  const { pairs } = record;
  pairs[pairs.length] = name;
  pairs[pairs.length] = value;
  record.sorted = null;
}

let headersOf; // the record { pairs, sorted, fixed } of a Headers, or undefined for anything else
let headersFrom; // a Headers of pairs that need no check; fixed ones refuse changes

const HeadersIterator = pairIterator('Headers Iterator');

class Headers {
  #record = { __proto__: null, pairs: createList(), sorted: null, fixed: false };
  static {
    headersOf = (value) => (#record in value ? value.#record : undefined);
    headersFrom = (pairs, fixed) => {
      const headers = new Headers();
      headers.#record.pairs = pairs;
      headers.#record.fixed = fixed;
      return headers;
    };
  }
  constructor(init = undefined) {
    const record = this.#record;
    if (init === undefined) return;
    if (!isObject(init)) throw new NativeTypeError('Headers must be an object, or a list of names and values');
    const other = headersOf(init);
    if (other !== undefined) record.pairs = copyList(sortedHeaders(other));
    else eachPair(init, 'header', toText, (name, value) => appendHeader(record, name, value));
  }
  // The record, where it may be changed.
  #changed() {
    const record = this.#record;
    if (record.fixed) throw new NativeTypeError('The headers of a response to fetch cannot be changed; new Headers(headers) makes a copy');
    record.sorted = null;
    return record;
  }
  #remove(name, from) {
    const { pairs } = this.#record;
    let kept = from;
    for (let i = from; i < pairs.length; i += 2) {
      if (pairs[i] === name) continue;
      pairs[kept] = pairs[i];
      pairs[kept + 1] = pairs[i + 1];
      kept += 2;
    }
    pairs.length = kept;
  }
  append(name, value) {
    this.#record;
    needs(2, arguments.length);
    name = toText(name);
    value = toText(value);
    appendHeader(this.#changed(), name, value);
  }
  delete(name) {
    this.#record;
    needs(1, arguments.length);
    name = headerName(toText(name));
    this.#changed();
    this.#remove(name, 0);
  }
  get(name) {
    this.#record;
    needs(1, arguments.length);
    name = headerName(toText(name));
    const { pairs } = this.#record;
    const first = headerIndex(pairs, name);
    if (first < 0) return null;
    let text = pairs[first];
    for (let i = first + 1; i < pairs.length; i += 2) if (pairs[i] === name) text += ', ' + pairs[i + 1];
    return text;
  }
  getSetCookie() {
    const { pairs } = this.#record;
    const values = [];
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === 'set-cookie') setOwn(values, values.length, pairs[i + 1]);
    return values;
  }
  has(name) {
    this.#record;
    needs(1, arguments.length);
    name = headerName(toText(name));
    return headerIndex(this.#record.pairs, name) >= 0;
  }
  set(name, value) {
    this.#record;
    needs(2, arguments.length);
    name = headerName(toText(name));
    value = headerValue(toText(value));
    const { pairs } = this.#changed();
    let at = headerIndex(pairs, name);
    if (at < 0) at = pairs.length + 1;
    pairs[at - 1] = name;
    pairs[at] = value;
    this.#remove(name, at + 1);
  }
  forEach(callback, thisArg = undefined) {
    const record = this.#record;
    needs(1, arguments.length);
    if (typeof callback !== 'function') throw new NativeTypeError('The callback must be a function');
    for (let i = 0; i < sortedHeaders(record).length; i += 2) {
      const pairs = sortedHeaders(record); // as they are now: the callback may have changed them
      apply(callback, thisArg, [pairs[i + 1], pairs[i], this]);
    }
  }
  entries() {
    const record = this.#record;
    return new HeadersIterator(() => sortedHeaders(record), 2);
  }
  keys() {
    const record = this.#record;
    return new HeadersIterator(() => sortedHeaders(record), 0);
  }
  values() {
    const record = this.#record;
    return new HeadersIterator(() => sortedHeaders(record), 1);
  }
}
webClass(Headers, 'Headers', ['append', 'delete', 'get', 'getSetCookie', 'has', 'set', 'forEach', 'entries', 'keys', 'values']);
defineHidden(Headers.prototype, symbolIterator, Headers.prototype.entries);
