package conformance

import (
	"context"
	"fmt"
	"reflect"

	"github.com/loom-sandbox/sandboxd/spi"
)

// callingSources call in ways whose parts could differ from one run to the next.
func callingSources() []string {
	return []string{
		"[await tools.a(1), await tools.b()]",
		"const all = await Promise.all([tools.a(Math.random()), tools.b(Date.now()), tools.deep.er.c({ x: 1 })]); console.log(all); [all, Math.random(), Date.now()]",
		timers + "const order = []; later(() => order.push('t'), 1); for (let i = 0; i < 3; i++) order.push(await tools.a(i, order.length)); await new Promise((r) => later(r, 5)); [order, " + timeSource + "]",
		"try { await tools.none(1) } catch (e) { console.log(e.name, e.message, e.function, e.stack) } let n = 0; for (let i = 0; i < 20000; i++) n += i; [n, await tools.b(n)]",
		"const kept = new Uint8Array(1 << 18).fill(await tools.a()); throw new RangeError('m' + kept.length + Math.random())",
		"await tools.deep.er.c('x');\n  await tools.a()",
	}
}

// played runs a script to its end, with replies that follow from the calls.
func (d *dialogue) played(ctx context.Context) ([]*spi.Outcome, error) {
	outs := []*spi.Outcome{d.out}
	for d.out.Waits() {
		var replies []spi.Reply
		for i := range d.out.Pending {
			c := &d.out.Pending[i]
			switch {
			case c.Function == "tools.none":
				replies = append(replies, denied(c.ID, "tools.none: denied"))
			case c.Function == "tools.a" && c.ID > 3:
				replies = append(replies, failed(c.ID, "TypeError", "wrong"))
			default:
				replies = append(replies, valued(c.ID, fmt.Sprintf(`{"id":%d,"args":%s}`, c.ID, c.Args)))
			}
		}
		if err := d.reply(ctx, replies...); err != nil {
			return nil, err
		}
		outs = append(outs, d.out)
	}
	return outs, nil
}

// sameParts demands the same of every part.
func (s *subject) sameParts(some, others []*spi.Outcome) error {
	if len(some) != len(others) {
		return fmt.Errorf("has %d parts, and another time %d", len(some), len(others))
	}
	for i := range some {
		one, other := some[i], others[i]
		if err := s.same(one, other); err != nil {
			return fmt.Errorf("part %d: %w", i+1, err)
		}
		if len(one.Pending)+len(other.Pending) > 0 && !reflect.DeepEqual(one.Pending, other.Pending) {
			return fmt.Errorf("part %d: calls are %s, and another time %s", i+1, clip(fmt.Sprint(one.Pending)), clip(fmt.Sprint(other.Pending)))
		}
		a, b := one.Usage, other.Usage
		if a.HostCalls != b.HostCalls || a.CallBytes != b.CallBytes || NeedImage.declaredBy(&s.descriptor) && a.MemoryPeakBytes != b.MemoryPeakBytes {
			return fmt.Errorf("part %d: usage is %+v, and another time %+v", i+1, a, b)
		}
	}
	return nil
}

func callsSame(ctx context.Context, s *subject) error {
	for _, source := range callingSources() {
		var first []*spi.Outcome
		for i := range 3 {
			d, err := s.talk(ctx, source, s.withLeisure())
			if err != nil {
				return err
			}
			parts, err := d.played(ctx)
			switch {
			case err != nil:
			case i == 0 && len(parts) < 2:
				err = fmt.Errorf("ended with %s, wanted that it waits", partsEnd(parts[0]))
			case i == 0:
				first = parts
			default:
				err = s.sameParts(first, parts)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", clip(source), err)
			}
		}
	}
	return nil
}

func callsPrepared(ctx context.Context, s *subject) error {
	may := []func(*spi.Config){withCalls(1000, 16<<20), s.withLeisure()}
	for _, source := range callingSources() {
		d, err := s.talk(ctx, source, may...)
		if err != nil {
			return err
		}
		plain, err := d.played(ctx)
		if err != nil {
			return err
		}
		p, err := s.prepare(ctx, source)
		if err != nil {
			return err
		}
		for range 2 {
			iso, err := s.from(p)(ctx, may...)
			if err != nil {
				return err
			}
			d, err := talkIn(ctx, iso, source)
			if err != nil {
				return err
			}
			parts, err := d.played(ctx)
			if err == nil {
				err = s.sameParts(plain, parts)
			}
			if err != nil {
				return fmt.Errorf("%s: prepared: %w", clip(source), err)
			}
		}
	}
	return nil
}
