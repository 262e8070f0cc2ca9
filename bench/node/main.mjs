// Runs one peer and measures it: `node main.mjs NAME serve` answers requests,
// one JSON text a line, on standard input with one JSON text a line on standard
// output; `node main.mjs NAME start` runs one script and ends.
import { createInterface } from 'node:readline';
import { measure, memory, throughput } from './measure.mjs';

const files = {
  'node:vm': './subjects/vm.mjs',
  'isolated-vm': './subjects/isolated.mjs',
  'quickjs-emscripten': './subjects/emscripten.mjs',
  'quickjs-emscripten-module': './subjects/emscripten-module.mjs',
  'npm-run': './subjects/run.mjs',
};

const answer = (value) => process.stdout.write(JSON.stringify(value) + '\n');

const operations = {
  time: measure,
  throughput,
  memory,
};

async function serve(subject) {
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const request = JSON.parse(line);
      answer(await operations[request.op](subject, request));
    } catch (error) {
      answer({ error: String(error?.message ?? error).slice(0, 500) });
    }
  }
}

async function start(subject) {
  const got = await subject.evaluate({ code: '', result: '({a:1+1, b:[1,2,3].map(x=>x*2)})', timeoutMs: 10000, memoryBytes: 64 << 20 });
  answer({ value: got.value });
}

const [name, mode] = process.argv.slice(2);
const subject = await import(files[name]);
await (mode === 'start' ? start(subject) : serve(subject));
process.exit(0);
