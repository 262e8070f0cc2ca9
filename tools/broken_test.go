package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/loom-sandbox/sandboxd/tools"
)

// Things that must not reach a script.
const (
	secretPath    = "/srv/app/secrets.yaml"
	secretAddress = "10.20.30.40:5432"
	secretToken   = "sk-live-123456"
)

// cycle is a value that is part of itself.
type cycle struct{ Next *cycle }

// panics panics wherever somebody looks at it.
type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic(secretToken) }
func (panics) Error() string                { panic(secretToken) }
func (panics) Is(error) bool                { panic(secretToken) }

// lies writes text that is no JSON.
type lies string

func (l lies) MarshalJSON() ([]byte, error) { return []byte(l), nil }

func TestABrokenHandlerIsAFailureThatSaysNothing(t *testing.T) {
	t.Parallel()
	self := &cycle{}
	self.Next = self
	secret := errors.New("open " + secretPath + ": dial tcp " + secretAddress + " with " + secretToken + "\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:7")
	fails := func(err error) tools.Handler {
		return func(context.Context, *tools.Call) (any, error) { return "dropped", err }
	}
	for name, handler := range map[string]tools.Handler{
		"an error":             fails(secret),
		"a wrapped error":      fails(fmt.Errorf("lookup: %w", secret)),
		"an error that panics": fails(panics{}),
		"nothing to tell":      fails(tools.Failf("")),
		"a panic":              func(context.Context, *tools.Call) (any, error) { panic(secret) },
		"a panic with words":   func(context.Context, *tools.Call) (any, error) { panic(tools.Failf("told")) },
		"a panic with nil":     func(context.Context, *tools.Call) (any, error) { panic(nil) },
		"a nil pointer":        func(context.Context, *tools.Call) (any, error) { var c *tools.Call; return c.ID, nil },
		"an exit":              func(context.Context, *tools.Call) (any, error) { runtime.Goexit(); return 1, nil },
		"a channel":            returns(make(chan int)),
		"a function":           returns(func() {}),
		"NaN":                  returns(math.NaN()),
		"infinity":             returns([]float64{math.Inf(1)}),
		"a cycle":              returns(self),
		"a value that panics":  returns(panics{}),
		"a value that lies":    returns(lies("}" + secretToken)),
		"duplicate members":    returns(json.RawMessage(`{"a":1,"a":2}`)),
		"invalid UTF-8":        returns(json.RawMessage("\"\xff\"")),
		"half a surrogate":     returns(json.RawMessage(`"\ud800"`)),
		"two values":           returns(json.RawMessage(`1 2`)),
		"no JSON at all":       returns(json.RawMessage(secretPath)),
		"a huge number":        returns(json.RawMessage(`1e1000000000`)),
		"a deep value":         returns(json.RawMessage(strings.Repeat("[", 1001) + strings.Repeat("]", 1001))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := lookup(t, handler).Answer(t.Context(), ask(`[{}]`), nil)
			assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup failed", Code: tools.CodeFailed}, failure(t, answer))
			assert.Error(t, answer.Cause, "operators are told")
			assert.Equal(t, "tool:crm.lookup", answer.Origin)
		})
	}
}

func TestWhatCanBeWrittenIsWrittenStrictly(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		`null`:                            nil,
		`"\ufffd"`:                        "\xff",
		`{"a":"\u003cb\u003e"}`:           map[string]string{"a": "<b>"},
		`[1.0,12345678901234567890,1e10]`: json.RawMessage(` [1.0, 12345678901234567890, 1e10] `),
		`"2s"`:                            lies(`"2s"`),
	} {
		answer := lookup(t, returns(value)).Answer(t.Context(), ask(`[]`), nil)
		assert.Equal(t, want, string(answer.Value))
	}
}

func TestAResultIsBounded(t *testing.T) {
	t.Parallel()
	for n, ok := range map[int]bool{98: true, 99: false, 1 << 20: false} {
		set := newSet(t, tools.Tool{Name: "crm.lookup", MaxResultBytes: 100, Handler: returns(strings.Repeat("a", n))})
		answer := set.Answer(t.Context(), ask(`[]`), nil)
		if ok {
			assert.Len(t, answer.Value, n+2)
			continue
		}
		assert.Equal(t, tools.Failure{Name: tools.NameTool, Message: "crm.lookup returned more than 100 bytes", Code: tools.CodeLimit}, failure(t, answer))
	}
}

