// TextEncoder and TextDecoder (UTF-8, UTF-16 and windows-1252 with its aliases) of the web's encoding standard.
// atob and btoa are the engine's own. Guards against scripts that replace typed array or string methods: only
// indexes of private arrays and captured functions are used.

const isSurrogate = (unit) => unit >= 0xd800 && unit <= 0xdfff;

class TextEncoder {
  #self = this;
  get encoding() {
    this.#self;
    return 'utf-8';
  }
  encode(input = '') {
    this.#self;
    return encodeUTF8(toText(input));
  }
  encodeInto(source, destination) {
    this.#self;
    source = toText(source);
    if (!isObject(destination) || !isView(destination) || typedArrayTag(destination) !== 'Uint8Array') {
      throw new NativeTypeError('The destination must be a Uint8Array');
    }
    const room = typedArrayLength(destination);
    const state = { __proto__: null, read: 0, written: 0 };
    fillUTF8(source, bytesOf(destination), room, state);
    return { read: state.read, written: state.written };
  }
}
webClass(TextEncoder, 'TextEncoder', ['encoding', 'encode', 'encodeInto']);
defineHidden(TextEncoder.prototype.encode, 'length', 0);
defineGlobal('TextEncoder', TextEncoder);

function encodeUTF8(text) {
  const length = text.length;
  let bytes = new NativeUint8Array(length);
  const state = { __proto__: null, read: 0, written: 0 };
  fillUTF8(text, bytes, length, state);
  if (state.read < length) {
    const larger = new NativeUint8Array(state.written + 3 * (length - state.read));
    typedArraySet(larger, bytes);
    fillUTF8(text, larger, typedArrayLength(larger), state);
    bytes = larger;
  }
  if (state.written === typedArrayLength(bytes)) return bytes;
  return new NativeUint8Array(arrayBufferTransfer(typedArrayBuffer(bytes), state.written));
}

// fillUTF8 goes on from state until the text ends or the next character does not fit in room bytes.
function fillUTF8(text, bytes, room, state) {
  const length = text.length;
  let { read, written } = state;
  while (read < length) {
    let code = charCodeAt(text, read);
    if (code < 0x80) {
      if (written >= room) break;
      bytes[written++] = code;
      read++;
      continue;
    }
    let units = 1;
    if (isSurrogate(code)) {
      code = codePointAt(text, read);
      if (code > 0xffff) units = 2;
      else code = 0xfffd;
    }
    if (code < 0x800) {
      if (written + 2 > room) break;
      bytes[written++] = 0xc0 | (code >> 6);
    } else {
      if (written + (code < 0x10000 ? 3 : 4) > room) break;
      if (code < 0x10000) {
        bytes[written++] = 0xe0 | (code >> 12);
      } else {
        bytes[written++] = 0xf0 | (code >> 18);
        bytes[written++] = 0x80 | ((code >> 12) & 63);
      }
      bytes[written++] = 0x80 | ((code >> 6) & 63);
    }
    bytes[written++] = 0x80 | (code & 63);
    read += units;
  }
  state.read = read;
  state.written = written;
}

const encodingLabels = {
  __proto__: null,
  'utf-8': '|utf-8|utf8|unicode-1-1-utf-8|unicode11utf8|unicode20utf8|x-unicode20utf8|',
  'utf-16le': '|utf-16le|utf-16|ucs-2|unicode|csunicode|iso-10646-ucs-2|unicodefeff|',
  'utf-16be': '|utf-16be|unicodefffe|',
  'windows-1252': '|windows-1252|latin1|ascii|us-ascii|iso-8859-1|iso8859-1|iso88591|iso_8859-1|iso_8859-1:1987|l1|cp1252|'
    + 'x-cp1252|cp819|ibm819|iso-ir-100|csisolatin1|ansi_x3.4-1968|',
};
const windows1252 = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f'
  + '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

function encodingOf(label) {
  let start = 0;
  let end = label.length;
  const blank = (unit) => unit === 32 || unit === 9 || unit === 10 || unit === 12 || unit === 13;
  while (start < end && blank(charCodeAt(label, start))) start++;
  while (end > start && blank(charCodeAt(label, end - 1))) end--;
  const name = '|' + stringToLowerCase(stringSlice(label, start, end)) + '|';
  if (name !== '||' && stringIndexOf(name, '|', 1) === name.length - 1) {
    for (const encoding in encodingLabels) {
      if (stringIndexOf(encodingLabels[encoding], name) >= 0) return encoding;
    }
  }
  throw new NativeRangeError('The encoding label is not supported; utf-8, utf-16le, utf-16be and windows-1252 (latin1, ascii) are');
}

