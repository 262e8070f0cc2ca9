// script is the text that a peer runs: it ends with the result as JSON text. The
// input is there as text, in the global __input.
export function script(job) {
  const input = job.input ? 'var input = JSON.parse(__input);' : '';
  return `${input}${job.code}JSON.stringify(${job.result})`;
}

// consoleOf is a console whose lines go to a function of the host's.
export const consoleOf = 'var console = { log: (...parts) => __log(parts.join(" ")) };';