func TestAHandlerTellsTheScriptOnlyWhatItMeansTo(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial " + secretAddress)
	for _, tc := range []struct {
		name    string
		err     error
		message string
		denied  bool
	}{
		{"words", tools.Failf("no customer has the id %d", 7), "crm.lookup: no customer has the id 7", false},
		{"words inside of an error", fmt.Errorf("%s: %w", secretPath, tools.Failf("try again later")), "crm.lookup: try again later", false},
		{"words about an error", tools.Failf("the database is away: %v", secret), "crm.lookup: the database is away: error", false},
		{"words that wrap an error", tools.Failf("away: %w (%w)", secret, tools.Failf("twice")), "crm.lookup: away: error (twice)", false},
		{"words about another's words", tools.Failf("step 2: %v", fmt.Errorf("%s: %w", secretPath, tools.Failf("no rows"))), "crm.lookup: step 2: no rows", false},
		{"words with odd verbs", tools.Failf("%d %#v %+v %x", secret, secret, secret, secret), `crm.lookup: %!d(tools.hidden=error) "error" error 6572726f72`, false},
		{"words about a list of errors", tools.Failf("%v", []error{secret, tools.Failf("no rows"), nil}), "crm.lookup: [error no rows error]", false},
		{"several lines", tools.Failf("a\n\tb\r\x00c\u2028d\x1b[2Je\u200b"), "crm.lookup: a b c d [2Je", false},
		{"not UTF-8", tools.Failf("a\xffb"), "crm.lookup: a\ufffdb", false},
		{"a refusal", tools.Denied("that customer is\nanother's"), "crm.lookup was denied: that customer is another's", true},
		{"a refusal without a reason", tools.Denied(""), "crm.lookup was denied", true},
		{"a wrapped refusal", fmt.Errorf("%s: %w", secretPath, tools.Denied("no")), "crm.lookup was denied: no", true},
		{"several", errors.Join(secret, tools.Failf("one of them")), "crm.lookup: one of them", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			set := lookup(t, func(context.Context, *tools.Call) (any, error) { return nil, tc.err })
			answer := set.Answer(t.Context(), ask(`[]`), nil)
			want := tools.Failure{Name: tools.NameTool, Message: tc.message, Code: tools.CodeFailed}
			if tc.denied {
				want = tools.Failure{Name: tools.NameDenied, Message: tc.message, Denied: true, Code: tools.CodePolicy}
			}
			assert.Equal(t, want, failure(t, answer))
			assert.ErrorIs(t, answer.Cause, tc.err)
		})
	}
	long := lookup(t, func(context.Context, *tools.Call) (any, error) {
		return nil, tools.Failf("%s", strings.Repeat("é", 1<<20))
	})
	got := failure(t, long.Answer(t.Context(), ask(`[]`), nil)).Message
	assert.LessOrEqual(t, len(got), tools.MaxMessageBytes)
	assert.True(t, strings.HasSuffix(got, "é…"))
}

func TestFailfKeepsWhatItWasGivenForOperators(t *testing.T) {
	t.Parallel()
	secret := errors.New("dial " + secretAddress)
	err := tools.Failf("away: %w", secret)
	assert.ErrorIs(t, err, secret)
	assert.EqualError(t, err, "away: dial "+secretAddress)
	assert.EqualError(t, tools.Denied("no"), "no")
}

func TestAPanicIsKeptForOperators(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		"tools: panic: sk-live-123456":                          secretToken,
		"tools: panic with a value of type *errors.errorString": errors.New(secretToken),
		"tools: panic with a value of type int":                 7,
	} {
		answer := lookup(t, func(context.Context, *tools.Call) (any, error) { panic(value) }).Answer(t.Context(), ask(`[]`), nil)
		var panicked *tools.PanicError
		if assert.ErrorAs(t, answer.Cause, &panicked) {
			assert.Equal(t, value, panicked.Value)
			assert.Contains(t, string(panicked.Stack), "broken_test.go")
			assert.EqualError(t, panicked, want)
		}
	}
}
