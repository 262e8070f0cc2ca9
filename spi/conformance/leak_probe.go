package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// probeSource writes down everything that can be reached from the globals and
// from the kinds of functions and iterators, without running a getter: names,
// attributes, plain values, and which object is which. It also uses the console,
// timers and jobs.
const probeSource = timers + `
const numbers = new Map(), queue = [], lines = [];
const refer = (o) => {
  if (!numbers.has(o)) { numbers.set(o, numbers.size); queue.push(o) }
  return '#' + numbers.get(o);
};
const spell = (v) => ((typeof v === 'object' && v !== null) || typeof v === 'function') ? refer(v) : typeof v + ' ' + String(v);
[globalThis, function () {}, async () => {}, function* () {}, async function* () {}, [].values(), new Map().keys(),
  new Set().keys(), ''[Symbol.iterator](), ''.matchAll(/x/g), /x/, new Error('x')].forEach(refer);
for (const object of queue) {
  const id = refer(object);
  lines.push(id + ' ' + (Object.isExtensible(object) ? 'extensible' : 'fixed') + ' of ' + spell(Object.getPrototypeOf(object)));
  for (const key of Reflect.ownKeys(object)) {
    const d = Object.getOwnPropertyDescriptor(object, key);
    const how = (d.enumerable ? 'e' : '-') + (d.configurable ? 'c' : '-') + (d.writable ? 'w' : '-');
    lines.push(id + '.' + String(key) + ' ' + how + ' ' + ('value' in d ? spell(d.value) : 'get ' + spell(d.get) + ' set ' + spell(d.set)));
  }
}
const order = [];
later(() => order.push('later'), 20);
later(() => order.push('soon'), 10);
Promise.resolve().then(() => order.push('job'));
await new Promise((done) => later(done, 50));
console.log('probe', order);
lines.push(order.join(), JSON.stringify({ a: [1, null, 'x'] }), 'a-b'.replace(/(\w)-(\w)/, '$2$1'), [3, 1, 2].sort().join());
lines`

// probed is what the probe saw.
type probed struct {
	lines []string
	logs  []string
}

// probe runs the probe in an isolate of its own.
func (s *subject) probe(ctx context.Context) (*probed, error) {
	out, err := s.eval(ctx, probeSource, "", withOutput(16<<20))
	if err != nil {
		return nil, fmt.Errorf("the probe: %w", err)
	}
	if e := out.Error; e != nil {
		return nil, fmt.Errorf("the probe ended with %s (%s: %s)", e.Kind, clip(e.Name), clip(e.Message))
	}
	p := &probed{logs: logTexts(out)}
	if err := json.Unmarshal(out.Value, &p.lines); err != nil {
		return nil, fmt.Errorf("the probe: %w", err)
	}
	if len(p.lines) < 500 { // the language alone has more
		return nil, fmt.Errorf("the probe saw only %d properties", len(p.lines))
	}
	return p, nil
}

// differs demands that a probe saw what the first one did.
func (p *probed) differs(first *probed) error {
	for i := range max(len(p.lines), len(first.lines)) {
		var got, want string
		if i < len(p.lines) {
			got = p.lines[i]
		}
		if i < len(first.lines) {
			want = first.lines[i]
		}
		if got != want {
			return fmt.Errorf("a later isolate sees %q where the first one saw %q", clip(got), clip(want))
		}
	}
	if !slices.Equal(p.logs, first.logs) {
		return fmt.Errorf("a later isolate logs %q where the first one logged %q", p.logs, first.logs)
	}
	return nil
}

// spoil is a script that leaves as much as it can behind, and how it must end.
type spoil struct {
	source  string
	config  func(*spi.Config)
	timeout time.Duration // longer on a slow machine; zero for a roomy one
	kinds   []spi.Kind    // none for a value
	stop    interruption
}

// spoilAll changes whatever a script can change.
const spoilAll = `
const replaced = () => 'replaced';
globalThis.left = { secret: 'left behind' };
for (const name of Object.getOwnPropertyNames(globalThis)) {
  const holder = globalThis[name];
  if (typeof holder !== 'function' && (typeof holder !== 'object' || holder === null) || holder === globalThis) continue;
  for (const object of [holder, holder.prototype]) {
    if (object === null || typeof object !== 'object' && typeof object !== 'function') continue;
    try { object.sneaky = 'left behind' } catch {}
    try { object[Symbol.for('sneaky')] = 'left behind' } catch {}
  }
}
for (const [object, names] of [[JSON, ['stringify', 'parse']], [Promise.prototype, ['then']], [Function.prototype, ['call', 'apply', 'bind']],
  [Array.prototype, ['push', 'map', 'join']], [Date, ['now']], [Math, ['random', 'floor']], [console, ['log', 'error']],
  [Object, ['keys', 'getPrototypeOf']], [Reflect, ['apply', 'ownKeys']], [globalThis, ['setTimeout', 'queueMicrotask', 'Map', 'Proxy']]]) {
  for (const name of names) try { object[name] = replaced } catch {}
}
Error.prepareStackTrace = replaced; Error.stackTraceLimit = 0;
for (const object of [Object.prototype, Function.prototype, Error.prototype]) try { Object.freeze(object) } catch {}
Array.prototype[Symbol.iterator] = replaced;
`

