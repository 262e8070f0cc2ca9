// The parser of the WHATWG URL standard, on records { scheme, username, password, host, port, path, opaque, query,
// fragment }. Guards against scripts that replace string, array or regular expression methods.
// Hosts that are not ASCII are normalised (NFKC), lowercased and written in Punycode: the mapping and validity
// tables of UTS 46 are not here, so a few names that it would refuse or map otherwise are taken as they are.

const specialPorts = { __proto__: null, http: 80, https: 443, ws: 80, wss: 443, ftp: 21, file: null };
const isSpecial = (url) => specialPorts[url.scheme] !== undefined;

const FRAGMENT_SET = ' "<>`';
const QUERY_SET = ' "#<>';
const SPECIAL_QUERY_SET = QUERY_SET + "'";
const PATH_SET = QUERY_SET + '?^`{}';
const USERINFO_SET = PATH_SET + '/:;=@[\\]|';
const FORM_SAFE = '*-._';

// Character codes: 47 '/', 92 '\', 58 ':', 63 '?', 35 '#', 64 '@', 46 '.', 37 '%'.
const isAlpha = (c) => (c | 32) >= 97 && (c | 32) <= 122;
const isDigit = (c) => c >= 48 && c <= 57;
const isHex = (c) => isDigit(c) || ((c | 32) >= 97 && (c | 32) <= 102);
const unitAt = (text, i) => (i < text.length ? charCodeAt(text, i) : -1);

function encodeCode(code) {
  let text = '';
  const byte = (b) => { text += (b < 16 ? '%0' : '%') + hexUpper(b); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      byte(0xe0 | (code >> 12));
    } else {
      byte(0xf0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 63));
    }
    byte(0x80 | ((code >> 6) & 63));
  }
  if (code >= 0x80) byte(0x80 | (code & 63));
  return text;
}

function hexUpper(byte) {
  const digit = (d) => fromCharCode(d < 10 ? 48 + d : 55 + d);
  return (byte > 15 ? digit(byte >> 4) : '') + digit(byte & 15);
}

// percentEncode escapes controls, everything that is not ASCII, and the characters of set.
function percentEncode(text, set) {
  let out = '';
  let plain = 0;
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i);
    if (c >= 0x20 && c <= 0x7e && stringIndexOf(set, fromCharCode(c)) < 0) continue;
    out += stringSlice(text, plain, i);
    const code = codePointAt(text, i);
    if (code > 0xffff) i++;
    out += encodeCode(code);
    plain = i + 1;
  }
  return plain === 0 ? text : out + stringSlice(text, plain);
}

function percentDecode(text) {
  if (stringIndexOf(text, '%') < 0) return text;
  const bytes = encodeUTF8(text);
  const length = typedArrayLength(bytes);
  let n = 0;
  for (let i = 0; i < length; i++) {
    let b = bytes[i];
    if (b === 37 && i + 2 < length && isHex(bytes[i + 1]) && isHex(bytes[i + 2])) {
      b = hexValue(bytes[i + 1]) * 16 + hexValue(bytes[i + 2]);
      i += 2;
    }
    bytes[n++] = b;
  }
  return decodeBytes(new NativeUint8Array(typedArrayBuffer(bytes), 0, n));
}

const hexValue = (c) => (isDigit(c) ? c - 48 : (c | 32) - 87);

const textDecode = uncurryThis(TextDecoder.prototype.decode);
let plainDecoder;
function decodeBytes(bytes) {
  plainDecoder ??= new TextDecoder('utf-8', { __proto__: null, ignoreBOM: true });
  return textDecode(plainDecoder, bytes);
}

function splitText(text, separator) {
  const parts = createList();
  let start = 0;
  for (;;) {
    const end = stringIndexOf(text, separator, start);
    parts[parts.length] = end < 0 ? stringSlice(text, start) : stringSlice(text, start, end);
    if (end < 0) return parts;
    start = end + separator.length;
  }
}

function withoutTabs(text) {
  let out = '';
  let plain = 0;
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i);
    if (c !== 9 && c !== 10 && c !== 13) continue;
    out += stringSlice(text, plain, i);
    plain = i + 1;
  }
  return plain === 0 ? text : out + stringSlice(text, plain);
}

function newURLRecord(scheme) {
  return { __proto__: null, scheme, username: '', password: '', host: null, port: null, path: createList(), opaque: false,
    query: null, fragment: null };
}

function copyList(list) {
  const copy = createList();
  for (let i = 0; i < list.length; i++) copy[i] = list[i];
  return copy;
}

const isSlash = (url, c) => c === 47 || (c === 92 && isSpecial(url));

function isDriveLetter(text, i, end) {
  if (end - i < 2 || !isAlpha(charCodeAt(text, i))) return false;
  const c = charCodeAt(text, i + 1);
  return c === 58 || c === 124;
}

function startsWithDrive(text, i) {
  if (!isDriveLetter(text, i, text.length)) return false;
  const c = unitAt(text, i + 2);
  return c === -1 || c === 47 || c === 92 || c === 63 || c === 35;
}

