package qjs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestAScriptHasTheValueOfItsLastExpression(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, want string
		valueType    spi.ValueType
	}{
		{"1 + 1", "2", spi.TypeNumber},
		{"let x = 1; if (x) { 'yes' } else { 'no' }", `"yes"`, spi.TypeString},
		{"x = 1; x", "1", spi.TypeNumber},
		{"null", "null", spi.TypeNull},
		{"true", "true", spi.TypeBoolean},
		{"[1, , 'a']", `[1,null,"a"]`, spi.TypeArray},
		{"({ b: 1, a: undefined })", `{"b":1}`, spi.TypeObject},
		{"undefined", "null", spi.TypeUndefined},
		{"let y = 1;", "null", spi.TypeUndefined},
		{"() => 1", "null", spi.TypeFunction},
		{"Symbol()", "null", spi.TypeSymbol},
		{"NaN", "null", spi.TypeNumber},
		{"await 1; await Promise.resolve(7)", "7", spi.TypeNumber},
		{"Promise.resolve({ a: 1 })", `{"a":1}`, spi.TypeObject},
		{"({ then(done) { done(8) } })", "8", spi.TypeNumber},
		{"return 5", "5", spi.TypeNumber},
		{"if (1) return await Promise.resolve([6]) // end", "[6]", spi.TypeArray},
		{"return", "null", spi.TypeUndefined},
		{"'a\\0b\\u2028'", `"a\u0000b` + "\u2028" + `"`, spi.TypeString},
		{"'\x00'.length", "1", spi.TypeNumber},
		{"'\\ud800' + '\\udc00'.repeat(2)", `"` + "\U00010000" + `\ufffd"`, spi.TypeString},
		{"new Date(0)", `"1970-01-01T00:00:00.000Z"`, spi.TypeObject},
		{"BigInt.prototype.toJSON = () => 'big'; 1n", `"big"`, spi.TypeObject},
	} {
		out := run(t, config(), c.source)
		requireValue(t, out, c.want)
		assert.Equal(t, c.valueType, out.ValueType, c.source)
		assert.EqualValues(t, len(out.Value), out.Usage.OutputBytes, c.source)
		assert.Positive(t, out.Usage.Wall)
		assert.Positive(t, out.Usage.MemoryPeakBytes)
		assert.Zero(t, out.Usage.Fuel)
	}
}

func TestAScriptFailsInItsOwnWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, name, message string
		kind                  spi.Kind
		line, column          int
	}{
		{"a b", "SyntaxError", "expecting ';'", spi.KindSyntax, 1, 0},
		{"1;\nlet q = 1; let q = 2", "SyntaxError", "invalid redefinition of lexical identifier", spi.KindSyntax, 2, 0},
		{"}, () => {", "SyntaxError", "unexpected token in expression: '}'", spi.KindSyntax, 1, 0},
		{"return 1 }); (async () => { return 2", "SyntaxError", "Unexpected token ')'", spi.KindSyntax, 1, 0},
		{"return 1 }}); ({ async body() { return 2", "SyntaxError", "Unexpected token '}'", spi.KindSyntax, 1, 0},
		{"throw new SyntaxError('mine')", "SyntaxError", "mine", spi.KindException, 1, 10},
		{"\n  null.f", "TypeError", "cannot read property 'f' of null", spi.KindException, 2, 3},
		{"'é'; throw new RangeError('')", "RangeError", "", spi.KindException, 1, 15},
		{"await 1;\nnone", "ReferenceError", "none is not defined", spi.KindException, 2, 1},
		{"if (1) throw new Error('in a body'); return", "Error", "in a body", spi.KindException, 1, 17},
		{"throw 5", "", "5", spi.KindException, 0, 0},
		{"throw 'text'", "", "text", spi.KindException, 0, 0},
		{"throw undefined", "", "undefined", spi.KindException, 0, 0},
		{"throw { a: 1 }", "", `{"a":1}`, spi.KindException, 0, 0},
		{"throw Object.defineProperty(new Error, 'message', { get() { throw 1 } })", "Error", "", spi.KindException, 1, 32},
		{"Promise.reject(new Error('later'))", "Error", "later", spi.KindException, 1, 19},
		{"({ toJSON() { throw new RangeError('json') } })", "RangeError", "json", spi.KindException, 1, 24},
		{"queueMicrotask(() => { throw new Error('job') }); await new Promise(() => {})", "", "Error: job", spi.KindException, 1, 33},
		{"({ toJSON() { throw new TypeError('json') } })", "TypeError", "json", spi.KindException, 1, 24},
		{"1n", "TypeError", "BigInt are forbidden in JSON.stringify", spi.KindUnserializable, 0, 0},
		{"const a = {}; a.a = a", "TypeError", "circular reference", spi.KindUnserializable, 0, 0},
		{"new Promise(() => {})", "DeadlockError", "the script waits for a promise that nothing can settle", spi.KindDeadlock, 0, 0},
		{"await new Promise(() => {}); 1", "DeadlockError", "the script waits for a promise that nothing can settle", spi.KindDeadlock, 0, 0},
	} {
		iso := open(t, config())
		out, err := iso.Eval(t.Context(), script(c.source))
		require.NoError(t, err)
		requireKind(t, out, c.kind)
		assert.Equal(t, c.name, out.Error.Name, c.source)
		assert.Equal(t, c.message, out.Error.Message, c.source)
		assert.Equal(t, []int{c.line, c.column}, []int{out.Error.Line, out.Error.Column}, "%s\n%s", c.source, out.Error.Stack)
		assert.NotContains(t, out.Error.Stack, "prelude")
		assert.Positive(t, out.Usage.Wall)
		assert.Positive(t, out.Usage.MemoryPeakBytes)
		out, err = iso.Eval(t.Context(), script("'whole'"))
		require.NoError(t, err, c.source)
		requireValue(t, out, `"whole"`)
	}
}

