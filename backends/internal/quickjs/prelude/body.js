// Bodies of requests and responses, whole and without streams: a text, bytes, or the base64 the host gave.
// Guards against scripts that replace built-ins, and against two readers of the same bytes: what is handed out is a copy.

const parseJSONText = JSON.parse;
const bytesFromBase64 = Uint8Array.fromBase64;
const bytesToBase64 = uncurryThis(Uint8Array.prototype.toBase64);

const FORM_TYPE = 'application/x-www-form-urlencoded;charset=UTF-8';
const TEXT_TYPE = 'text/plain;charset=UTF-8';

const newBody = (text, bytes, base64, type) => ({ __proto__: null, text, bytes, base64, type });

// bodyFrom makes a body of what a script gives; null for none. What is neither bytes nor a form is a text.
function bodyFrom(value) {
  if (value === undefined || value === null) return null;
  if (isObject(value)) {
    const pairs = paramsOf(value);
    if (pairs !== undefined) return newBody(formText(pairs), undefined, undefined, FORM_TYPE);
    if (isView(value) || brand(arrayBufferByteLength, value)) {
      return newBody(undefined, copyBytes(bytesOf(value)), undefined, undefined);
    }
  }
  return newBody(usv(value), undefined, undefined, TEXT_TYPE);
}

function copyBytes(bytes) {
  const copy = new NativeUint8Array(typedArrayLength(bytes));
  typedArraySet(copy, bytes);
  return copy;
}

// setBody gives a message its body, and the content type that follows from it unless there is one.
function setBody(message, body) {
  message.body = body;
  if (body === null || body.type === undefined) return;
  const record = headersOf(message.headers);
  if (headerIndex(record.pairs, 'content-type') < 0) appendHeader(record, 'content-type', body.type);
}

// takeBody hands out the body of a message once; null, of a message without one, as often as one likes.
function takeBody(message) {
  if (message.used) {
    throw new NativeTypeError('The body has been read already; clone() before the first reading makes a second one');
  }
  if (message.body !== null) message.used = true;
  return message.body;
}

function textOfBody(body) {
  if (body === null) return '';
  const text = body.text ?? decodeBytes(bytesOfBody(body));
  return unitAt(text, 0) === 0xfeff ? stringSlice(text, 1) : text; // a byte order mark is no part of it
}

function bytesOfBody(body) {
  if (body === null) return new NativeUint8Array(0);
  if (body.text !== undefined) return encodeUTF8(body.text);
  return body.bytes !== undefined ? copyBytes(body.bytes) : bytesFromBase64(body.base64);
}

// bodyReaders are the members with which a message is read, for the interface whose messages messageOf knows: it
// throws for other objects, and an async method makes a rejection of it, as the web does. There being no streams,
// `body` is always null.
function bodyReaders(messageOf) {
  return {
    __proto__: null,
    get body() {
      messageOf(this);
      return null;
    },
    get bodyUsed() {
      return messageOf(this).used;
    },
    async arrayBuffer() {
      return typedArrayBuffer(bytesOfBody(takeBody(messageOf(this))));
    },
    async bytes() {
      return bytesOfBody(takeBody(messageOf(this)));
    },
    async json() {
      return parseJSONText(textOfBody(takeBody(messageOf(this))));
    },
    async text() {
      return textOfBody(takeBody(messageOf(this)));
    },
  };
}

// addReaders is called while the prelude loads.
function addReaders(prototype, messageOf) {
  const readers = bodyReaders(messageOf);
  const names = ownKeys(readers);
  for (let i = 0; i < names.length; i++) {
    defineProperty(prototype, names[i], getOwnPropertyDescriptor(readers, names[i])); // enumerable, as a web interface's
  }
}