const isNormalDrive = (text) => text.length === 2 && isAlpha(charCodeAt(text, 0)) && charCodeAt(text, 1) === 58;

function shortenPath(url) {
  const path = url.path;
  if (url.scheme === 'file' && path.length === 1 && isNormalDrive(path[0])) return;
  if (path.length > 0) path.length--;
}

// schemeEnd is the index of the colon that ends a scheme, or -1.
function schemeEnd(text) {
  if (!isAlpha(unitAt(text, 0))) return -1;
  for (let i = 1; i < text.length; i++) {
    const c = charCodeAt(text, i);
    if (c === 58) return i;
    if (!isAlpha(c) && !isDigit(c) && c !== 43 && c !== 45 && c !== 46) return -1;
  }
  return -1;
}

// parseURL gives the record of text, relative to the record base if there is one, or null when it is no valid URL.
function parseURL(text, base) {
  let start = 0;
  let end = text.length;
  while (start < end && charCodeAt(text, start) <= 32) start++;
  while (end > start && charCodeAt(text, end - 1) <= 32) end--;
  text = withoutTabs(stringSlice(text, start, end));
  const colon = schemeEnd(text);
  if (colon < 0) {
    if (base === null) return null;
    if (base.opaque) {
      if (unitAt(text, 0) !== 35) return null;
      const url = newURLRecord(base.scheme);
      url.path = base.path;
      url.opaque = true;
      url.query = base.query;
      return parseTail(url, text, 0);
    }
    return base.scheme === 'file' ? parseFile(text, 0, base) : parseRelative(text, 0, base);
  }
  const url = newURLRecord(stringToLowerCase(stringSlice(text, 0, colon)));
  let p = colon + 1;
  if (url.scheme === 'file') return parseFile(text, p, base !== null && base.scheme === 'file' ? base : null);
  const doubleSlash = stringStartsWith(text, '//', p);
  if (isSpecial(url)) {
    if (base !== null && base.scheme === url.scheme && !doubleSlash) return parseRelative(text, p, base);
    return parseAuthority(url, text, skipSlashes(text, p));
  }
  if (doubleSlash) return parseAuthority(url, text, p + 2);
  if (unitAt(text, p) === 47) return parsePath(url, text, p + 1);
  url.opaque = true;
  const from = p;
  while (p < text.length && charCodeAt(text, p) !== 63 && charCodeAt(text, p) !== 35) p++;
  let path = percentEncode(stringSlice(text, from, p), '');
  if (p < text.length && charCodeAt(text, p - 1) === 32) path = stringSlice(path, 0, path.length - 1) + '%20';
  url.path = path;
  return parseTail(url, text, p);
}

function skipSlashes(text, p) {
  while (unitAt(text, p) === 47 || unitAt(text, p) === 92) p++;
  return p;
}

function parseRelative(text, p, base) {
  const url = newURLRecord(base.scheme);
  const c = unitAt(text, p);
  if (isSlash(url, c)) {
    const next = unitAt(text, p + 1);
    if (isSpecial(url) && (next === 47 || next === 92)) return parseAuthority(url, text, skipSlashes(text, p));
    if (next === 47) return parseAuthority(url, text, p + 2);
  }
  url.username = base.username;
  url.password = base.password;
  url.host = base.host;
  url.port = base.port;
  if (isSlash(url, c)) return parsePath(url, text, p + 1);
  return parseOnBase(url, text, p, base);
}

function parseOnBase(url, text, p, base) {
  url.path = copyList(base.path);
  const c = unitAt(text, p);
  if (c === -1 || c === 35) url.query = base.query;
  if (c === -1 || c === 35 || c === 63) return parseTail(url, text, p);
  if (url.scheme === 'file' && startsWithDrive(text, p)) url.path = createList();
  else shortenPath(url);
  return parsePath(url, text, p);
}

function parseFile(text, p, base) {
  const url = newURLRecord('file');
  url.host = '';
  const c = unitAt(text, p);
  if (!isSlash(url, c)) {
    if (base === null) return parsePath(url, text, p);
    url.host = base.host;
    return parseOnBase(url, text, p, base);
  }
  p++;
  if (!isSlash(url, unitAt(text, p))) {
    if (base !== null) {
      url.host = base.host;
      if (!startsWithDrive(text, p) && base.path.length > 0 && isNormalDrive(base.path[0])) url.path[0] = base.path[0];
    }
    return parsePath(url, text, p);
  }
  const from = ++p;
  p = authorityEnd(url, text, p);
  if (p - from === 2 && isDriveLetter(text, from, p)) return parsePath(url, text, from);
  if (p > from) {
    const host = parseHost(stringSlice(text, from, p), true);
    if (host === null) return null;
    if (host !== 'localhost') url.host = host;
  }
  return parsePathStart(url, text, p);
}

function authorityEnd(url, text, p) {
  for (; p < text.length; p++) {
    const c = charCodeAt(text, p);
    if (c === 63 || c === 35 || isSlash(url, c)) break;
  }
  return p;
}