// spoils are scripts that leave things behind, each ended in another way.
func spoils() map[string]spoil {
	small := func(c *spi.Config) { c.Limits.OutputBytes = 10 }
	return map[string]spoil{
		"value":     {source: spoilAll + "; 1"},
		"exception": {source: spoilAll + "; throw 1", kinds: []spi.Kind{spi.KindException}},
		"timeout":   {source: spoilAll + "; for (;;) ;", timeout: 100 * time.Millisecond, kinds: []spi.Kind{spi.KindTimeout}},
		"cancelled": {source: spoilAll + "; for (;;) ;", stop: byCancelling, kinds: []spi.Kind{spi.KindCancelled}},
		"killed":    {source: spoilAll + "; for (;;) ;", stop: byClosing, kinds: []spi.Kind{spi.KindKilled}},
		"memory": {
			source: spoilAll + "; globalThis.held = []; for (let i = 0; ; i++) held[i] = new Uint8Array(1 << 20).fill(1)",
			kinds:  []spi.Kind{spi.KindMemory},
		},
		"stack": {
			source: spoilAll + "; const down = () => down() + 1; down()",
			// Whether that breaks the guest is for the checks of STACK.
			kinds: []spi.Kind{spi.KindStackOverflow, spi.KindException, spi.KindBackend},
		},
		"writing": {
			source: spoilAll + "; ({ get a() { globalThis.late = 1; throw new Error('while it is written') } })",
			kinds:  []spi.Kind{spi.KindException},
		},
		"too large": {source: spoilAll + "; 'x'.repeat(1000)", config: small, kinds: []spi.Kind{spi.KindOutputTooLarge}},
		"deadlock":  {source: spoilAll + "; await new Promise(() => {})", kinds: []spi.Kind{spi.KindDeadlock}},
		"syntax":    {source: "globalThis.left = 1; let a = ;", kinds: []spi.Kind{spi.KindSyntax}},
	}
}

// run runs the script in an isolate, and leaves it open if asked.
func (p spoil) run(ctx context.Context, s *subject, leaveOpen bool) error {
	if p.stop == nil {
		return p.try(ctx, s, leaveOpen, 0)
	}
	return s.patiently(untilBegun(), func(after time.Duration) error { return p.try(ctx, s, leaveOpen, after) })
}

// try stops the script after a while, if it is to be stopped.
func (p spoil) try(ctx context.Context, s *subject, leaveOpen bool, after time.Duration) error {
	changes := []func(*spi.Config){s.withLeisure()}
	if p.timeout > 0 {
		changes = append(changes, withTimeout(s.allow(p.timeout)))
	}
	if p.config != nil {
		changes = append(changes, p.config)
	}
	iso, err := s.isolate(ctx, changes...)
	if err != nil {
		return err
	}
	var out *spi.Outcome
	if p.stop != nil {
		out, err = s.interrupt(ctx, iso, p.source, after, p.stop)
	} else {
		out, err = s.evalIn(ctx, iso, p.source, "")
	}
	if err != nil {
		return err
	}
	if p.kinds == nil {
		err = wantValue(out, "1")
	} else {
		err = wantKind(out, p.kinds...)
	}
	if err != nil {
		return fmt.Errorf("the script that leaves things behind: %w", err)
	}
	if leaveOpen {
		return nil
	}
	return iso.Close()
}

// leavesNothing demands that what the named spoil did cannot be seen: by a probe
// while its isolate is open, and by one after it was closed.
func leavesNothing(name string) body {
	return func(ctx context.Context, s *subject) error {
		first, err := s.probe(ctx)
		if err != nil {
			return err
		}
		for _, leaveOpen := range []bool{true, false} {
			if err := spoils()[name].run(ctx, s, leaveOpen); err != nil {
				return err
			}
			later, err := s.probe(ctx)
			if err != nil {
				return err
			}
			if err := later.differs(first); err != nil {
				return err
			}
		}
		return nil
	}
}