func TestErrorTextsAreBounded(t *testing.T) {
	t.Parallel()
	out := run(t, config(), "const e = new Error('é'.repeat(1e6)); e.name = 'n'.repeat(1e6); e.stack = 's'.repeat(1e6); throw e")
	requireKind(t, out, spi.KindException)
	for text, limit := range map[string]int{
		out.Error.Name: spi.MaxErrorNameBytes, out.Error.Message: spi.MaxErrorMessageBytes, out.Error.Stack: spi.MaxErrorStackBytes,
	} {
		assert.LessOrEqual(t, len(text), limit)
		assert.Greater(t, len(text), limit-4)
		assert.True(t, strings.HasSuffix(text, "…"))
	}
}

func TestForceIsToldApartByWhoUsedIt(t *testing.T) {
	t.Parallel()
	background := func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }
	for name, c := range map[string]struct {
		ctx     func() (context.Context, context.CancelFunc)
		timeout time.Duration
		kind    spi.Kind
		limit   bool
		spent   bool
	}{
		"limit": {background, 50 * time.Millisecond, spi.KindTimeout, true, true},
		"caller's deadline": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), 50*time.Millisecond)
		}, time.Minute, spi.KindTimeout, false, true},
		"cancelled": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := background()
			time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, cancel
		}, time.Minute, spi.KindCancelled, false, true},
		"cancelled before": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := background()
			cancel()
			return ctx, cancel
		}, time.Minute, spi.KindCancelled, false, false},
		"deadline before": {func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		}, time.Minute, spi.KindTimeout, false, false},
	} {
		for _, source := range []string{
			"console.log('on'); for (;;) {}", "console.log('on'); for (;;) await 0", "console.log('on'); /(a+)+$/.test('a'.repeat(60) + 'b')",
			"console.log('on'); try { for (;;) {} } finally { for (;;) {} }",
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				cfg := config()
				cfg.Limits.Timeout = c.timeout
				iso := open(t, cfg)
				ctx, cancel := c.ctx()
				defer cancel()
				out, err := iso.Eval(ctx, script(source))
				require.NoError(t, err)
				requireKind(t, out, c.kind)
				assert.Equal(t, c.limit, out.Error.Limit != nil)
				assert.Positive(t, out.Usage.Wall)
				assert.Positive(t, out.Usage.MemoryPeakBytes)
				again, err := iso.Eval(t.Context(), script("1"))
				if c.spent {
					assert.Equal(t, []spi.LogLine{{Level: spi.LevelLog, Text: "on"}}, out.Logs)
					require.ErrorIs(t, err, spi.ErrIsolateSpent)
					return
				}
				require.NoError(t, err)
				requireValue(t, again, "1")
			})
		}
	}
}

func TestCloseKillsARunningEval(t *testing.T) {
	t.Parallel()
	iso := open(t, config())
	done := make(chan struct{})
	go func() {
		defer close(done)
		out, err := iso.Eval(context.Background(), script("for (;;) {}"))
		if errors.Is(err, spi.ErrClosed) {
			return // Close was first
		}
		if assert.NoError(t, err) && assert.NotNil(t, out.Error) {
			assert.Equal(t, spi.KindKilled, out.Error.Kind)
		}
	}()
	time.Sleep(50 * time.Millisecond)
	for range 2 {
		require.NoError(t, iso.Close())
	}
	<-done
	_, err := iso.Eval(t.Context(), script("1"))
	require.ErrorIs(t, err, spi.ErrClosed)
}
