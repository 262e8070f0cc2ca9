package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// handed are the functions that scripts of the checks are handed unless they say
// otherwise.
func handed() []string { return []string{"tools.a", "tools.b", "tools.deep.er.c"} }

// withCalls allows calls, so many and so large.
func withCalls(calls, bytes int64) func(*spi.Config) {
	return func(c *spi.Config) { c.Limits.HostCalls, c.Limits.CallBytes = calls, bytes }
}

// dialogue is a script that calls, and what was seen of it last.
type dialogue struct {
	iso    spi.Isolate
	source string
	out    *spi.Outcome
}

// talk runs the first part of a script in an isolate of its own, which may call
// often unless changes say otherwise.
func (s *subject) talk(ctx context.Context, source string, changes ...func(*spi.Config)) (*dialogue, error) {
	iso, err := s.isolate(ctx, append([]func(*spi.Config){withCalls(1000, 16<<20)}, changes...)...)
	if err != nil {
		return nil, err
	}
	return talkIn(ctx, iso, source)
}

// talkIn runs the first part of a script in an isolate.
func talkIn(ctx context.Context, iso spi.Isolate, source string, functions ...string) (*dialogue, error) {
	if len(functions) == 0 {
		functions = handed()
	}
	req := request(source, "")
	req.Functions = functions
	d := &dialogue{iso: iso, source: source}
	out, err := iso.Eval(ctx, req)
	return d, d.take("Eval", out, err)
}

// reply goes on with the script.
func (d *dialogue) reply(ctx context.Context, replies ...spi.Reply) error {
	out, err := d.continued(ctx, replies)
	return d.take("Continue", out, err)
}

// continued is Continue as it is.
func (d *dialogue) continued(ctx context.Context, replies []spi.Reply) (*spi.Outcome, error) {
	c, ok := d.iso.(spi.Caller)
	if !ok {
		return nil, errors.New("the descriptor says that scripts can call, and the isolate is no spi.Caller")
	}
	return c.Continue(ctx, replies)
}

// take holds an outcome to what every one must be.
func (d *dialogue) take(what string, out *spi.Outcome, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := wellFormedPart(out); err != nil {
		return err
	}
	d.out = out
	for i := range out.Pending {
		c := &out.Pending[i]
		if err := withinSource(&spi.ScriptError{Line: c.Line, Column: c.Column}, d.source); err != nil {
			return fmt.Errorf("of call %d: %w", c.ID, err)
		}
	}
	if out.Error != nil {
		return withinSource(out.Error, d.source)
	}
	return nil
}

// wantWaits demands that the script waits for these calls, each an ID, a name and
// the arguments.
func (d *dialogue) wantWaits(calls ...string) error {
	if !d.out.Waits() {
		return fmt.Errorf("ended with %s, wanted that it waits for %v", partsEnd(d.out), calls)
	}
	return wantPending(d.out, calls...)
}

// wantPending demands that these calls have no reply.
func wantPending(out *spi.Outcome, calls ...string) error {
	got := make([]string, len(out.Pending))
	same := len(got) == len(calls)
	for i := range out.Pending {
		c := &out.Pending[i]
		got[i] = fmt.Sprintf("%d %s %s", c.ID, c.Function, c.Args)
		if !same {
			continue
		}
		head := fmt.Sprintf("%d %s ", c.ID, c.Function)
		args, ok := strings.CutPrefix(calls[i], head)
		same = ok && sameJSON(c.Args, []byte(args))
	}
	if !same {
		return fmt.Errorf("calls without a reply are %s, wanted %s", clip(fmt.Sprint(got)), clip(fmt.Sprint(calls)))
	}
	return nil
}

