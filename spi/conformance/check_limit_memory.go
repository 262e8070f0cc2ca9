package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hungry is a body as data: a script that wants more memory than there is. The
// cap is in its input, since each backend offers others.
type hungry struct {
	source string
	// kinds that will do besides memory.
	kinds []spi.Kind
	// caught are values that will do, where the script noticed and let go.
	caught []string
	// spentEither: the isolate is spent also where the script recovered.
	spentEither bool
}

func (h hungry) body() body { return h.run }

func (h hungry) run(ctx context.Context, s *subject) error {
	// Small, since filling it takes a while.
	changes := []func(*spi.Config){withMemory(s.memory(16 << 20))}
	if !slices.Contains(h.kinds, spi.KindTimeout) {
		changes = append(changes, s.withLeisure())
	}
	cfg := s.config(changes...)
	limit := cfg.Limits.MemoryBytes
	iso, err := s.isolate(ctx, changes...)
	if err != nil {
		return err
	}
	out, err := s.evalIn(ctx, iso, h.source, s.room(cfg))
	if err != nil {
		return err
	}
	if err := wantPeak(out, 1, limit); err != nil {
		return err
	}
	recovered := out.Error == nil && slices.ContainsFunc(h.caught, func(v string) bool { return sameJSON(out.Value, []byte(v)) })
	if !recovered {
		if err := wantKind(out, append([]spi.Kind{spi.KindMemory}, h.kinds...)...); err != nil {
			return err
		}
		if out.Error.Kind == spi.KindMemory {
			if err := wantLimit(out, spi.LimitMemory, limit); err != nil {
				return err
			}
		}
	}
	if h.spentEither || !recovered && out.Error.Kind == spi.KindMemory {
		if err := wantSpent(ctx, iso); err != nil {
			return err
		}
	}
	if err := iso.Close(); err != nil {
		return fmt.Errorf("closing the isolate: %w", err)
	}
	return s.healthy(ctx)
}

func memoryChecks() []Check {
	must := func(id, rule string, h hungry) Check {
		return Check{ID: id, Level: MUST, Rule: rule, Watchdog: manyWatchdog, body: h.body()}
	}
	return []Check{
		must("LIMIT-034", "Typed arrays that are held end with the kind memory, its limit and value, and the isolate is spent.", hungry{
			source: "const held = []; for (let i = 0; ; i++) held.push(new Uint8Array(1 << 20).fill(i))",
		}),
		must("LIMIT-035", "One buffer larger than the cap is refused.", hungry{
			source: "let n = 'refused'; try { n = new Uint8Array(2 * input.cap).fill(1).length } catch {} n", caught: []string{`"refused"`},
		}),
		must("LIMIT-036", "A buffer that grows beyond the cap is refused.", hungry{
			source: "let n = 'refused'; try { const b = new ArrayBuffer(8, { maxByteLength: 2 * input.cap }); " +
				"b.resize(2 * input.cap); n = new Uint8Array(b).fill(1).length } catch {} n",
			caught: []string{`"refused"`},
		}),
		must("LIMIT-037", "A text that doubles without end never succeeds.", hungry{
			source: "let s = 'x'; for (;;) s += s", kinds: []spi.Kind{spi.KindException},
		}),
		must("LIMIT-038", "Texts that are held end with the kind memory.", hungry{
			source: "const held = []; for (let i = 0; ; i++) held.push(JSON.stringify('x'.repeat(1 << 18) + i))",
		}),
		must("LIMIT-039", "Objects that are linked without end end with the kind memory.", hungry{
			source: "globalThis.list = []; for (let i = 0; ; i++) list.push({ i, previous: list[i - 1], tag: 'n' + i })",
		}),
		must("LIMIT-040", "An array that grows without end ends with the kind memory.", hungry{
			source: "const a = []; for (;;) a.push(0.5, 1.5, 2.5, 3.5)",
		}),
		must("LIMIT-041", "A map that grows without end ends with the kind memory.", hungry{
			source: "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])", kinds: []spi.Kind{spi.KindException},
		}),
		must("LIMIT-042", "Closures that are held end with the kind memory.", hungry{
			source: "const held = []; for (;;) { const a = new Array(100).fill(held.length); held.push(() => a) }",
		}),
		must("LIMIT-043", "Promises that nobody settles end with the kind memory.", hungry{
			source: "const held = []; for (;;) held.push(new Promise(() => {}))",
		}),
		must("LIMIT-044", "Jobs that multiply end with the kind memory or at the timeout.", hungry{
			source: "const f = () => { Promise.resolve().then(f); Promise.resolve().then(f) }; f(); await new Promise(() => {})",
			kinds:  []spi.Kind{spi.KindTimeout},
		}),
		must("LIMIT-045", "Source too large to be compiled within the cap is no way around it.", hungry{
			source: "const n = Math.floor(input.cap / 8); new Function('return [' + '1,'.repeat(n) + ']')().length === n",
			caught: []string{"true"}, kinds: []spi.Kind{spi.KindException, spi.KindTimeout, spi.KindStackOverflow},
		}),
		must("LIMIT-046", "A result that outgrows the memory while it is written has no value.", hungry{
			source: "({ toJSON() { const held = []; for (;;) held.push(new Uint8Array(1 << 20).fill(1)) } })",
		}),
		must("LIMIT-047", "A script that catches running out of memory may go on, and the isolate is spent either way.", hungry{
			source: "let held = [], n = 'survived'; try { for (;;) held.push(new Uint8Array(1 << 20).fill(1)) } catch { held = null } n",
			caught: []string{`"survived"`}, spentEither: true,
		}),
		must("LIMIT-048", "A script cannot catch running out of memory again and again to hold more than the cap.", hungry{
			source: "const held = []; let refused = 0; for (let i = 0; i < 200; i++) { try { for (let j = 0; j < 64; j++) held.push(new Uint8Array(1 << 18).fill(1)) } " +
				"catch { refused++ } } refused > 0 && held.length * (1 << 18) <= input.cap",
			caught: []string{"true"}, kinds: []spi.Kind{spi.KindTimeout},
		}),
		{ID: "LIMIT-049", Level: MUST, Rule: "A script may use half of the memory that the guest itself leaves, and usage counts it.", body: halfIsThere},
		{ID: "LIMIT-050", Level: MUST, Rule: "Memory that a script held is there again for the scripts of later isolates.", body: memoryComesBack},
		{ID: "LIMIT-051", Level: SHOULD, Rule: "Memory that a script let go is there again for the next one in the same isolate.", body: memoryIsReused},
		{ID: "LIMIT-052", Level: MUST, Rule: "Open accepts the smallest and the largest memory cap of the descriptor, and a script runs under both.", body: memoryRange},
		{ID: "LIMIT-053", Level: MUST, Rule: "A memory cap beyond what the descriptor offers is refused with ErrUnsupported.", body: memoryBeyondRange},
		{ID: "LIMIT-054", Level: MUST, Rule: "An ordinary script uses some memory and not more than its cap.", body: smallPeak},
	}
}

