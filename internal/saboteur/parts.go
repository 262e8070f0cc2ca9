package saboteur

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Most defects sit in one hook and remember nothing.

func describe(f func(d *spi.Descriptor)) func() hooks {
	return func() hooks { return hooks{describe: f} }
}

func config(f func(b *Backend, cfg *spi.Config)) func() hooks {
	return func() hooks { return hooks{config: f} }
}

func request(f func(i *isolate, req *spi.Request)) func() hooks {
	return func() hooks { return hooks{request: f} }
}

func outcome(f func(i *isolate, out *spi.Outcome)) func() hooks {
	return func() hooks { return hooks{outcome: f} }
}

type evalFunc func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error)

func evaluating(f evalFunc) func() hooks {
	return func() hooks { return hooks{eval: f} }
}

type openFunc func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error)

func opening(f openFunc) func() hooks {
	return func() hooks { return hooks{open: f} }
}

func closing(f func(i *isolate) error) func() hooks {
	return func() hooks { return hooks{close: f} }
}

func closingAll(f func(b *Backend) error) func() hooks {
	return func() hooks { return hooks{closeAll: f} }
}

// failure edits the errors of scripts.
func failure(f func(i *isolate, e *spi.ScriptError)) func() hooks {
	return outcome(func(i *isolate, out *spi.Outcome) {
		if out.Error != nil {
			f(i, out.Error)
		}
	})
}

// asError returns an error, or nothing, for some of the scripts that failed.
func asError(kinds []spi.Kind, err error) func() hooks {
	return evaluating(func(ctx context.Context, i *isolate, req *spi.Request) (*spi.Outcome, error) {
		out, good := run(ctx, i, req)
		if good == nil && out.Error != nil && slices.Contains(kinds, out.Error.Kind) {
			return nil, err
		}
		return out, good
	})
}

// refuseWith has Open return another error, or nothing, where the good backend
// refuses with from.
func refuseWith(from, to error) func() hooks {
	return opening(func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
		iso, err := b.open(ctx, cfg)
		if errors.Is(err, from) {
			return nil, to
		}
		return iso, err
	})
}

// relabel calls one kind another. Only fuel and time have a limit to keep.
func relabel(from, to spi.Kind) func() hooks {
	return failure(func(_ *isolate, e *spi.ScriptError) {
		if e.Kind == from {
			e.Kind = to
			if to != spi.KindTimeout {
				e.Limit = nil
			}
		}
	})
}

// before runs code before every script, on its first line and leaving the
// script's own value, directive and places alone.
func before(code string) func() hooks {
	shift := len(prefixed(code, ""))
	return func() hooks {
		return hooks{
			request: func(_ *isolate, req *spi.Request) { req.Source = prefixed(code, req.Source) },
			outcome: func(_ *isolate, out *spi.Outcome) {
				if out.Error != nil && out.Error.Line == 1 {
					out.Error.Column = max(0, out.Error.Column-shift)
				}
				out.Pending = slices.Clone(out.Pending)
				for n := range out.Pending {
					if c := &out.Pending[n]; c.Line == 1 {
						c.Column = max(0, c.Column-shift)
					}
				}
			},
		}
	}
}

func prefixed(code, source string) string {
	const strict = "'use strict';"
	code = "void function () { " + code + " }();"
	if strings.HasPrefix(source, strict) {
		code = strict + code
	}
	return code + source
}

// setValue makes the outcome a success.
func setValue(out *spi.Outcome, value string, typ spi.ValueType) {
	out.Value, out.ValueType, out.Error = json.RawMessage(value), typ, nil
	out.Usage.OutputBytes = int64(len(value))
}

// setError makes the outcome a failure. limit is "" for a kind without one.
func setError(i *isolate, out *spi.Outcome, kind spi.Kind, limit spi.LimitName) {
	out.Value, out.ValueType, out.Usage.OutputBytes = nil, "", 0
	out.Error = &spi.ScriptError{Kind: kind}
	if limit != "" {
		value, _ := limitOf(&i.asked.Limits, limit)
		out.Error.Limit = &spi.ReachedLimit{Name: limit, Value: value}
	}
}

// setLogs keeps the count of the lines true.
func setLogs(out *spi.Outcome, lines []spi.LogLine) {
	out.Logs, out.Usage.LogBytes = lines, 0
	for _, l := range lines {
		out.Usage.LogBytes += int64(len(l.Text)) + 1
	}
}

// setTexts changes the text of every line.
func setTexts(out *spi.Outcome, change func(text string) string) {
	lines := slices.Clone(out.Logs)
	for n := range lines {
		lines[n].Text = change(lines[n].Text)
	}
	setLogs(out, lines)
}

// ended reports whether the eval was stopped by force.
func ended(out *spi.Outcome) bool {
	return out.Error != nil && slices.Contains([]spi.Kind{
		spi.KindTimeout, spi.KindFuel, spi.KindCancelled, spi.KindKilled,
	}, out.Error.Kind)
}

// series are the IDs of a group from one number to another, for a defect that
// each of them must see in its own way.
func series(group string, from, to int) []string {
	var ids []string
	for n := from; n <= to; n++ {
		ids = append(ids, fmt.Sprintf("%s-%03d", group, n))
	}
	return ids
}
