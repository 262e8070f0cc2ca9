import ivm from 'isolated-vm';
import { script, consoleOf } from '../script.mjs';

// A new isolate with a new context each time.
async function open(job) {
  const logs = [];
  const isolate = new ivm.Isolate({ memoryLimit: job.memoryBytes >> 20 });
  const context = await isolate.createContext();
  if (job.input) await context.global.set('__input', job.input);
  let prelude = '';
  if (job.logs) {
    await context.global.set('__log', new ivm.Callback((line) => { logs.push(line); }, { sync: true }));
    prelude = consoleOf;
  }
  const value = await context.eval(prelude + script(job), { timeout: job.timeoutMs });
  return { isolate, value, logs };
}

export async function evaluate(job) {
  const { isolate, value, logs } = await open(job);
  isolate.dispose();
  return { value, logs };
}

export async function hold(job) {
  const { isolate } = await open(job);
  return () => isolate.dispose();
}
