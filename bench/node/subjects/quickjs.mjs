import { shouldInterruptAfterDeadline } from 'quickjs-emscripten';
import { script, consoleOf } from '../script.mjs';

// open runs a job in a new runtime and context of the module given.
function open(module, job) {
  const logs = [];
  const runtime = module.newRuntime();
  runtime.setMemoryLimit(job.memoryBytes);
  runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + job.timeoutMs));
  const context = runtime.newContext();
  const close = () => { context.dispose(); runtime.dispose(); };
  try {
    let prelude = '';
    if (job.input) context.newString(job.input).consume((text) => context.setProp(context.global, '__input', text));
    if (job.logs) {
      context.newFunction('__log', (line) => { logs.push(context.getString(line)); })
        .consume((log) => context.setProp(context.global, '__log', log));
      prelude = consoleOf;
    }
    const value = context.unwrapResult(context.evalCode(prelude + script(job)))
      .consume((handle) => context.getString(handle));
    return { value, logs, close };
  } catch (error) {
    close();
    throw error;
  }
}

// peer is the subject whose modules come from moduleFor.
export function peer(moduleFor) {
  return {
    async evaluate(job) {
      const { value, logs, close } = open(await moduleFor(), job);
      close();
      return { value, logs };
    },
    async hold(job) {
      return open(await moduleFor(), job).close;
    },
  };
}
