// fetch, Request and Response of the web's fetch standard: the host does the fetching, in one call with the whole
// request that is answered with the whole response. Options that mean something to browsers only (mode, credentials,
// cache, signal...) are ignored. Guards against scripts that replace built-ins: what is sent has no prototypes, what
// comes back is read by its own properties, and nothing a script makes of Promise is asked while it is waited for.
// The classes are made when the prelude loads and become globals when a script is handed fetch: see installFetch.

const uppercaseMethods = { __proto__: null, delete: 'DELETE', get: 'GET', head: 'HEAD', options: 'OPTIONS', post: 'POST', put: 'PUT' };
const refusedMethods = { __proto__: null, connect: true, trace: true, track: true };
const redirectModes = { __proto__: null, follow: true, error: true, manual: true };

function methodFrom(value) {
  const text = toText(value);
  const lower = stringToLowerCase(text);
  if (!isToken(text) || refusedMethods[lower]) {
    throw new NativeTypeError('The method of a request must be a token such as GET, and none of CONNECT, TRACE and TRACK');
  }
  return uppercaseMethods[lower] ?? text;
}

function redirectFrom(value) {
  const text = toText(value);
  if (!redirectModes[text]) throw new NativeTypeError("The redirect of a request must be 'follow', 'error' or 'manual'");
  return text;
}

function requestURL(input) {
  const url = (isObject(input) ? urlOf(input) : undefined) ?? parseURL(usv(input), null);
  if (url === null) throw new NativeTypeError('A request needs an absolute URL, with its scheme and host');
  if (url.username !== '' || url.password !== '') {
    throw new NativeTypeError('The URL of a request must have no user name and no password; an authorization header can carry them');
  }
  return urlText(url);
}

// checkInit refuses options that are no object; none are an empty one.
function checkInit(init) {
  if (init === undefined || init === null) return { __proto__: null };
  if (!isObject(init)) throw new NativeTypeError('The options must be an object');
  return init;
}

// requestFrom makes the record of a request, from what the constructor and fetch are given. The body of a Request
// moves to the new one.
function requestFrom(input, init) {
  init = checkInit(init);
  const source = isObject(input) ? requestOf(input) : undefined;
  const url = source === undefined ? requestURL(input) : source.url;
  const { body, headers, method, redirect } = init;
  const own = bodyFrom(body);
  const request = {
    __proto__: null,
    url,
    method: method === undefined ? source?.method ?? 'GET' : methodFrom(method),
    redirect: redirect === undefined ? source?.redirect ?? 'follow' : redirectFrom(redirect),
    headers: new Headers(headers === undefined ? source?.headers : headers),
    body: null,
    used: false,
  };
  if ((own !== null || (source !== undefined && source.body !== null)) && (request.method === 'GET' || request.method === 'HEAD')) {
    throw new NativeTypeError('A request with the method GET or HEAD has no body');
  }
  if (own !== null) setBody(request, own);
  else if (source !== undefined) request.body = takeBody(source);
  return request;
}

let requestOf; // the record of a Request, or undefined for anything else
let requestWith; // a Request of a record

