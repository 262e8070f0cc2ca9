// URL, with its setters, and the link to its URLSearchParams; the parsing is in urlparse.js and urlhost.js.
// Guards against scripts that replace built-ins: the state is in private fields, the methods are looked up nowhere.

const usv = (value) => stringToWellFormed(toText(value));

function originOf(url) {
  if (url.scheme === 'blob') {
    const inner = url.opaque ? parseURL(url.path, null) : null;
    return inner !== null && (inner.scheme === 'http' || inner.scheme === 'https') ? originOf(inner) : 'null';
  }
  if (!isSpecial(url) || url.scheme === 'file') return 'null';
  return url.scheme + '://' + hostText(url);
}

function parseWithBase(input, base) {
  input = usv(input);
  let record = null;
  if (base !== undefined) {
    record = parseURL(usv(base), null);
    if (record === null) return null;
  }
  return parseURL(input, record);
}

function invalidURL() {
  const error = new NativeTypeError('Invalid URL');
  defineHidden(error, 'code', 'ERR_INVALID_URL');
  return error;
}

const cannotHavePort = (url) => url.host === null || url.host === '' || url.scheme === 'file';

let urlOf; // the record of a URL object, or undefined for anything else
let setURLQuery; // writes the text of a URLSearchParams into its URL

class URL {
  #url;
  #params = null;
  static {
    urlOf = (value) => (#url in value ? value.#url : undefined);
    setURLQuery = (target, text) => {
      target.#url.query = text === '' ? null : text;
    };
  }
  constructor(url, base = undefined) {
    if (arguments.length === 0) throw new NativeTypeError('URL needs a text');
    const record = parseWithBase(url, base);
    if (record === null) throw invalidURL();
    this.#url = record;
  }
  static canParse(url, base = undefined) {
    if (arguments.length === 0) throw new NativeTypeError('URL.canParse needs a text');
    return parseWithBase(url, base) !== null;
  }
  static parse(url, base = undefined) {
    if (arguments.length === 0) throw new NativeTypeError('URL.parse needs a text');
    const record = parseWithBase(url, base);
    return record === null ? null : new URL(urlText(record));
  }
  #refreshParams() {
    if (this.#params !== null) replaceParams(this.#params, this.#url.query ?? '');
  }
  get href() {
    return urlText(this.#url);
  }
  set href(value) {
    this.#url;
    const record = parseURL(usv(value), null);
    if (record === null) throw invalidURL();
    this.#url = record;
    this.#refreshParams();
  }
  get origin() {
    return originOf(this.#url);
  }
  get protocol() {
    return this.#url.scheme + ':';
  }
  set protocol(value) {
    const url = this.#url;
    const text = withoutTabs(usv(value)) + ':';
    const end = schemeEnd(text);
    if (end < 0) return;
    const scheme = stringToLowerCase(stringSlice(text, 0, end));
    if (isSpecial(url) !== (specialPorts[scheme] !== undefined)) return;
    if (scheme === 'file' && (url.username !== '' || url.password !== '' || url.port !== null)) return;
    if (url.scheme === 'file' && url.host === '') return;
    url.scheme = scheme;
    if (url.port === specialPorts[scheme]) url.port = null;
  }
  get username() {
    return this.#url.username;
  }
  set username(value) {
    const url = this.#url;
    value = usv(value);
    if (!cannotHavePort(url)) url.username = percentEncode(value, USERINFO_SET);
  }
  get password() {
    return this.#url.password;
  }
  set password(value) {
    const url = this.#url;
    value = usv(value);
    if (!cannotHavePort(url)) url.password = percentEncode(value, USERINFO_SET);
  }
  get host() {
    return hostText(this.#url);
  }
  set host(value) {
    assignHost(this.#url, withoutTabs(usv(value)), true);
  }
  get hostname() {
    return this.#url.host ?? '';
  }
  set hostname(value) {
    assignHost(this.#url, withoutTabs(usv(value)), false);
  }
  get port() {
    return this.#url.port === null ? '' : '' + this.#url.port;
  }
  set port(value) {
    const url = this.#url;
    value = withoutTabs(usv(value));
    if (cannotHavePort(url)) return;
    if (value === '') url.port = null;
    else assignPort(url, value);
  }
  get pathname() {
    return pathText(this.#url);
  }
  set pathname(value) {
    const url = this.#url;
    value = withoutTabs(usv(value));
    if (url.opaque) return;
    url.path = createList();
    if (isSlash(url, unitAt(value, 0))) {
      parsePath(url, value, 1, true);
    } else if (value !== '' || isSpecial(url)) {
      parsePath(url, value, 0, true);
    } else if (url.host === null) {
      url.path[0] = '';
    }
  }
  get search() {
    const query = this.#url.query;
    return query === null || query === '' ? '' : '?' + query;
  }
  set search(value) {
    const url = this.#url;
    value = withoutTabs(usv(value));
    if (unitAt(value, 0) === 63) value = stringSlice(value, 1);
    else if (value === '') value = null;
    url.query = value === null ? null : encodeQuery(url, value);
    this.#refreshParams();
  }
  get searchParams() {
    const url = this.#url;
    if (this.#params === null) this.#params = linkedParams(this, url.query ?? '');
    return this.#params;
  }
  get hash() {
    const fragment = this.#url.fragment;
    return fragment === null || fragment === '' ? '' : '#' + fragment;
  }
  set hash(value) {
    const url = this.#url;
    value = withoutTabs(usv(value));
    if (value === '') url.fragment = null;
    else url.fragment = percentEncode(unitAt(value, 0) === 35 ? stringSlice(value, 1) : value, FRAGMENT_SET);
  }
  toString() {
    return urlText(this.#url);
  }
  toJSON() {
    return urlText(this.#url);
  }
}
webClass(URL, 'URL', ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search',
  'searchParams', 'hash', 'toString', 'toJSON']);
defineProperty(URL, 'canParse', { enumerable: true });
defineProperty(URL, 'parse', { enumerable: true });
defineGlobal('URL', URL);

function assignHost(url, text, withPort) {
  if (url.opaque) return;
  const end = authorityEnd(url, text, 0);
  if (url.scheme === 'file') {
    const host = end === 0 ? '' : parseHost(stringSlice(text, 0, end), true);
    if (host !== null) url.host = host === 'localhost' ? '' : host;
    return;
  }
  const colon = portColon(text, 0, end);
  if (colon < end && (colon === 0 || !withPort)) return;
  if (colon === 0 && (isSpecial(url) || url.username !== '' || url.password !== '' || url.port !== null)) return;
  const host = parseHost(stringSlice(text, 0, colon), isSpecial(url));
  if (host === null) return;
  url.host = host;
  if (colon < end) assignPort(url, stringSlice(text, colon + 1, end));
}

function assignPort(url, text) {
  let end = 0;
  while (isDigit(unitAt(text, end))) end++;
  if (end === 0) return;
  const port = parsePort(stringSlice(text, 0, end));
  if (port !== null) url.port = port === specialPorts[url.scheme] ? null : port;
}