function parseAuthority(url, text, p) {
  const end = authorityEnd(url, text, p);
  let at = -1;
  for (let i = p; i < end; i++) if (charCodeAt(text, i) === 64) at = i;
  if (at >= 0) {
    const user = stringSlice(text, p, at);
    const colon = stringIndexOf(user, ':');
    url.username = percentEncode(colon < 0 ? user : stringSlice(user, 0, colon), USERINFO_SET);
    if (colon >= 0) url.password = percentEncode(stringSlice(user, colon + 1), USERINFO_SET);
    p = at + 1;
    if (p === end) return null;
  }
  const colon = portColon(text, p, end);
  if (colon === p && colon < end) return null;
  if (colon === p && isSpecial(url)) return null;
  url.host = parseHost(stringSlice(text, p, colon), isSpecial(url));
  if (url.host === null) return null;
  if (colon + 1 < end) {
    const port = parsePort(stringSlice(text, colon + 1, end));
    if (port === null) return null;
    url.port = port === specialPorts[url.scheme] ? null : port;
  }
  return parsePathStart(url, text, end);
}

// portColon is the index of the colon before a port, outside of brackets, or end.
function portColon(text, p, end) {
  let inside = false;
  for (; p < end; p++) {
    const c = charCodeAt(text, p);
    if (c === 91) inside = true;
    else if (c === 93) inside = false;
    else if (c === 58 && !inside) break;
  }
  return p;
}

function parsePort(digits) {
  let port = 0;
  for (let i = 0; i < digits.length; i++) {
    const c = charCodeAt(digits, i);
    if (!isDigit(c)) return null;
    port = port * 10 + c - 48;
    if (port > 65535) return null;
  }
  return port;
}

function parsePathStart(url, text, p) {
  const c = unitAt(text, p);
  if (isSlash(url, c)) p++;
  else if (!isSpecial(url) && (c === -1 || c === 63 || c === 35)) return parseTail(url, text, p);
  return parsePath(url, text, p);
}

// parsePath reads segments from p on; with whole set, '?' and '#' belong to the path.
function parsePath(url, text, p, whole) {
  const path = url.path;
  for (;;) {
    const from = p;
    let c = -1;
    for (; p < text.length; p++) {
      c = charCodeAt(text, p);
      if (isSlash(url, c) || (!whole && (c === 63 || c === 35))) break;
    }
    const slash = p < text.length && isSlash(url, c);
    let segment = percentEncode(stringSlice(text, from, p), PATH_SET);
    const dots = dotCount(segment);
    if (dots === 2) shortenPath(url);
    if (dots > 0) {
      if (!slash) path[path.length] = '';
    } else {
      if (url.scheme === 'file' && path.length === 0 && segment.length === 2 && isDriveLetter(segment, 0, 2)) {
        segment = stringSlice(segment, 0, 1) + ':';
      }
      path[path.length] = segment;
    }
    if (!slash) return parseTail(url, text, p);
    p++;
  }
}

// dotCount is 1 for ".", 2 for "..", written plainly or as %2e, otherwise 0.
function dotCount(segment) {
  if (segment.length > 6) return 0;
  let dots = 0;
  for (let i = 0; i < segment.length; i++) {
    if (charCodeAt(segment, i) !== 46) {
      if (charCodeAt(segment, i) !== 37 || stringToLowerCase(stringSlice(segment, i, i + 3)) !== '%2e') return 0;
      i += 2;
    }
    dots++;
  }
  return dots > 2 ? 0 : dots;
}

function parseTail(url, text, p) {
  if (unitAt(text, p) === 63) {
    const hash = stringIndexOf(text, '#', p);
    const end = hash < 0 ? text.length : hash;
    url.query = encodeQuery(url, stringSlice(text, p + 1, end));
    p = end;
  }
  if (unitAt(text, p) === 35) url.fragment = percentEncode(stringSlice(text, p + 1), FRAGMENT_SET);
  return url;
}

const encodeQuery = (url, text) => percentEncode(text, isSpecial(url) ? SPECIAL_QUERY_SET : QUERY_SET);

function pathText(url) {
  if (url.opaque) return url.path;
  let text = '';
  for (let i = 0; i < url.path.length; i++) text += '/' + url.path[i];
  return text;
}

function hostText(url) {
  if (url.host === null) return '';
  return url.port === null ? url.host : url.host + ':' + url.port;
}

function urlText(url) {
  let text = url.scheme + ':';
  if (url.host !== null) {
    text += '//';
    if (url.username !== '' || url.password !== '') {
      text += url.username + (url.password === '' ? '' : ':' + url.password) + '@';
    }
    text += hostText(url);
  } else if (!url.opaque && url.path.length > 1 && url.path[0] === '') {
    text += '/.';
  }
  return text + pathText(url) + (url.query === null ? '' : '?' + url.query) + (url.fragment === null ? '' : '#' + url.fragment);
}