class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #bomSeen = false;
  #stream = false;
  // What a streamed chunk left over: for UTF-8 the code point so far and its bounds, for UTF-16 a byte and a surrogate.
  #code = 0;
  #needed = 0;
  #lower = 0x80;
  #upper = 0xbf;
  #byte = -1;
  #lead = 0;
  constructor(label = 'utf-8', options = undefined) {
    this.#encoding = encodingOf(toText(label));
    this.#fatal = !!options?.fatal;
    this.#ignoreBOM = !!options?.ignoreBOM;
  }
  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#fatal;
  }
  get ignoreBOM() {
    return this.#ignoreBOM;
  }
  decode(input = undefined, options = undefined) {
    const encoding = this.#encoding;
    const bytes = input === undefined ? new NativeUint8Array(0) : bytesOf(input);
    const stream = !!options?.stream;
    if (!this.#stream) this.#reset();
    this.#stream = false; // an error below ends the stream
    const out = { __proto__: null, units: createList(), count: 0, text: '' };
    const length = typedArrayLength(bytes);
    if (encoding === 'utf-8') this.#decodeUTF8(bytes, length, out, stream);
    else if (encoding === 'windows-1252') decodeLatin(bytes, length, out);
    else this.#decodeUTF16(bytes, length, out, stream, encoding === 'utf-16be');
    flushUnits(out);
    this.#stream = stream;
    let text = out.text;
    if (text.length > 0 && !this.#bomSeen && encoding !== 'windows-1252') {
      this.#bomSeen = true;
      if (!this.#ignoreBOM && charCodeAt(text, 0) === 0xfeff) text = stringSlice(text, 1);
    }
    return text;
  }
  #reset() {
    this.#bomSeen = false;
    this.#code = this.#needed = this.#lead = 0;
    this.#lower = 0x80;
    this.#upper = 0xbf;
    this.#byte = -1;
  }
  #fault(out) {
    if (this.#fatal) throw new NativeTypeError('The encoded data was not valid for encoding ' + this.#encoding);
    putUnit(out, 0xfffd);
  }
  #decodeUTF8(bytes, length, out, stream) {
    let code = this.#code;
    let needed = this.#needed;
    let lower = this.#lower;
    let upper = this.#upper;
    for (let i = 0; i < length; i++) {
      const byte = bytes[i];
      if (needed === 0) {
        if (byte < 0x80) {
          putUnit(out, byte);
        } else if (byte >= 0xc2 && byte <= 0xdf) {
          needed = 1;
          code = byte & 31;
        } else if (byte >= 0xe0 && byte <= 0xef) {
          if (byte === 0xe0) lower = 0xa0;
          if (byte === 0xed) upper = 0x9f;
          needed = 2;
          code = byte & 15;
        } else if (byte >= 0xf0 && byte <= 0xf4) {
          if (byte === 0xf0) lower = 0x90;
          if (byte === 0xf4) upper = 0x8f;
          needed = 3;
          code = byte & 7;
        } else {
          this.#fault(out);
        }
        continue;
      }
      const fits = byte >= lower && byte <= upper;
      lower = 0x80;
      upper = 0xbf;
      if (!fits) {
        needed = 0;
        this.#fault(out);
        i--; // the byte begins something new
        continue;
      }
      code = (code << 6) | (byte & 63);
      if (--needed === 0) putCode(out, code);
    }
    if (!stream && needed > 0) this.#fault(out);
    this.#code = code;
    this.#needed = needed;
    this.#lower = lower;
    this.#upper = upper;
  }
  #decodeUTF16(bytes, length, out, stream, bigEndian) {
    let first = this.#byte;
    let lead = this.#lead;
    for (let i = 0; i < length; i++) {
      if (first < 0) {
        first = bytes[i];
        continue;
      }
      const unit = bigEndian ? (first << 8) | bytes[i] : first | (bytes[i] << 8);
      first = -1;
      const trail = unit >= 0xdc00 && unit <= 0xdfff;
      if (lead !== 0) {
        if (trail) {
          putUnit(out, lead);
          putUnit(out, unit);
          lead = 0;
          continue;
        }
        this.#fault(out);
        lead = 0;
      }
      if (trail) this.#fault(out);
      else if (isSurrogate(unit)) lead = unit;
      else putUnit(out, unit);
    }
    if (!stream && (first >= 0 || lead !== 0)) this.#fault(out);
    this.#byte = first;
    this.#lead = lead;
  }
}
webClass(TextDecoder, 'TextDecoder', ['encoding', 'fatal', 'ignoreBOM', 'decode']);
defineGlobal('TextDecoder', TextDecoder);

function decodeLatin(bytes, length, out) {
  for (let i = 0; i < length; i++) {
    const byte = bytes[i];
    putUnit(out, byte >= 0x80 && byte <= 0x9f ? charCodeAt(windows1252, byte - 0x80) : byte);
  }
}

function putUnit(out, unit) {
  out.units[out.count++] = unit;
  if (out.count === 8192) flushUnits(out);
}

function putCode(out, code) {
  if (code > 0xffff) {
    putUnit(out, 0xd800 + ((code - 0x10000) >> 10));
    code = 0xdc00 + (code & 0x3ff);
  }
  putUnit(out, code);
}

function flushUnits(out) {
  out.units.length = out.count;
  out.text += apply(fromCharCode, undefined, out.units);
  out.count = 0;
}