// half is how much a script may certainly have, zero where there is no room.
func (s *subject) half(cfg *spi.Config) int64 {
	return max(0, cfg.Limits.MemoryBytes-s.descriptor.MinMemoryBytes) / 2
}

const holdInput = "const held = new Uint8Array(input).fill(7); held.length"

func halfIsThere(ctx context.Context, s *subject) error {
	cfg := s.config()
	half := s.half(cfg)
	out, err := s.eval(ctx, holdInput, fmt.Sprint(half))
	if err != nil {
		return err
	}
	return firstError(
		func() error { return wantValue(out, fmt.Sprint(half)) },
		func() error { return wantPeak(out, max(1, half), cfg.Limits.MemoryBytes) },
	)
}

func memoryComesBack(ctx context.Context, s *subject) error {
	half := fmt.Sprint(s.half(s.config()))
	for i := range 10 {
		if i%3 == 2 { // one that gets no answer
			if _, err := s.eval(ctx, "const held = []; for (;;) held.push(new Uint8Array(1 << 20).fill(1))", ""); err != nil {
				return err
			}
			continue
		}
		out, err := s.eval(ctx, holdInput, half)
		if err == nil {
			err = wantValue(out, half)
		}
		if err != nil {
			return fmt.Errorf("isolate %d: %w", i+1, err)
		}
	}
	return nil
}

func memoryIsReused(ctx context.Context, s *subject) error {
	half := fmt.Sprint(s.half(s.config()))
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for i := range 5 {
		out, err := s.evalIn(ctx, iso, "(() => new Uint8Array(input).fill(7).length)()", half)
		if err == nil {
			err = wantValue(out, half)
		}
		if err != nil {
			return fmt.Errorf("eval %d: %w", i+1, err)
		}
	}
	return nil
}

func withMemory(n int64) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.MemoryBytes = n }
}

func memoryRange(ctx context.Context, s *subject) error {
	d := &s.descriptor
	for _, n := range []int64{max(1, d.MinMemoryBytes), d.MaxMemoryBytes} {
		out, err := s.eval(ctx, "input.map((x) => ({ x }))", "[3,1]", withMemory(n))
		if err == nil {
			err = wantValue(out, `[{"x":3},{"x":1}]`)
		}
		if err == nil {
			err = wantPeak(out, 1, n)
		}
		if err != nil {
			return fmt.Errorf("with a cap of %d: %w", n, err)
		}
	}
	return nil
}

func memoryBeyondRange(ctx context.Context, s *subject) error {
	var beyond []int64
	if n := s.descriptor.MinMemoryBytes; n > 1 {
		beyond = append(beyond, n-1, 1)
	}
	if n := s.descriptor.MaxMemoryBytes; n < math.MaxInt64 {
		beyond = append(beyond, n+1, math.MaxInt64)
	}
	for _, n := range beyond {
		if err := s.wantUnsupported(ctx, fmt.Sprintf("a memory cap of %d", n), withMemory(n)); err != nil {
			return err
		}
	}
	return nil
}

// wantUnsupported demands that Open refuses what the descriptor does not offer.
func (s *subject) wantUnsupported(ctx context.Context, what string, change func(*spi.Config)) error {
	iso, err := s.backend.Open(ctx, s.config(change))
	if err == nil {
		if iso != nil {
			_ = iso.Close()
		}
		return fmt.Errorf("Open accepted %s", what)
	}
	return wantOneOf("Open with "+what, err, spi.ErrUnsupported)
}

func smallPeak(ctx context.Context, s *subject) error {
	for _, source := range []string{"1 + 1", "throw 1", "let a = ;"} {
		out, err := s.eval(ctx, source, "")
		if err != nil {
			return err
		}
		if err := wantPeak(out, 1, s.config().Limits.MemoryBytes); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
	}
	return nil
}
