// What is measured, with the clock of this process: the way to it does not count.

const microseconds = (from) => Number(process.hrtime.bigint() - from) / 1000;

// check refuses a wrong answer: what is wrong must not have a time.
function check(got, job) {
  if (got.value !== job.want) throw new Error(`wrong answer: ${String(got.value).slice(0, 100)}`);
  const logs = got.logs?.length ?? 0;
  if (logs !== (job.logs ?? 0)) throw new Error(`the host saw ${logs} log lines`);
}

// measure times n evals, one after the other, each in pristine state.
export async function measure(subject, { job, n }) {
  const us = [];
  for (let i = 0; i < n; i++) {
    const from = process.hrtime.bigint();
    const got = await subject.evaluate(job);
    us.push(microseconds(from));
    check(got, job);
  }
  return { us };
}

// throughput keeps a number of callers busy for some time.
export async function throughput(subject, { job, callers, ms }) {
  const us = [];
  const begin = process.hrtime.bigint();
  const caller = async () => {
    do {
      const from = process.hrtime.bigint();
      const got = await subject.evaluate(job);
      us.push(microseconds(from));
      check(got, job);
    } while (microseconds(begin) < ms * 1000);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { us, elapsedUs: microseconds(begin) };
}

// memory holds n instances that have run a script and says how much larger the
// process became.
export async function memory(subject, { job, n }) {
  if (!subject.hold) throw new Error(subject.noHold ?? 'keeps no instances');
  const held = [await subject.hold(job)]; // what is loaded once does not count
  const resident = () => { globalThis.gc?.(); globalThis.gc?.(); return process.memoryUsage().rss; };
  const before = resident();
  for (let i = 0; i < n; i++) held.push(await subject.hold(job));
  const bytes = resident() - before;
  for (const release of held) release();
  return { bytes };
}