class Request {
  #request;
  static {
    requestOf = (value) => (#request in value ? value.#request : undefined);
    requestWith = (record) => {
      const request = new Request('about:blank');
      request.#request = record;
      return request;
    };
    addReaders(Request.prototype, (value) => value.#request);
  }
  constructor(input, init = undefined) {
    needs(1, arguments.length);
    this.#request = requestFrom(input, init);
  }
  get method() {
    return this.#request.method;
  }
  get url() {
    return this.#request.url;
  }
  get headers() {
    return this.#request.headers;
  }
  get redirect() {
    return this.#request.redirect;
  }
  clone() {
    return requestWith(copyMessage(this.#request));
  }
}
webClass(Request, 'Request', ['method', 'url', 'headers', 'redirect', 'clone']);

// copyMessage shares the body, which nobody changes.
function copyMessage(message) {
  if (message.used) throw new NativeTypeError('The body has been read already; clone() must come before');
  const { pairs, fixed } = headersOf(message.headers);
  return { __proto__: null, ...message, headers: headersFrom(copyList(pairs), fixed) };
}

// newResponse makes the record of a Response; its body is set afterwards.
function newResponse(status, statusText, headers) {
  return { __proto__: null, type: 'default', url: '', redirected: false, status, statusText, headers, body: null, used: false };
}

function responseFrom(body, init) {
  init = checkInit(init);
  const { headers, status = 200, statusText = '' } = init;
  const code = mathTrunc(+status);
  if (!(code >= 200 && code <= 599)) throw new NativeRangeError('The status of a response must be from 200 to 599');
  const reason = toText(statusText);
  for (let i = 0; i < reason.length; i++) {
    const c = charCodeAt(reason, i);
    if (c > 0xff || c === 127 || (c < 32 && c !== 9)) {
      throw new NativeTypeError('The statusText of a response must have no control characters and none above U+00FF');
    }
  }
  const response = newResponse(code, reason, new Headers(headers));
  if (body !== null && (code === 204 || code === 205 || code === 304)) {
    throw new NativeTypeError('A response with the status 204, 205 or 304 has no body');
  }
  setBody(response, body);
  return response;
}

let responseOf; // the record of a Response, or undefined for anything else
let responseWith; // a Response of a record

class Response {
  #response;
  static {
    responseOf = (value) => (#response in value ? value.#response : undefined);
    responseWith = (record) => {
      const response = new Response();
      response.#response = record;
      return response;
    };
    addReaders(Response.prototype, (value) => value.#response);
  }
  constructor(body = null, init = undefined) {
    this.#response = responseFrom(bodyFrom(body), init);
  }
  static error() {
    const record = newResponse(0, '', headersFrom(createList(), true));
    record.type = 'error';
    return responseWith(record);
  }
  static json(data, init = undefined) {
    needs(1, arguments.length);
    const text = jsonStringify(data);
    if (text === undefined) throw new NativeTypeError('The data has no JSON');
    return responseWith(responseFrom(newBody(text, undefined, undefined, 'application/json'), init));
  }
  get type() {
    return this.#response.type;
  }
  get url() {
    return this.#response.url;
  }
  get redirected() {
    return this.#response.redirected;
  }
  get status() {
    return this.#response.status;
  }
  get ok() {
    return isOK(this.#response);
  }
  get statusText() {
    return this.#response.statusText;
  }
  get headers() {
    return this.#response.headers;
  }
  clone() {
    return responseWith(copyMessage(this.#response));
  }
}
webClass(Response, 'Response', ['type', 'url', 'redirected', 'status', 'ok', 'statusText', 'headers', 'clone']);
defineProperty(Response, 'error', { enumerable: true });
defineProperty(Response, 'json', { enumerable: true });

const isOK = (response) => response.status >= 200 && response.status <= 299;

function withoutFragment(url) {
  const end = stringIndexOf(url, '#');
  return end < 0 ? url : stringSlice(url, 0, end);
}

// callArgument is a request as the host is told of it. Nothing in it has a prototype that a script could put a toJSON on.
function callArgument(request) {
  const headers = createList();
  const { pairs } = headersOf(request.headers);
  for (let i = 0; i < pairs.length; i += 2) headers[i / 2] = setPrototypeOf([pairs[i], pairs[i + 1]], null);
  const argument = { __proto__: null, url: withoutFragment(request.url), method: request.method, headers };
  const { body } = request;
  if (body !== null) {
    if (body.text !== undefined) argument.body = body.text;
    else argument.bodyBase64 = bytesToBase64(body.bytes);
  }
  if (request.redirect !== 'follow') argument.redirect = request.redirect;
  return argument;
}

// responseOfReply makes a Response of the host's reply. Only what the reply itself has counts, not its prototypes.
function responseOfReply(reply) {
  const part = (key, type) => {
    const value = dataValue(reply, key);
    if (typeof value !== type && value !== undefined) throw badReply();
    return value;
  };
  const url = part('url', 'string');
  const status = part('status', 'number');
  const list = part('headers', 'object');
  if (url === undefined || status === undefined || !isArray(list)) throw badReply();
  const pairs = createList();
  for (let i = 0; i < list.length; i++) {
    const pair = list[i];
    if (!isArray(pair) || typeof pair[0] !== 'string' || typeof pair[1] !== 'string') throw badReply();
    pairs[2 * i] = stringToLowerCase(pair[0]);
    pairs[2 * i + 1] = pair[1];
  }
  const response = newResponse(status, part('statusText', 'string') ?? '', headersFrom(pairs, true));
  response.type = 'basic';
  response.url = withoutFragment(url);
  response.redirected = part('redirected', 'boolean') ?? false;
  const text = part('body', 'string');
  const base64 = part('bodyBase64', 'string');
  if (text !== undefined || base64 !== undefined) response.body = newBody(text, undefined, base64, undefined);
  return responseWith(response);
}

const badReply = () => new NativeTypeError('The reply to fetch is not a response');

const fetchGlobals = {
  __proto__: null,
  async fetch(input, init = undefined) {
    needs(1, arguments.length);
    const reply = callHost('fetch', callArgument(requestFrom(input, init)), fetchGlobals.fetch);
    defineHidden(reply, 'constructor', NativePromise); // await would ask the prototype for it
    return responseOfReply(await reply);
  },
  Headers,
  Request,
  Response,
};

// installFetch hands fetch, and what belongs to it, to the script.
function installFetch() {
  const names = ownKeys(fetchGlobals);
  for (let i = 0; i < names.length; i++) handOut(names[i], fetchGlobals[names[i]]);
}

const shownOfMessages = {
  __proto__: null,
  Request: ['method', 'url', 'headers', 'redirect', 'bodyUsed'],
  Response: ['status', 'statusText', 'headers', 'bodyUsed', 'ok', 'redirected', 'type', 'url'],
};

// messageParts gives show what inspect writes of a Request or a Response.
function messageParts(value, kind, show) {
  const message = kind === 'Request' ? requestOf(value) : responseOf(value);
  const names = shownOfMessages[kind];
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    show(name, name === 'ok' ? isOK(message) : name === 'bodyUsed' ? message.used : message[name]);
  }
}
