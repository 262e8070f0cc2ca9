// Timers on a virtual clock: nothing waits, the host runs the earliest timer once no other work is left.
// Guards against scripts that replace built-ins or misuse ids; a cleared timer leaves the queue at once,
// so setting and clearing in a loop holds no memory.

const timersById = new NativeMap();
const timerHeap = createList();
let timerSequence = 0;

const timerBefore = (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order);

function placeTimer(timer, index) {
  timerHeap[index] = timer;
  timer.index = index;
}

function siftTimer(timer, index) {
  while (index > 0) {
    const up = (index - 1) >> 1;
    if (!timerBefore(timer, timerHeap[up])) break;
    placeTimer(timerHeap[up], index);
    index = up;
  }
  for (;;) {
    let down = 2 * index + 1;
    if (down >= timerHeap.length) break;
    if (down + 1 < timerHeap.length && timerBefore(timerHeap[down + 1], timerHeap[down])) down++;
    if (!timerBefore(timerHeap[down], timer)) break;
    placeTimer(timerHeap[down], index);
    index = down;
  }
  placeTimer(timer, index);
}

function queueTimer(timer) {
  timer.due = now() + timer.delay;
  timer.order = ++timerSequence;
  siftTimer(timer, timerHeap.length);
}

function dropTimer(timer) {
  const index = timer.index;
  if (index < 0) return;
  timer.index = -1;
  const last = timerHeap[timerHeap.length - 1];
  timerHeap.length--;
  if (last !== timer) siftTimer(last, index);
}

function addTimer(callback, delay, repeat, args) {
  if (typeof callback !== 'function') throw new NativeTypeError('The timer callback must be a function');
  delay = +delay;
  if (!(delay > 0)) delay = 0;
  if (delay > 0x7fffffff) delay = 1;
  delay = mathFloor(delay);
  if (repeat && delay < 1) delay = 1;
  const timer = { __proto__: null, id: timerSequence + 1, callback, delay, repeat, args, due: 0, order: 0, index: -1 };
  queueTimer(timer);
  mapSet(timersById, timer.id, timer);
  return timer.id;
}

function removeTimer(id) {
  if (typeof id === 'string') id = +id;
  if (typeof id !== 'number') return;
  const timer = mapGet(timersById, id);
  if (timer === undefined) return;
  mapDelete(timersById, id);
  dropTimer(timer);
}

// runNextTimer moves the clock to the earliest timer and runs it; false means that none is left.
function runNextTimer() {
  if (timerHeap.length === 0) return false;
  const timer = timerHeap[0];
  dropTimer(timer);
  if (!timer.repeat) mapDelete(timersById, timer.id);
  if (timer.due > now()) emit(OP.ADVANCE, '' + timer.due);
  try {
    apply(timer.callback, theGlobal, timer.args);
  } catch (error) {
    reportUncaught(error);
  }
  if (timer.repeat && mapHas(timersById, timer.id)) queueTimer(timer);
  return true;
}

const timerFunctions = {
  __proto__: null,
  setTimeout(callback, delay = 0, ...args) {
    return addTimer(callback, delay, false, args);
  },
  setInterval(callback, delay = 0, ...args) {
    return addTimer(callback, delay, true, args);
  },
  setImmediate(callback, ...args) {
    return addTimer(callback, 0, false, args);
  },
  clearTimeout(id) {
    removeTimer(id);
  },
  clearInterval(id) {
    removeTimer(id);
  },
  clearImmediate(id) {
    removeTimer(id);
  },
};
for (const name of ownKeys(timerFunctions)) defineGlobal(name, timerFunctions[name]);
