package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// script is a body as data: a source, what it runs under and all that its
// outcome must be.
type script struct {
	source string
	input  string            // JSON, null if empty
	config func(*spi.Config) // nil for the usual limits

	// timeout and within are longer on a slow machine. within is the input, in
	// milliseconds: by when the script must see something. Zero is none.
	timeout, within time.Duration
	// roomy: it may run out of memory where the usual cap is very small.
	roomy bool

	value   string        // JSON, compared by meaning; "" where an error is wanted
	ordered bool          // the names in value are wanted in this order, too
	typ     spi.ValueType // "" for any
	logs    []string      // texts of all lines; nil for any

	kinds   []spi.Kind    // any of them
	orValue []string      // values that will do instead of one of the kinds
	limit   spi.LimitName // that the error must name
	name    string        // of the error, where the guest made it
	message string        // a part of it
	line    int           // 0 for any

	// also, if not nil, judges the outcome further.
	also func(*spi.Outcome) error

	// next is what a script in an isolate opened afterwards must give.
	next, nextValue string
}

// body is the script as a check's body.
func (c script) body() body { return c.run }

// scripts are bodies that make one rule plain together; each has an isolate of
// its own.
type scripts []script

func (list scripts) body() body {
	return func(ctx context.Context, s *subject) error {
		for i := range list {
			if err := list[i].run(ctx, s); err != nil {
				return fmt.Errorf("of %q: %w", clip(list[i].source), err)
			}
		}
		return nil
	}
}

// sequence is scripts that run one after the other in the same isolate, which is
// opened as the first one says.
type sequence []script

func (list sequence) body() body {
	return func(ctx context.Context, s *subject) error {
		iso, err := s.isolate(ctx, list[0].changes(s)...)
		if err != nil {
			return err
		}
		for i := range list {
			out, err := s.evalIn(ctx, iso, list[i].source, list[i].given(s))
			if err == nil {
				err = list[i].judge(out)
			}
			if err != nil {
				return fmt.Errorf("of %q: %w", clip(list[i].source), err)
			}
		}
		return nil
	}
}

func (c *script) changes(s *subject) []func(*spi.Config) {
	var all []func(*spi.Config)
	if c.timeout > 0 {
		all = append(all, withTimeout(s.allow(c.timeout)))
	}
	if c.config != nil {
		all = append(all, c.config)
	}
	return all
}

// given is the input.
func (c *script) given(s *subject) string {
	if c.within > 0 {
		return strconv.FormatInt(s.allow(c.within).Milliseconds(), 10)
	}
	return c.input
}

func (c *script) run(ctx context.Context, s *subject) error {
	out, err := s.eval(ctx, c.source, c.given(s), c.changes(s)...)
	if err != nil {
		return err
	}
	if c.roomy && s.cramped() && out.Error != nil && out.Error.Kind == spi.KindMemory {
		return nil
	}
	if err := c.judge(out); err != nil {
		return err
	}
	if c.next == "" {
		return nil
	}
	out, err = s.eval(ctx, c.next, "")
	if err != nil {
		return fmt.Errorf("the next eval: %w", err)
	}
	if err := wantValue(out, c.nextValue); err != nil {
		return fmt.Errorf("the next eval: %w", err)
	}
	return nil
}

func (c *script) judge(out *spi.Outcome) error {
	if err := c.judgeResult(out); err != nil {
		return err
	}
	if c.logs != nil {
		if got := logTexts(out); !slices.Equal(got, c.logs) {
			return fmt.Errorf("logs are %s, wanted %s", clip(fmt.Sprintf("%q", got)), clip(fmt.Sprintf("%q", c.logs)))
		}
	}
	if c.also != nil {
		return c.also(out)
	}
	return nil
}

func (c *script) judgeResult(out *spi.Outcome) error {
	if len(c.kinds) == 0 || out.Error == nil && c.orValue != nil {
		if c.orValue == nil {
			if err := wantValue(out, c.value); err != nil {
				return err
			}
		} else if !slices.ContainsFunc(c.orValue, func(v string) bool { return sameJSON(out.Value, []byte(v)) }) {
			return fmt.Errorf("value is %s, wanted one of %s", clip(string(out.Value)), strings.Join(c.orValue, ", "))
		}
		if c.ordered && !sameText(out.Value, []byte(c.value)) {
			return fmt.Errorf("value is %s, wanted %s in this order", clip(string(out.Value)), clip(c.value))
		}
		if c.typ != "" && out.ValueType != c.typ {
			return fmt.Errorf("value has the type %q, wanted %q", out.ValueType, c.typ)
		}
		return nil
	}
	if err := wantKind(out, c.kinds...); err != nil {
		return err
	}
	e := out.Error
	switch {
	case c.limit != "" && (e.Limit == nil || e.Limit.Name != c.limit):
		return fmt.Errorf("error names the limit %v, wanted %s", e.Limit, c.limit)
	case c.name != "" && e.Name != c.name && guestMade(e.Kind):
		return fmt.Errorf("error has the name %q, wanted %q", clip(e.Name), c.name)
	case !strings.Contains(e.Message, c.message):
		return fmt.Errorf("error says %q, wanted %q in it", clip(e.Message), c.message)
	case c.line != 0 && e.Line != c.line:
		return fmt.Errorf("error is at line %d, wanted %d", e.Line, c.line)
	}
	return nil
}

// guestMade reports whether the error is an object of the guest's, so that its
// texts are given. Other errors are the host's to word.
func guestMade(k spi.Kind) bool { return k == spi.KindException || k == spi.KindSyntax }

// wantValue demands a value, compared by meaning.
func wantValue(out *spi.Outcome, want string) error {
	switch {
	case out.Error != nil:
		return fmt.Errorf("ended with %s (%s: %s), wanted the value %s", out.Error.Kind, clip(out.Error.Name), clip(out.Error.Message), clip(want))
	case !sameJSON(out.Value, []byte(want)):
		return fmt.Errorf("value is %s, wanted %s", clip(string(out.Value)), clip(want))
	}
	return nil
}

// wantKind demands an error of one of the kinds.
func wantKind(out *spi.Outcome, kinds ...spi.Kind) error {
	switch {
	case out.Error == nil:
		return fmt.Errorf("ended with the value %s, wanted an error: %v", clip(string(out.Value)), kinds)
	case !slices.Contains(kinds, out.Error.Kind):
		return fmt.Errorf("ended with %s (%s: %s), wanted %v", out.Error.Kind, clip(out.Error.Name), clip(out.Error.Message), kinds)
	}
	return nil
}

func logTexts(out *spi.Outcome) []string {
	texts := make([]string, len(out.Logs))
	for i, l := range out.Logs {
		texts[i] = l.Text
	}
	return texts
}

// containsAll demands all parts in a text of the guest's.
func containsAll(text string, parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return fmt.Errorf("%q lacks %q", clip(text), p)
		}
	}
	return nil
}

// lacks demands that a part is not in a text of the guest's.
func lacks(text, part string) error {
	if strings.Contains(text, part) {
		return fmt.Errorf("%q has %q in it", clip(text), part)
	}
	return nil
}
