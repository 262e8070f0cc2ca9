// Hosts of the WHATWG URL standard: domains with Punycode, IPv4 in all its spellings, IPv6, and opaque hosts.
// Guards, as the parser does, against scripts that replace built-ins.

const FORBIDDEN_HOST = '\0\t\n\r #/:<>?@[\\]^|';

// parseHost gives the serialised host, or null when it is not valid.
function parseHost(text, special) {
  if (unitAt(text, 0) === 91) {
    if (charCodeAt(text, text.length - 1) !== 93) return null;
    const pieces = parseIPv6(stringSlice(text, 1, text.length - 1));
    return pieces === null ? null : '[' + ipv6Text(pieces) + ']';
  }
  if (!special) {
    for (let i = 0; i < text.length; i++) {
      if (stringIndexOf(FORBIDDEN_HOST, fromCharCode(charCodeAt(text, i))) >= 0) return null;
    }
    return percentEncode(text, '');
  }
  const domain = domainToASCII(percentDecode(text));
  if (domain === null || domain === '') return null;
  for (let i = 0; i < domain.length; i++) {
    const c = charCodeAt(domain, i);
    if (c <= 32 || c === 37 || c >= 127 || stringIndexOf(FORBIDDEN_HOST, fromCharCode(c)) >= 0) return null;
  }
  return endsInNumber(domain) ? parseIPv4(domain) : domain;
}

function domainToASCII(text) {
  let ascii = true;
  for (let i = 0; i < text.length && ascii; i++) ascii = charCodeAt(text, i) < 0x80;
  if (!ascii) text = mapDomain(text);
  else text = stringToLowerCase(text);
  if (ascii && stringIndexOf(text, 'xn--') < 0) return text;
  const labels = splitText(text, '.');
  let out = '';
  for (let i = 0; i < labels.length; i++) {
    const label = labels[i];
    let plain = true;
    for (let k = 0; k < label.length; k++) {
      const c = charCodeAt(label, k);
      if (c >= 0x80) plain = false;
      if (c === 0xfffd || (c >= 0x80 && c < 0xa0)) return null;
    }
    if (plain && stringStartsWith(label, 'xn--') && !isPunycode(label)) return null;
    out += (i === 0 ? '' : '.') + (plain ? label : 'xn--' + punycode(label));
  }
  return out;
}

// mapDomain lowercases character by character (a final sigma has no place here), drops what is ignored in names and
// reads the other full stops as '.'.
function mapDomain(text) {
  text = stringNormalize(text, 'NFKC');
  let out = '';
  for (let i = 0; i < text.length; i++) {
    const code = codePointAt(text, i);
    if (code > 0xffff) i++;
    if (code === 0xad || code === 0x200b || code === 0x2060 || code === 0xfeff || (code >= 0xfe00 && code <= 0xfe0f)) continue;
    out += code === 0x3002 ? '.' : stringToLowerCase(fromCodePoint(code));
  }
  return stringNormalize(out, 'NFKC');
}

const adaptBias = (delta, count, first) => {
  delta = mathFloor(delta / (first ? 700 : 2));
  delta += mathFloor(delta / count);
  let k = 0;
  for (; delta > 455; k += 36) delta = mathFloor(delta / 35);
  return k + mathFloor((36 * delta) / (delta + 38));
};

