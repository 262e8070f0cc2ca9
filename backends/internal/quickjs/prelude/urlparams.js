// URLSearchParams: a list of pairs, written back into the URL it came from, if any.
// Guards against scripts that replace array iteration or string methods; an array given by a script is read by index.

const IteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));

// parseForm reads application/x-www-form-urlencoded text into a list name, value, name, value...
function parseForm(text) {
  const pairs = createList();
  const parts = splitText(text, '&');
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part === '') continue;
    const equals = stringIndexOf(part, '=');
    pairs[pairs.length] = formDecode(equals < 0 ? part : stringSlice(part, 0, equals));
    pairs[pairs.length] = equals < 0 ? '' : formDecode(stringSlice(part, equals + 1));
  }
  return pairs;
}

function formDecode(text) {
  if (stringIndexOf(text, '+') >= 0) text = joinList(splitText(text, '+'), ' ');
  return percentDecode(text);
}

function joinList(list, separator) {
  let text = '';
  for (let i = 0; i < list.length; i++) text += (i === 0 ? '' : separator) + list[i];
  return text;
}

function formEncode(text) {
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const code = codePointAt(text, i);
    if (code > 0xffff) i++;
    if (code === 32) out += '+';
    else if (code < 0x80 && (isAlpha(code) || isDigit(code) || stringIndexOf(FORM_SAFE, fromCharCode(code)) >= 0)) {
      out += fromCharCode(code);
    } else {
      out += encodeCode(code);
    }
  }
  return out;
}

function formText(pairs) {
  let text = '';
  for (let i = 0; i < pairs.length; i += 2) text += (i === 0 ? '' : '&') + formEncode(pairs[i]) + '=' + formEncode(pairs[i + 1]);
  return text;
}

// iteratorOf is the method that eachItem needs; undefined when the object is not iterable.
function iteratorOf(object) {
  if (isArray(object) && !isProxy(object)) return eachItem; // not called: arrays are read by index
  return object[symbolIterator] ?? undefined;
}

// eachItem calls visit for every item of an iterable, arrays by index.
function eachItem(iterable, method, visit) {
  if (isArray(iterable) && !isProxy(iterable)) {
    for (let i = 0; i < iterable.length; i++) visit(iterable[i]);
    return;
  }
  const iterator = apply(method, iterable, []);
  if (!isObject(iterator)) throw new NativeTypeError('The iterator is not an object');
  const next = iterator.next;
  for (;;) {
    const step = apply(next, iterator, []);
    if (!isObject(step)) throw new NativeTypeError('The iterator result is not an object');
    if (step.done) return;
    visit(step.value);
  }
}

// eachPair calls visit for the pairs of an iterable, or the properties of a record; convert makes texts of both parts.
function eachPair(init, what, convert, visit) {
  const method = iteratorOf(init);
  if (method !== undefined) {
    eachItem(init, method, (pair) => {
      const parts = createList();
      const itemMethod = isObject(pair) ? iteratorOf(pair) : undefined;
      if (itemMethod === undefined) throw new NativeTypeError('Each ' + what + ' must be iterable');
      eachItem(pair, itemMethod, (item) => {
        if (parts.length === 2) throw new NativeTypeError('Each ' + what + ' must be a name and a value');
        parts[parts.length] = convert(item);
      });
      if (parts.length !== 2) throw new NativeTypeError('Each ' + what + ' must be a name and a value');
      visit(parts[0], parts[1], false);
    });
    return;
  }
  const keys = ownKeys(init);
  for (let i = 0; i < keys.length; i++) {
    const descriptor = getOwnPropertyDescriptor(init, keys[i]);
    if (descriptor === undefined || !descriptor.enumerable) continue;
    const name = convert(keys[i]);
    visit(name, convert(init[keys[i]]), true);
  }
}

function pairsOf(init) {
  if (!isObject(init)) {
    const text = usv(init);
    return parseForm(unitAt(text, 0) === 63 ? stringSlice(text, 1) : text);
  }
  const own = paramsOf(init);
  if (own !== undefined) return copyList(own);
  const pairs = createList();
  eachPair(init, 'query pair', usv, (name, value, ofRecord) => {
    let at = ofRecord ? 0 : pairs.length; // keys of a record may become equal once they are well-formed
    while (at < pairs.length && pairs[at] !== name) at += 2;
    pairs[at] = name;
    pairs[at + 1] = value;
  });
  return pairs;
}

let paramsOf; // the pairs of a URLSearchParams, or undefined for anything else
let replaceParams; // reads them anew from a query
let linkedParams; // makes those of a URL

const needs = (count, given) => {
  if (given < count) throw new NativeTypeError(count + ' argument' + (count > 1 ? 's' : '') + ' required, only ' + given + ' present');
};

