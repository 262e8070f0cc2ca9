package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

func callLogs(ctx context.Context, s *subject) error {
	d, err := s.talk(ctx, "console.log('one'); await tools.a(); console.warn('two'); console.log('three'); await tools.b(); throw new Error('own')")
	if err != nil {
		return err
	}
	if err := firstError(
		func() error { return d.wantWaits("1 tools.a []") },
		func() error { return wantLog(d.out, "one") },
		func() error { return d.reply(ctx, valued(1, "1")) },
		func() error { return wantLog(d.out, "one", "two", "three") },
		func() error { return d.reply(ctx) },
		func() error { return wantLog(d.out, "one", "two", "three") },
		func() error { return d.reply(ctx, valued(2, "1")) },
		func() error { return wantLog(d.out, "one", "two", "three") },
	); err != nil {
		return err
	}
	if d, err = s.talk(ctx, "console.log('123456789'); await tools.a(); console.log('123456789'); await tools.b(); console.log('x'); 5", withLogs(20)); err != nil {
		return err
	}
	whole := func() error {
		if d.out.LogsTruncated {
			return errors.New("logs are truncated, and all lines so far have room")
		}
		return nil
	}
	return firstError(
		whole,
		func() error { return d.reply(ctx, valued(1, "1")) },
		whole,
		func() error { return wantLog(d.out, "123456789", "123456789") },
		func() error { return d.reply(ctx, valued(2, "1")) },
		func() error { return wantLog(d.out, "123456789", "123456789") },
		func() error { return wantValue(d.out, "5") },
		func() error {
			if !d.out.LogsTruncated {
				return errors.New("a line was dropped, and logs are not truncated")
			}
			return nil
		},
	)
}

// listener keeps what it is told.
type listener struct {
	mu   sync.Mutex
	told []string // guarded by mu
	size int64    // of the events' types and data; guarded by mu
}

// Notice implements [spi.Observer].
func (l *listener) Notice(n spi.Notice) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n.Log != nil && n.Event == nil:
		l.told = append(l.told, fmt.Sprintf("%s: %s", n.Log.Level, n.Log.Text))
	case n.Event != nil && n.Log == nil:
		l.told = append(l.told, fmt.Sprintf("event %s %s", n.Event.Type, n.Event.Data))
		l.size += int64(len(n.Event.Type) + len(n.Event.Data))
		if err := strictJSON(n.Event.Data); err != nil {
			l.told = append(l.told, err.Error())
		}
	default:
		l.told = append(l.told, "a notice that is not one thing")
	}
}

func (l *listener) want(want ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Equal(l.told, want) {
		return fmt.Errorf("the observer was told %s, wanted %s", clip(fmt.Sprintf("%q", l.told)), clip(fmt.Sprintf("%q", want)))
	}
	return nil
}

func observedBy(l *listener) func(*spi.Config) { return func(c *spi.Config) { c.Observer = l } }

func callObserver(ctx context.Context, s *subject) error {
	l := &listener{}
	iso, err := s.isolate(ctx, withCalls(10, 1000), observedBy(l))
	if err != nil {
		return err
	}
	d, err := talkIn(ctx, iso, "console.log('one'); const r = emit('step', { n: [1, 'é'] }); console.error('two'); await tools.a(); emit('bare'); emit(7, undefined); console.log('three'); r === undefined",
		"tools.a", spi.FunctionEmit)
	if err != nil {
		return err
	}
	first := []string{"log: one", `event step {"n":[1,"é"]}`, "error: two"}
	all := slices.Concat(first, []string{"event bare null", "event 7 null", "log: three"})
	if err := firstError(
		func() error { return d.wantWaits("1 tools.a []") }, // an event is no call
		func() error { return l.want(first...) },
		func() error { return d.reply(ctx, valued(1, "1")) },
		func() error { return wantValue(d.out, "true") },
		func() error { return l.want(all...) },
		func() error { return wantLog(d.out, "one", "two", "three") },
		func() error { return wantUsed(d.out, 1, 2) },
	); err != nil {
		return err
	}
	// A later eval tells as well, and nobody needs to listen.
	if _, err := s.evalIn(ctx, iso, "console.debug('four')", ""); err != nil {
		return err
	}
	if err := l.want(append(all, "debug: four")...); err != nil {
		return err
	}
	quiet, err := s.isolate(ctx, withCalls(10, 1000))
	if err != nil {
		return err
	}
	if d, err = talkIn(ctx, quiet, "emit('step', 1); 5", spi.FunctionEmit); err != nil {
		return err
	}
	return wantValue(d.out, "5")
}

func callEventsBounded(ctx context.Context, s *subject) error {
	const most = 200
	source := "for (let i = 0; i < 40; i++) { emit('e', i); console.log('line ' + i); if (i === 3) await tools.a() } 5"
	l := &listener{}
	iso, err := s.isolate(ctx, withCalls(10, 1000), withLogs(most), observedBy(l))
	if err != nil {
		return err
	}
	d, err := talkIn(ctx, iso, source, "tools.a", spi.FunctionEmit)
	if err != nil {
		return err
	}
	if err := firstError(
		func() error { return d.wantWaits("1 tools.a []") },
		func() error {
			if d.out.EventsTruncated {
				return errors.New("events are truncated, and all so far have room")
			}
			return nil
		},
		func() error { return d.reply(ctx, valued(1, "1")) },
		func() error { return wantValue(d.out, "5") },
		func() error {
			if !d.out.EventsTruncated {
				return errors.New("events were dropped, and the outcome does not say that they are truncated")
			}
			return nil
		},
	); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	events, lines := 0, 0
	for _, told := range l.told {
		switch {
		case told == fmt.Sprintf("event e %d", events):
			events++
		case lines < len(d.out.Logs) && told == "log: "+d.out.Logs[lines].Text: // the last one may be cut
			lines++
		default:
			return fmt.Errorf("the observer was told %q out of order", clip(told))
		}
	}
	switch {
	case l.size > most:
		return fmt.Errorf("events have %d bytes, and %s is %d", l.size, spi.LimitLogs, most)
	case events < 8: // with what surrounds them in JSON they are of ten bytes or so
		return fmt.Errorf("%d events were told, wanted those that have room", events)
	case lines != len(d.out.Logs):
		return fmt.Errorf("%d lines were told, and %d are kept", lines, len(d.out.Logs))
	}
	// Lines leave the room of events alone.
	other := &listener{}
	if iso, err = s.isolate(ctx, withLogs(most), observedBy(other)); err != nil {
		return err
	}
	if d, err = talkIn(ctx, iso, "console.log('"+strings.Repeat("x", most)+"'); emit('e', 1)", spi.FunctionEmit); err != nil {
		return err
	}
	if !slices.Contains(other.told, "event e 1") || d.out.EventsTruncated {
		return errors.New("an event was dropped because of the lines, which count apart")
	}
	return nil
}
