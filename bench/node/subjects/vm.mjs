import vm from 'node:vm';
import { script } from '../script.mjs';

// A new context each time. It shares the heap with the host, and node's own
// documentation says that it is no security mechanism.
function open(job) {
  const logs = [];
  const globals = {};
  if (job.input) globals.__input = job.input;
  if (job.logs) globals.console = { log: (...parts) => logs.push(parts.join(' ')) };
  const context = vm.createContext(globals);
  return { context, logs, value: vm.runInContext(script(job), context, { timeout: job.timeoutMs }) };
}

export async function evaluate(job) {
  const { value, logs } = open(job);
  return { value, logs };
}

export async function hold(job) {
  let held = open(job);
  return () => { held = undefined; };
}
