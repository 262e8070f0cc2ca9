package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

func TestABackendIsHeldToWhatItSaysOfCalls(t *testing.T) {
	t.Parallel()
	for name, pending := range map[string][]spi.HostCall{
		"no ID":                 {{Function: "tools.t", Args: json.RawMessage(`[]`)}},
		"an ID that comes back": {{ID: 2, Function: "tools.t", Args: json.RawMessage(`[]`)}, {ID: 1, Function: "tools.t", Args: json.RawMessage(`[]`)}},
		"a long name":           {{ID: 1, Function: strings.Repeat("x", 257), Args: json.RawMessage(`[]`)}},
		"no arguments":          {{ID: 1, Function: "tools.t"}},
		"an object":             {{ID: 1, Function: "tools.t", Args: json.RawMessage(`{}`)}},
		"a place nowhere":       {{ID: 1, Function: "tools.t", Args: json.RawMessage(`[]`), Line: -1}},
		"broken arguments":      {{ID: 1, Function: "tools.t", Args: json.RawMessage(`[{"a":1,"a":2}]`)}},
		"huge arguments":        {{ID: 1, Function: "tools.t", Args: json.RawMessage(`["` + strings.Repeat("x", 100) + `"]`)}},
	} {
		b := calling(nil)
		b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
			return &spi.Outcome{Pending: pending}, nil
		}
		_, err := newTest(t, waiting{b}, nil).Eval(t.Context(), Request{
			Script: "s", Tools: set(t, says("t", 1)), Limits: Limits{ArgumentBytes: 50},
		})
		var failed *BackendError
		require.ErrorAs(t, err, &failed, name)
		_, err = newTest(t, waiting{b}, nil).Eval(t.Context(), Request{Script: "s"})
		require.ErrorAs(t, err, &failed, "%s, of a script that was handed nothing", name)
	}
	b := one(func(g *guest) (any, error) { return g.do("tools.t", `[]`) })
	b.continueErr = spi.ErrReply
	_, err := newTest(t, b, nil).Eval(t.Context(), Request{Script: "s", Tools: set(t, says("t", 1))})
	require.ErrorIs(t, err, spi.ErrReply)
}

// waiting is a backend whose isolates answer with what eval says, and can go on.
type waiting struct{ *fakeCaller }

func (b waiting) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := b.fakeBackend.Open(ctx, cfg)
	return goesOn{iso}, err
}

type goesOn struct{ spi.Isolate }

func (goesOn) Continue(context.Context, []spi.Reply) (*spi.Outcome, error) { return nil, spi.ErrReply }

func TestACallThatTheBackendDidNotTakeIsOverALimit(t *testing.T) {
	t.Parallel()
	b := fake()
	b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
		return &spi.Outcome{Error: &spi.ScriptError{Kind: spi.KindDenied, Limit: &spi.ReachedLimit{Name: spi.LimitHostCalls, Value: 5}}}, nil
	}
	res := evalOne(t, b, nil, Request{})
	assert.Equal(t, tools.CodeLimit, res.Error.Code)
	assert.Empty(t, res.Error.Tool)
}

func TestABackendThatWaitsForNothingIsAtFault(t *testing.T) {
	t.Parallel()
	b := waiting{calling(nil)}
	b.eval = func(context.Context, *spi.Config, *spi.Request) (*spi.Outcome, error) {
		return &spi.Outcome{Pending: []spi.HostCall{{ID: 1, Function: "tools.t", Args: json.RawMessage(`[]`)}}}, nil
	}
	_, err := newTest(t, repeating{b}, nil).Eval(t.Context(), Request{Script: "s", Tools: set(t, says("t", 1))})
	var failed *BackendError
	require.ErrorAs(t, err, &failed)
	assert.ErrorContains(t, err, "waits for calls that had their replies")
}

// repeating is a backend that has forgotten that it was given a reply.
type repeating struct{ waiting }

func (b repeating) Open(ctx context.Context, cfg *spi.Config) (spi.Isolate, error) {
	iso, err := b.fakeBackend.Open(ctx, cfg)
	return asksAgain{iso}, err
}

type asksAgain struct{ spi.Isolate }

func (i asksAgain) Continue(ctx context.Context, _ []spi.Reply) (*spi.Outcome, error) {
	return i.Eval(ctx, &spi.Request{})
}
