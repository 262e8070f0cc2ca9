// crypto.getRandomValues and crypto.randomUUID from the generator the host seeds: a run can be repeated exactly,
// so these numbers are fit for ids and samples and never for secrets.
// Guards against scripts that replace Math.random or the typed arrays.

class Crypto {
  #self = this;
  constructor(key) {
    if (key !== cryptoKey) throw new NativeTypeError('Illegal constructor');
  }
  getRandomValues(array) {
    this.#self;
    const kind = isObject(array) && isView(array) ? typedArrayTag(array) : undefined;
    if (kind === undefined || stringStartsWith(kind, 'Float')) {
      throw new NativeDOMException('The argument must be an integer typed array', 'TypeMismatchError');
    }
    const size = typedArrayByteLength(array);
    if (size > 65536) {
      throw new NativeDOMException('The argument has ' + size + ' bytes, at most 65536 are allowed', 'QuotaExceededError');
    }
    const bytes = bytesOf(array);
    for (let i = 0; i < size; i++) bytes[i] = mathRandom() * 256;
    return array;
  }
  randomUUID() {
    this.#self;
    let text = '';
    for (let i = 0; i < 32; i++) {
      if (i === 8 || i === 12 || i === 16 || i === 20) text += '-';
      let digit = mathFloor(mathRandom() * 16);
      if (i === 12) digit = 4;
      if (i === 16) digit = (digit & 3) | 8;
      text += numberToString(digit, 16);
    }
    return text;
  }
}
const cryptoKey = { __proto__: null };
webClass(Crypto, 'Crypto', ['getRandomValues', 'randomUUID']);
defineGlobal('Crypto', Crypto);
defineGlobal('crypto', new Crypto(cryptoKey));
