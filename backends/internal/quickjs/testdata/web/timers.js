const rows = [];
const order = [];
const start = performance.now();
setTimeout(() => order.push('t20'), 20);
setTimeout(() => order.push('t0a'));
setTimeout((a, b) => order.push('t0b' + a + b), 0, 1, 2);
setImmediate((x) => order.push('imm' + x), 7);
setTimeout(() => order.push('nan'), NaN);
setTimeout(() => order.push('neg'), -5);
setTimeout(() => order.push('t10'), '10');
setTimeout(() => order.push('huge'), 2 ** 31);
const gone = setTimeout(() => order.push('cleared'), 5);
clearTimeout(gone);
clearTimeout(gone);
clearTimeout(undefined);
clearTimeout(99999);
clearInterval({});
clearImmediate(null);
queueMicrotask(() => order.push('micro'));
await new Promise((resolve) => setTimeout(resolve, 30));
rows.push(['timers run in order of time, then of setting', order.join(), 'micro,t0a,t0b12,imm7,nan,neg,huge,t10,t20']);
rows.push(['the virtual clock has moved', performance.now() - start >= 30 && performance.now() - start < 1000, true]);

let ticks = 0;
const interval = setInterval((by) => { ticks += by; if (ticks === 6) clearInterval(interval); }, 10, 2);
await new Promise((resolve) => setTimeout(resolve, 100));
rows.push(['an interval ends when it clears itself', ticks, 6]);
rows.push(['ids are positive integers', Number.isInteger(gone) && gone > 0 && Number.isInteger(interval) && interval !== gone, true]);

const nested = [];
setTimeout(() => {
  nested.push('a');
  Promise.resolve().then(() => nested.push('micro of a'));
  setTimeout(() => nested.push('c'), 0);
}, 1);
setTimeout(() => nested.push('b'), 1);
await new Promise((resolve) => setTimeout(resolve, 5));
rows.push(['microtasks run between timers', nested.join(), 'a,micro of a,b,c']);

let self;
await new Promise((resolve) => setTimeout(function () { self = this; resolve(); }, 0));
rows.push(['this is the global object', self === globalThis, true]);
for (const bad of [undefined, 'code()', {}, null]) {
  let name = 'none';
  try { setTimeout(bad, 0); } catch (e) { name = e.name; }
  rows.push(['no callback but ' + typeof bad, name, 'TypeError']);
}
const many = [];
for (let i = 0; i < 300; i++) setTimeout(() => many.push(i), ((i * 7919) % 100) * 10);
const dropped = [];
for (let i = 0; i < 300; i++) dropped.push(setTimeout(() => many.push(-1), (i * 31) % 100));
for (let i = 0; i < 300; i++) clearTimeout(dropped[(i * 7) % 300]);
await new Promise((resolve) => setTimeout(resolve, 2000));
const expected = Array.from({ length: 300 }, (_, i) => i).sort((a, b) => ((a * 7919) % 100) - ((b * 7919) % 100) || a - b);
rows.push(['many timers keep their order, cleared ones never run', many.join() === expected.join(), true]);
rows.push(['names', [setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate, queueMicrotask].map((f) => f.name).join(),
  'setTimeout,setInterval,setImmediate,clearTimeout,clearInterval,clearImmediate,queueMicrotask']);
return rows;
