// Walks everything reachable from the globals and from the kinds of functions
// without running a getter, and writes down names, attributes and plain values.
const roots = [
  globalThis, (() => 0), (async () => 0), (function* () {}), (async function* () {}),
  [].values(), ''.matchAll(/x/g), new Map().entries(), new Set().values(),
];
const numbers = new Map();
const queue = [];
const seen = [];

function number(object) {
  if (!numbers.has(object)) {
    numbers.set(object, numbers.size);
    queue.push(object);
  }
  return '@' + numbers.get(object);
}

function spell(value) {
  if (typeof value === 'function' || (typeof value === 'object' && value !== null)) return number(value);
  return typeof value + ' ' + String(value);
}

roots.forEach(number);
for (const object of queue) {
  seen.push((Object.isExtensible(object) ? 'open ' : 'closed ') + spell(Object.getPrototypeOf(object)));
  for (const key of Reflect.ownKeys(object)) {
    const d = Object.getOwnPropertyDescriptor(object, key);
    const flags = (d.writable ? 'w' : '') + (d.enumerable ? 'e' : '') + (d.configurable ? 'c' : '');
    seen.push(`${String(key)} ${flags} ${'value' in d ? spell(d.value) : spell(d.get) + spell(d.set)}`);
  }
}

console.log('probe');
const order = [];
await new Promise((done) => {
  setTimeout(() => { order.push('late'); done(); }, 20);
  setTimeout(() => order.push('soon'), 10);
  queueMicrotask(() => order.push('job'));
  order.push('now');
});
const answer = {
  seen: seen.join('\n'), order, input,
  sum: [1, 2, 3].map((x) => x * x).reduce((a, b) => a + b),
  text: JSON.stringify({ a: [1, null, 'x'] }),
  matched: /(\d+)-(\d+)/.exec('on 12-34').slice(1),
  random: [Math.random(), Math.random(), crypto.randomUUID()],
  clock: [Date.now(), new Date(0).getTimezoneOffset(), performance.now()],
};
return answer;
