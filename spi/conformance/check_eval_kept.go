package conformance

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
)

// evalKeptChecks: what goes in and what comes out is not shared with the backend.
func evalKeptChecks() []Check {
	must := func(id, rule string, b body) Check { return Check{ID: id, Level: MUST, Rule: rule, body: b} }
	return []Check{
		must("EVAL-074", "An outcome stays as it was returned when later evals run.", outcomesStay),
		must("EVAL-075", "A caller may write over an outcome: later evals do not see it.", outcomesAreTheCallers),
		must("EVAL-076", "An eval leaves its request as it was, and what the caller does to that later changes nothing.", requestsStay),
		must("EVAL-077", "Opening and evals leave the configuration as it was, and what the caller does to that after Open changes nothing.", configStays),
	}
}

// keptSources have outcomes with all of their parts. They are of about the same
// size, so that each would fit into what an earlier one left.
func keptSources() []string {
	return []string{
		"console.log('first line'); console.warn('and more'); ({ text: 'aaaaaaaaaaaaaaaa', list: [1, 2, 3] })",
		"console.error('other line'); console.info('as well'); ({ text: 'bbbbbbbbbbbbbbbb', list: [4, 5, 6] })",
		"console.log('before it'); throw new TypeError('thrown with some text')",
		"console.debug('after it'); throw new RangeError('another with a text')",
		"console.log('third line'); [7, 8, 9]",
		"let x = ;",
	}
}

// copyOf is an outcome that shares nothing with the one it was made from.
func copyOf(out *spi.Outcome) *spi.Outcome {
	other := *out
	other.Value, other.Logs = bytes.Clone(out.Value), slices.Clone(out.Logs)
	if out.Error != nil {
		e := *out.Error
		other.Error = &e
		if e.Limit != nil {
			limit := *e.Limit
			e.Limit = &limit
		}
	}
	return &other
}

func outcomesStay(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	var outs, copies []*spi.Outcome
	run := func(iso spi.Isolate) error {
		for _, source := range keptSources() {
			out, err := s.evalIn(ctx, iso, source, "")
			if err != nil {
				return err
			}
			outs, copies = append(outs, out), append(copies, copyOf(out))
		}
		return nil
	}
	other, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for _, in := range []spi.Isolate{iso, other, iso} {
		if err := run(in); err != nil {
			return err
		}
	}
	if err := iso.Close(); err != nil {
		return err
	}
	for i := range outs {
		if !reflect.DeepEqual(outs[i], copies[i]) {
			return fmt.Errorf("outcome %d of %d has changed: it is %s, and was %s", i+1, len(outs), shown(outs[i]), shown(copies[i]))
		}
	}
	return nil
}

// shown is an outcome in a line.
func shown(out *spi.Outcome) string {
	return clip(fmt.Sprintf("%s %+v %q %+v", out.Value, out.Error, logTexts(out), out.Usage))
}

func outcomesAreTheCallers(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	var first []*spi.Outcome
	for round := range 3 {
		for i, source := range keptSources() {
			out, err := s.evalIn(ctx, iso, source, "")
			if err != nil {
				return fmt.Errorf("after earlier outcomes were written over: %w", err)
			}
			if round == 0 {
				first = append(first, copyOf(out))
			} else if was := first[i]; !bytes.Equal(out.Value, was.Value) || !reflect.DeepEqual(out.Error, was.Error) || !slices.Equal(out.Logs, was.Logs) {
				return fmt.Errorf("after earlier outcomes were written over it is %s, and was %s", shown(out), shown(was))
			}
			overwrite(out)
		}
	}
	return nil
}

// overwrite writes over all that an outcome points at.
func overwrite(out *spi.Outcome) {
	for i := range out.Value[:cap(out.Value)] {
		out.Value[:cap(out.Value)][i] = '#'
	}
	for i := range out.Logs[:cap(out.Logs)] {
		out.Logs[:cap(out.Logs)][i] = spi.LogLine{Level: "overwritten", Text: "overwritten"}
	}
	if out.Error != nil {
		*out.Error = spi.ScriptError{Kind: "overwritten", Message: "overwritten", Stack: "overwritten", Line: 77}
	}
	*out = spi.Outcome{}
}

func requestsStay(ctx context.Context, s *subject) error {
	iso, err := s.isolate(ctx)
	if err != nil {
		return err
	}
	for _, source := range []string{"globalThis.kept = input; input", "throw new Error('x')", "let x = ;"} {
		// Inside of a larger array, past whose part nobody may write either.
		const input, rest = `{"list":[1,"two"]}`, "behind it"
		whole := []byte(input + rest)
		req := request(source, input)
		req.Input = whole[:len(input)]
		same := *req
		out, err := iso.Eval(ctx, req)
		if err != nil {
			return fmt.Errorf("Eval: %w", err)
		}
		if err := wellFormed(out); err != nil {
			return err
		}
		if !reflect.DeepEqual(*req, same) || string(whole) != input+rest {
			return fmt.Errorf("the request was %s with the input %s, and is %s with %s", source, input+rest, clip(req.Source), whole)
		}
		value := bytes.Clone(out.Value)
		for i := range whole {
			whole[i] = '#'
		}
		*req = spi.Request{}
		if !bytes.Equal(out.Value, value) {
			return fmt.Errorf("the value %s became %s when the caller wrote over the request", value, clip(string(out.Value)))
		}
	}
	out, err := s.evalIn(ctx, iso, "kept", "")
	if err != nil {
		return err
	}
	return wantValue(out, `{"list":[1,"two"]}`)
}

func configStays(ctx context.Context, s *subject) error {
	cfg := s.config(withOutput(100), withLogs(50))
	same := *cfg
	iso, err := s.isolateOf(ctx, cfg)
	if err != nil {
		return err
	}
	evals := func() ([]*spi.Outcome, error) {
		var outs []*spi.Outcome
		for _, source := range []string{"[1, 2]", "'x'.repeat(200)", "console.log('y'.repeat(40)); console.log('z'.repeat(40)); 1"} {
			out, err := s.evalIn(ctx, iso, source, "")
			if err != nil {
				return nil, err
			}
			outs = append(outs, out)
		}
		return outs, nil
	}
	before, err := evals()
	if err != nil {
		return err
	}
	if *cfg != same {
		return fmt.Errorf("the configuration was %+v, and is %+v", same, *cfg)
	}
	// Valid and far from what it was.
	cfg.Limits.OutputBytes, cfg.Limits.LogBytes, cfg.Limits.Timeout = 1, 0, 1
	cfg.Limits.MemoryBytes, cfg.Seed = s.descriptor.MinMemoryBytes, 1
	after, err := evals()
	if err != nil {
		return err
	}
	for i := range before {
		b, a := before[i], after[i]
		b.Usage, a.Usage = spi.Usage{}, spi.Usage{}
		if !bytes.Equal(a.Value, b.Value) || !reflect.DeepEqual(a.Error, b.Error) || !slices.Equal(a.Logs, b.Logs) {
			return fmt.Errorf("eval %d was %s, and after the caller changed its configuration %s", i+1, shown(b), shown(a))
		}
	}
	return nil
}

// isolateOf opens one with a configuration that the check keeps; it is closed at
// the check's end.
func (s *subject) isolateOf(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := s.backend.Open(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("Open: %w", err)
	}
	s.closeLater(iso)
	return iso, nil
}
