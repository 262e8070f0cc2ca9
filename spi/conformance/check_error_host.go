package conformance

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// errorHostChecks: what comes with an end that the host brought about.
func errorHostChecks() []Check {
	return []Check{
		{ID: "ERROR-034", Level: MUST, Rule: "Nothing of the host's files and programs is in an error that the host brought about.", Watchdog: manyWatchdog, body: everyEnding(
			func(_ *subject, m met) error { return noEngineText(m.out) })},
		{ID: "ERROR-035", Level: MUST, Rule: "Lines logged before the end come back with every kind of error that a script can have.", Watchdog: manyWatchdog, body: logsWithEveryKind},
		{ID: "ERROR-036", Level: MUST, Rule: "Nothing of an earlier error of the isolate is in a later one.", body: errorsOfTheirOwn},
	}
}

// everyEnding looks at each ending of the host in an isolate of its own.
func everyEnding(judge func(*subject, met) error) body {
	return func(ctx context.Context, s *subject) error {
		for _, h := range s.declaredEndings() {
			if err := h.meet(ctx, s, s.isolate, func(m met) error { return judge(s, m) }); err != nil {
				return err
			}
		}
		return nil
	}
}

// noEngineText is noHostText, and nothing of how an engine was stopped.
func noEngineText(out *spi.Outcome) error {
	if err := noHostText(out); err != nil {
		return err
	}
	e := out.Error
	for _, text := range []string{e.Name, e.Message, e.Stack} {
		if found := regexp.MustCompile(`(?i)\bpanic|wasm trap|\bsigsegv|runtime error|traceback|0x[0-9a-f]{6}`).FindString(text); found != "" {
			return fmt.Errorf("error has %q in %q", found, clip(text))
		}
	}
	return nil
}

func logsWithEveryKind(ctx context.Context, s *subject) error {
	// Every ending is met with its lines, or not at all.
	if err := everyEnding(func(*subject, met) error { return nil })(ctx, s); err != nil {
		return err
	}
	list := scripts{
		{source: began + "throw 1", kinds: exception(), also: wantBegan},
		{source: began + "1n", kinds: unserializable(), also: wantBegan},
		{source: began + "const c = {}; c.c = c; c", kinds: unserializable(), also: wantBegan},
		{source: began + "let x = ;", kinds: syntax(), logs: []string{}},
	}
	return list.body()(ctx, s)
}

// errorsOfTheirOwn has each error say a word that no other may have.
func errorsOfTheirOwn(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for n, source := range []string{
		"function WORD() { throw new TypeError('WORD') }\nWORD()",
		"\n\nlet WORD = ;",
		"console.log('WORD'); null.WORD",
		"function WORD() { throw new RangeError('WORD' + 'WORD'.repeat(50)) }\n\n\nWORD()",
		"({ get WORD() { throw new EvalError('WORD') } })",
		"throw 'WORD'",
		"1n",
		"await new Promise(() => {})",
		"throw { name: 'WORD', message: 'WORD' }",
		"throw undefined",
	} {
		out, err := s.evalIn(ctx, iso, strings.ReplaceAll(source, "WORD", fmt.Sprintf("word%dof", n)), "")
		if err != nil {
			return err
		}
		if out.Error == nil {
			return fmt.Errorf("%s: ended with the value %s, wanted an error", source, clip(string(out.Value)))
		}
		e := out.Error
		for before := range n {
			if err := lacks(e.Name+e.Message+e.Stack, fmt.Sprintf("word%dof", before)); err != nil {
				return fmt.Errorf("error %d, after error %d: %w", n+1, before+1, err)
			}
		}
	}
	return nil
}
