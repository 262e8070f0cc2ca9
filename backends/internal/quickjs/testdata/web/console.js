const rows = [];
const own = Object.getOwnPropertyNames(console).sort().join();
rows.push(['methods', own, 'assert,count,countReset,debug,dir,error,group,groupCollapsed,groupEnd,info,log,table,time,timeEnd,timeLog,trace,warn']);
const { log, table, group, time } = console;
rows.push(['detached methods return nothing', [log('x'), table([1]), group(), time('t')], [null, null, null, null]]);
const hostile = [
  new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getOwnPropertyDescriptor() { throw 3; }, getPrototypeOf() { throw 4; } }),
  { get a() { throw 5; }, toString() { throw 6; }, toJSON() { throw 7; }, [Symbol.toPrimitive]() { throw 8; } },
  Object.create({ get constructor() { throw 9; } }), Object.create(new Proxy({}, { getPrototypeOf() { throw 10; } })),
  Object.defineProperty(new Error('e'), 'stack', { get() { throw 11; } }), Object.defineProperty(() => 1, 'name', { get() { throw 12; } }),
  { get [Symbol.toStringTag]() { throw 13; } }, Object.setPrototypeOf(new Map([[1, 2]]), null), Symbol('s'), 2n ** 20000n,
  Object.create(Map.prototype), Object.create(Date.prototype), RegExp.prototype, Uint8Array.prototype, new Date(NaN), globalThis,
];
const revocable = Proxy.revocable({}, {});
revocable.revoke();
hostile.push(revocable.proxy);
let deep = [];
for (let i = 0; i < 100000; i++) deep = [deep];
hostile.push(deep);
let proxied = {};
for (let i = 0; i < 1000; i++) proxied = new Proxy(proxied, {});
hostile.push(proxied);
let ran = 'nothing';
try {
  for (const h of hostile) for (const m of Object.keys(console)) { console[m](h); console[m]('%s %d %i %f %j %o %O %c %%', h, h, h, h, h, h, h, h); console[m](h, h); }
} catch (e) {
  ran = String(e);
}
rows.push(['hostile arguments never throw', ran, 'nothing']);
let touched = 0;
const watch = new Proxy({ a: 1 }, new Proxy({}, { get() { touched++; } }));
console.log(watch, [watch], { watch });
console.log({ get a() { touched++; return 1; }, toString() { touched++; return ''; }, valueOf() { touched++; return 1; } });
console.log('%s %d %o', { toString() { touched++; return ''; }, valueOf() { touched++; return 1; } }, { valueOf() { touched++; return 1; } }, watch);
rows.push(['neither traps nor getters nor conversions run', touched, 0]);
return rows;