// wellFormedCalls checks what holds for the calls of every outcome.
func wellFormedCalls(out *spi.Outcome) error {
	last := int64(0)
	for i := range out.Pending {
		c := &out.Pending[i]
		switch {
		case c.ID <= last:
			return fmt.Errorf("call has the ID %d after %d", c.ID, last)
		case len(c.Function) > spi.MaxFunctionNameBytes || !utf8.ValidString(c.Function):
			return fmt.Errorf("call %d has a name that is not UTF-8 or of %d bytes; allowed are %d", c.ID, len(c.Function), spi.MaxFunctionNameBytes)
		case c.Line < 0 || c.Column < 0 || c.Line == 0 && c.Column != 0:
			return fmt.Errorf("call %d is at line %d, column %d", c.ID, c.Line, c.Column)
		}
		if err := strictJSON(c.Args); err != nil {
			return fmt.Errorf("arguments of call %d: %w", c.ID, err)
		}
		if !strings.HasPrefix(strings.TrimSpace(string(c.Args)), "[") {
			return fmt.Errorf("arguments of call %d are %s, wanted an array", c.ID, clip(string(c.Args)))
		}
		last = c.ID
	}
	if n := int64(len(out.Pending)); out.Usage.HostCalls < n {
		return fmt.Errorf("usage says %d calls, and %d have no reply", out.Usage.HostCalls, n)
	}
	return nil
}

// partsEnd says how a part of a script ended.
func partsEnd(out *spi.Outcome) string {
	switch {
	case out.Waits():
		return "waiting"
	case out.Error != nil:
		return fmt.Sprintf("%s (%s: %s)", out.Error.Kind, clip(out.Error.Name), clip(out.Error.Message))
	}
	return "the value " + clip(string(out.Value))
}

func valued(id int64, value string) spi.Reply {
	return spi.Reply{ID: id, Value: json.RawMessage(value)}
}

func failed(id int64, name, message string) spi.Reply {
	return spi.Reply{ID: id, Error: &spi.CallError{Name: name, Message: message}}
}

func denied(id int64, message string) spi.Reply {
	return spi.Reply{ID: id, Error: &spi.CallError{Name: "DeniedError", Message: message, Denied: true}}
}

// turn is what a script waits for, and the replies.
type turn struct {
	calls   []string
	replies []spi.Reply
}

// talks is a script that calls as data: what it waits for in turn, and its end.
type talks struct {
	turns []turn
	script
}

func (t *talks) run(ctx context.Context, s *subject) error {
	_, err := t.out(ctx, s)
	return err
}

func (t *talks) out(ctx context.Context, s *subject) (*spi.Outcome, error) {
	d, err := s.talk(ctx, t.source, t.changes(s)...)
	if err != nil {
		return nil, err
	}
	for _, turn := range t.turns {
		if err := d.wantWaits(turn.calls...); err != nil {
			return nil, err
		}
		if err := d.reply(ctx, turn.replies...); err != nil {
			return nil, err
		}
	}
	if d.out.Waits() {
		return nil, fmt.Errorf("waits for %s, wanted that it ends", clip(d.out.Pending[0].Function))
	}
	return d.out, t.judge(d.out)
}

// dialogues are bodies that make one rule plain together; each has an isolate of
// its own.
type dialogues []talks

func (list dialogues) body() body {
	return func(ctx context.Context, s *subject) error {
		for i := range list {
			if err := list[i].run(ctx, s); err != nil {
				return fmt.Errorf("of %q: %w", clip(list[i].source), err)
			}
		}
		return nil
	}
}

// asking is one turn.
func asking(call string, replies ...spi.Reply) []turn {
	return []turn{{calls: []string{call}, replies: replies}}
}

// wantUsed demands what an outcome says of calls.
func wantUsed(out *spi.Outcome, calls, bytes int64) error {
	if u := &out.Usage; u.HostCalls != calls || u.CallBytes != bytes {
		return fmt.Errorf("usage says %d calls with %d bytes, wanted %d with %d", u.HostCalls, u.CallBytes, calls, bytes)
	}
	return nil
}

// wantContinue demands that Continue is refused.
func (d *dialogue) wantContinue(ctx context.Context, replies []spi.Reply, allowed ...error) error {
	out, err := d.continued(ctx, slices.Clone(replies))
	if err == nil {
		if out == nil {
			return errors.New("Continue returned no outcome and no error")
		}
		return fmt.Errorf("Continue ended with %s, wanted the error %v", partsEnd(out), allowed)
	}
	return wantOneOf("Continue", err, allowed...)
}