class URLSearchParams {
  #pairs;
  #owner = null;
  static {
    paramsOf = (value) => (#pairs in value ? value.#pairs : undefined);
    replaceParams = (params, query) => {
      params.#pairs = parseForm(query);
    };
    linkedParams = (owner, query) => {
      const params = new URLSearchParams();
      params.#pairs = parseForm(query);
      params.#owner = owner;
      return params;
    };
  }
  constructor(init = '') {
    this.#pairs = pairsOf(init);
  }
  #update() {
    if (this.#owner !== null) setURLQuery(this.#owner, formText(this.#pairs));
  }
  #remove(name, value, from) {
    const pairs = this.#pairs;
    let kept = from;
    for (let i = from; i < pairs.length; i += 2) {
      if (pairs[i] === name && (value === undefined || pairs[i + 1] === value)) continue;
      pairs[kept] = pairs[i];
      pairs[kept + 1] = pairs[i + 1];
      kept += 2;
    }
    pairs.length = kept;
  }
  get size() {
    return this.#pairs.length / 2;
  }
  append(name, value) {
    const pairs = this.#pairs;
    needs(2, arguments.length);
    name = usv(name);
    value = usv(value);
    pairs[pairs.length] = name;
    pairs[pairs.length] = value;
    this.#update();
  }
  delete(name, value = undefined) {
    this.#pairs;
    needs(1, arguments.length);
    name = usv(name);
    if (value !== undefined) value = usv(value);
    this.#remove(name, value, 0);
    this.#update();
  }
  get(name) {
    this.#pairs;
    needs(1, arguments.length);
    name = usv(name);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) return pairs[i + 1];
    return null;
  }
  getAll(name) {
    this.#pairs;
    needs(1, arguments.length);
    name = usv(name);
    const pairs = this.#pairs;
    const values = [];
    for (let i = 0; i < pairs.length; i += 2) if (pairs[i] === name) setOwn(values, values.length, pairs[i + 1]);
    return values;
  }
  has(name, value = undefined) {
    this.#pairs;
    needs(1, arguments.length);
    name = usv(name);
    if (value !== undefined) value = usv(value);
    const pairs = this.#pairs;
    for (let i = 0; i < pairs.length; i += 2) {
      if (pairs[i] === name && (value === undefined || pairs[i + 1] === value)) return true;
    }
    return false;
  }
  set(name, value) {
    this.#pairs;
    needs(2, arguments.length);
    name = usv(name);
    value = usv(value);
    const pairs = this.#pairs;
    let at = 0;
    while (at < pairs.length && pairs[at] !== name) at += 2;
    pairs[at] = name;
    pairs[at + 1] = value;
    this.#remove(name, undefined, at + 2);
    this.#update();
  }
  sort() {
    const pairs = this.#pairs;
    const order = createList();
    for (let i = 0; i < pairs.length; i += 2) order[i / 2] = { __proto__: null, name: pairs[i], value: pairs[i + 1] };
    arraySort(order, (a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    for (let i = 0; i < order.length; i++) {
      pairs[2 * i] = order[i].name;
      pairs[2 * i + 1] = order[i].value;
    }
    this.#update();
  }
  forEach(callback, thisArg = undefined) {
    this.#pairs;
    needs(1, arguments.length);
    if (typeof callback !== 'function') throw new NativeTypeError('The callback must be a function');
    for (let i = 0; i < this.#pairs.length; i += 2) apply(callback, thisArg, [this.#pairs[i + 1], this.#pairs[i], this]);
  }
  entries() {
    this.#pairs;
    return new ParamsIterator(() => this.#pairs, 2);
  }
  keys() {
    this.#pairs;
    return new ParamsIterator(() => this.#pairs, 0);
  }
  values() {
    this.#pairs;
    return new ParamsIterator(() => this.#pairs, 1);
  }
  toString() {
    return formText(this.#pairs);
  }
}

// pairIterator makes the class of an interface's iterators. They are live, as the web's: they see pairs added while they run.
function pairIterator(tag) {
  class PairIterator {
    #list;
    #kind;
    #next = 0;
    constructor(list, kind) {
      this.#list = list;
      this.#kind = kind;
    }
    next() {
      const pairs = this.#list();
      const i = this.#next;
      if (i >= pairs.length) return { value: undefined, done: true };
      this.#next += 2;
      return { value: this.#kind === 2 ? [pairs[i], pairs[i + 1]] : pairs[i + this.#kind], done: false };
    }
  }
  delete PairIterator.prototype.constructor;
  setPrototypeOf(PairIterator.prototype, IteratorPrototype);
  webClass(PairIterator, tag, ['next']);
  return PairIterator;
}
const ParamsIterator = pairIterator('URLSearchParams Iterator');

webClass(URLSearchParams, 'URLSearchParams', ['size', 'append', 'delete', 'get', 'getAll', 'has', 'set', 'sort', 'forEach',
  'entries', 'keys', 'values', 'toString']);
defineHidden(URLSearchParams.prototype, symbolIterator, URLSearchParams.prototype.entries);
defineGlobal('URLSearchParams', URLSearchParams);