// punycode is the encoder of RFC 3492.
function punycode(label) {
  let out = '';
  const codes = createList();
  for (let i = 0; i < label.length; i++) {
    const code = codePointAt(label, i);
    if (code > 0xffff) i++;
    codes[codes.length] = code;
    if (code < 0x80) out += fromCharCode(code);
  }
  const basic = out.length;
  let handled = basic;
  if (basic > 0) out += '-';
  let n = 0x80;
  let delta = 0;
  let bias = 72;
  while (handled < codes.length) {
    let next = 0x110000;
    for (let i = 0; i < codes.length; i++) if (codes[i] >= n && codes[i] < next) next = codes[i];
    delta += (next - n) * (handled + 1);
    n = next;
    for (let i = 0; i < codes.length; i++) {
      if (codes[i] < n) delta++;
      if (codes[i] !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        const digit = t + ((q - t) % (36 - t));
        out += fromCharCode(digit < 26 ? 97 + digit : 22 + digit);
        q = mathFloor((q - t) / (36 - t));
      }
      out += fromCharCode(q < 26 ? 97 + q : 22 + q);
      bias = adaptBias(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return out;
}

// isPunycode tells whether the label decodes to a name that is written the same way again.
function isPunycode(label) {
  let mark = -1;
  for (let i = 4; i < label.length; i++) if (charCodeAt(label, i) === 45) mark = i;
  const codes = createList();
  for (let i = 4; i < mark; i++) codes[codes.length] = charCodeAt(label, i);
  let n = 0x80;
  let at = 0;
  let bias = 72;
  for (let p = mark < 0 ? 4 : mark + 1; p < label.length;) {
    const before = at;
    let weight = 1;
    for (let k = 36; ; k += 36) {
      const c = unitAt(label, p++);
      const digit = isDigit(c) ? c - 22 : isAlpha(c) ? (c | 32) - 97 : 36;
      if (digit > 35) return false;
      at += digit * weight;
      if (at > 0x7fffffff) return false;
      const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < t) break;
      weight *= 36 - t;
    }
    const count = codes.length + 1;
    bias = adaptBias(at - before, count, before === 0);
    n += mathFloor(at / count);
    at %= count;
    if (n < 0xa0 || n > 0x10ffff || isSurrogate(n)) return false;
    for (let i = codes.length; i > at; i--) codes[i] = codes[i - 1];
    codes[at++] = n;
  }
  const name = apply(fromCodePoint, undefined, codes);
  let ascii = true;
  for (let i = 0; i < codes.length && ascii; i++) ascii = codes[i] < 0x80;
  return !ascii && mapDomain(name) === name && 'xn--' + punycode(name) === label;
}

// ipv4Number reads decimal, octal (0...) or hexadecimal (0x...) digits; -1 when it is no number.
function ipv4Number(text) {
  if (text === '') return -1;
  let radix = 10;
  if (text.length > 1 && charCodeAt(text, 0) === 48) {
    radix = (charCodeAt(text, 1) | 32) === 120 ? 16 : 8;
    text = stringSlice(text, radix === 16 ? 2 : 1);
  }
  let value = 0;
  for (let i = 0; i < text.length; i++) {
    const c = charCodeAt(text, i);
    const digit = isHex(c) ? hexValue(c) : 99;
    if (digit >= radix) return -1;
    value = value * radix + digit;
  }
  return value;
}

function hostParts(text) {
  const parts = splitText(text, '.');
  if (parts.length > 1 && parts[parts.length - 1] === '') parts.length--;
  return parts;
}

function endsInNumber(text) {
  const parts = hostParts(text);
  const last = parts[parts.length - 1];
  if (last === '') return false;
  let digits = true;
  for (let i = 0; i < last.length && digits; i++) digits = isDigit(charCodeAt(last, i));
  return digits || ipv4Number(last) >= 0;
}

function parseIPv4(text) {
  const parts = hostParts(text);
  if (parts.length > 4) return null;
  let address = 0;
  for (let i = 0; i < parts.length; i++) {
    const value = ipv4Number(parts[i]);
    if (value < 0) return null;
    const last = i === parts.length - 1;
    if (value >= (last ? 256 ** (5 - parts.length) : 256)) return null;
    address += last ? value : value * 256 ** (3 - i);
  }
  return mathFloor(address / 16777216) + '.' + (mathFloor(address / 65536) % 256) + '.' + (mathFloor(address / 256) % 256)
    + '.' + (address % 256);
}

function parseIPv6(text) {
  const pieces = createList();
  for (let i = 0; i < 8; i++) pieces[i] = 0;
  let index = 0;
  let gap = -1;
  let p = 0;
  if (unitAt(text, p) === 58) {
    if (unitAt(text, 1) !== 58) return null;
    p = 2;
    gap = ++index;
  }
  while (p < text.length) {
    if (index === 8) return null;
    if (charCodeAt(text, p) === 58) {
      if (gap >= 0) return null;
      p++;
      gap = ++index;
      continue;
    }
    let value = 0;
    const from = p;
    for (; p - from < 4 && isHex(unitAt(text, p)); p++) value = value * 16 + hexValue(charCodeAt(text, p));
    const c = unitAt(text, p);
    if (c === 46) {
      if (p === from || index > 6 || !embedIPv4(text, from, pieces, index)) return null;
      index += 2;
      break;
    }
    if (c === 58) {
      if (++p === text.length) return null;
    } else if (c !== -1) {
      return null;
    }
    pieces[index++] = value;
  }
  if (gap < 0) return index === 8 ? pieces : null;
  for (let to = 7, n = index - gap; to > 0 && n > 0; to--, n--) {
    const from = gap + n - 1;
    const value = pieces[to];
    pieces[to] = pieces[from];
    pieces[from] = value;
  }
  return pieces;
}

function embedIPv4(text, p, pieces, index) {
  for (let seen = 0; seen < 4; seen++) {
    if (seen > 0 && unitAt(text, p++) !== 46) return false;
    const from = p;
    let value = 0;
    for (; isDigit(unitAt(text, p)); p++) {
      if (p > from && value === 0) return false;
      value = value * 10 + charCodeAt(text, p) - 48;
      if (value > 255) return false;
    }
    if (p === from) return false;
    const piece = index + (seen >> 1);
    pieces[piece] = pieces[piece] * 256 + value;
  }
  return p === text.length;
}

function ipv6Text(pieces) {
  let best = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let n = 0;
    while (i + n < 8 && pieces[i + n] === 0) n++;
    if (n > bestLength) {
      best = i;
      bestLength = n;
    }
    i += n;
  }
  let text = '';
  for (let i = 0; i < 8; i++) {
    if (i === best) {
      text += i === 0 ? '::' : ':';
      i += bestLength - 1;
      continue;
    }
    text += numberToString(pieces[i], 16) + (i < 7 ? ':' : '');
  }
  return text;
}
