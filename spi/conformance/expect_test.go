package conformance

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

func TestAnOutcomeIsHeldToAllThatIsWanted(t *testing.T) {
	t.Parallel()
	object := valueOutcome(`{"b":1,"a":[true]}`, spi.TypeObject)
	logged := logging(valueOutcome("1", spi.TypeNumber), spi.LogLine{Level: spi.LevelLog, Text: "one"}, spi.LogLine{Level: spi.LevelWarn, Text: "two"})
	thrown := errorOutcome(spi.ScriptError{Kind: spi.KindException, Name: "TypeError", Message: "x is not y", Line: 3})
	late := errorOutcome(spi.ScriptError{Kind: spi.KindTimeout, Limit: &spi.ReachedLimit{Name: spi.LimitTimeout, Value: 100}})
	overflown := errorOutcome(spi.ScriptError{Kind: spi.KindStackOverflow, Name: "HostError", Message: "used up"})
	odd := func(*spi.Outcome) error { return errors.New("odd") }
	for name, c := range map[string]struct {
		script script
		got    *spi.Outcome
		wrong  string // "" where it is what is wanted
	}{
		"value":                        {script{value: `{"a":[ true ],"b":1}`}, object, ""},
		"another value":                {script{value: `{"a":[false],"b":1}`}, object, `value is {"b":1,"a":[true]}, wanted {"a":[false],"b":1}`},
		"value in order":               {script{value: `{"b":1, "a":[true]}`, ordered: true}, object, ""},
		"value in another order":       {script{value: `{"a":[true],"b":1}`, ordered: true}, object, "in this order"},
		"type":                         {script{value: `{"a":[true],"b":1}`, typ: spi.TypeObject}, object, ""},
		"another type":                 {script{value: `{"a":[true],"b":1}`, typ: spi.TypeArray}, object, `value has the type "object", wanted "array"`},
		"one of the values":            {script{orValue: []string{"2", "1"}}, logged, ""},
		"none of the values":           {script{orValue: []string{"2", "3"}}, logged, "value is 1, wanted one of 2, 3"},
		"error for a value":            {script{value: "1"}, thrown, "ended with exception (TypeError: x is not y), wanted the value 1"},
		"value for an error":           {script{kinds: exception()}, logged, "ended with the value 1, wanted an error"},
		"value where it will do":       {script{kinds: exception(), orValue: []string{"1"}}, logged, ""},
		"wrong value where one does":   {script{kinds: exception(), orValue: []string{"2"}}, logged, "value is 1, wanted one of 2"},
		"error where a value will do":  {script{kinds: exception(), orValue: []string{"1"}}, thrown, ""},
		"kind":                         {script{kinds: []spi.Kind{spi.KindTimeout, spi.KindException}}, thrown, ""},
		"another kind":                 {script{kinds: syntax()}, thrown, "ended with exception"},
		"name":                         {script{kinds: exception(), name: "TypeError"}, thrown, ""},
		"another name":                 {script{kinds: exception(), name: "Error"}, thrown, `name "TypeError", wanted "Error"`},
		"name that is the host's":      {script{kinds: []spi.Kind{spi.KindStackOverflow}, name: "RangeError"}, overflown, ""},
		"message":                      {script{kinds: exception(), message: "is not"}, thrown, ""},
		"another message":              {script{kinds: exception(), message: "is now"}, thrown, `says "x is not y", wanted "is now" in it`},
		"line":                         {script{kinds: exception(), line: 3}, thrown, ""},
		"another line":                 {script{kinds: exception(), line: 2}, thrown, "at line 3, wanted 2"},
		"limit":                        {script{kinds: []spi.Kind{spi.KindTimeout}, limit: spi.LimitTimeout}, late, ""},
		"another limit":                {script{kinds: []spi.Kind{spi.KindTimeout}, limit: spi.LimitFuel}, late, "wanted fuel"},
		"no limit":                     {script{kinds: exception(), limit: spi.LimitFuel}, thrown, "wanted fuel"},
		"logs":                         {script{value: "1", logs: []string{"one", "two"}}, logged, ""},
		"a line less":                  {script{value: "1", logs: []string{"one"}}, logged, `logs are ["one" "two"], wanted ["one"]`},
		"lines in another order":       {script{value: "1", logs: []string{"two", "one"}}, logged, "logs are"},
		"no logs":                      {script{value: "1", logs: []string{}}, logged, "wanted []"},
		"any logs":                     {script{value: "1"}, logged, ""},
		"logs of an error":             {script{kinds: exception(), logs: []string{"one"}}, thrown, "logs are []"},
		"more that is wrong":           {script{value: "1", also: odd}, logged, "odd"},
		"more that is wrong, an error": {script{kinds: exception(), also: odd}, thrown, "odd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.script.judge(c.got)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wrong)
		})
	}
}

// judgedBy runs a body on a backend whose evals give these values in turn.
func judgedBy(t *testing.T, b body, values ...string) (*fakeBackend, error) {
	t.Helper()
	backend := &fakeBackend{}
	backend.eval = func(context.Context, *spi.Request) (*spi.Outcome, error) {
		value := values[0]
		values = values[1:]
		return valueOutcome(value, spi.TypeNumber), nil
	}
	s := newSubject(backend)
	defer s.cleanUp()
	return backend, b(t.Context(), s)
}

func TestTheNextScriptIsJudgedInAnotherIsolate(t *testing.T) {
	t.Parallel()
	b := script{source: "a", value: "1", next: "b", nextValue: "2"}.body()
	backend, err := judgedBy(t, b, "1", "2")
	require.NoError(t, err)
	require.Len(t, backend.isolates, 2)
	_, err = judgedBy(t, b, "1", "3")
	require.ErrorContains(t, err, "the next eval: value is 3")
}

func TestScriptsHaveAnIsolateEachAndNameWhichFailed(t *testing.T) {
	t.Parallel()
	b := scripts{{source: "first", value: "1"}, {source: "second", value: "2"}}.body()
	backend, err := judgedBy(t, b, "1", "2")
	require.NoError(t, err)
	require.Len(t, backend.isolates, 2)
	for _, iso := range backend.isolates {
		require.Equal(t, 1, iso.closed)
	}
	_, err = judgedBy(t, b, "1", "1")
	require.ErrorContains(t, err, `of "second": value is 1, wanted 2`)
}

func TestASequenceSharesAnIsolate(t *testing.T) {
	t.Parallel()
	b := sequence{{source: "first", value: "1"}, {source: "second", value: "2"}}.body()
	backend, err := judgedBy(t, b, "1", "2")
	require.NoError(t, err)
	require.Len(t, backend.isolates, 1)
	_, err = judgedBy(t, b, "1", "1")
	require.ErrorContains(t, err, `of "second": value is 1, wanted 2`)
}

func TestTextsAreSearched(t *testing.T) {
	t.Parallel()
	require.NoError(t, containsAll("abc", "a", "bc"))
	require.ErrorContains(t, containsAll("abc", "a", "d"), `"abc" lacks "d"`)
	require.NoError(t, lacks("abc", "d"))
	require.ErrorContains(t, lacks("abc", "b"), `"abc" has "b" in it`)
}

func TestErrorTextsAreHeldToTheirBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text  string
		wrong string
	}{
		"cut at the bound":       {strings.Repeat("x", 97) + "…", ""},
		"cut before a character": {strings.Repeat("é", 47) + "…", ""},
		"not marked":             {strings.Repeat("x", 100), "ellipsis"},
		"cut far too early":      {strings.Repeat("x", 50) + "…", "cut to 53 bytes, and 100 are allowed"},
		"cut in a character":     {strings.Repeat("x", 94) + "\ufffd…", "within a character"},
		"empty":                  {"", "ellipsis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := cutText("message", c.text, 100)
			if c.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.wrong)
		})
	}
}

func TestTextOfTheHostIsNoticed(t *testing.T) {
	t.Parallel()
	for text, found := range map[string]bool{
		"at f (script.js:1:2)": false, "at <anonymous>:3": false, "cannot read property 'go' of null": false,
		"/root/src/main": true, "at engine.go:12": true, "at /home/a/b": true, "node:internal/x": true, "wasm-function[3]": true,
		"goroutine 7": true, "at 0xc000123456": true, "vm.cc:7": true,
	} {
		for _, e := range []spi.ScriptError{{Name: text}, {Message: text}, {Stack: text}} {
			assert.Equal(t, found, noHostText(&spi.Outcome{Error: &e}) != nil, text)
		}
	}
}

func TestASlowMachineGivesAScriptMoreTime(t *testing.T) {
	t.Parallel()
	s := newSubject(&fakeBackend{})
	s.slow = 3
	c := script{timeout: 100 * time.Millisecond, within: 2 * time.Second}
	assert.Equal(t, 300*time.Millisecond, s.config(c.changes(s)...).Limits.Timeout)
	assert.Equal(t, "6000", c.given(s))
	c = script{input: "[1]", config: withOutput(7)}
	assert.EqualValues(t, 7, s.config(c.changes(s)...).Limits.OutputBytes)
	assert.Equal(t, "[1]", c.given(s))
}

func TestARoomyScriptMayRunOutOfMemoryWhereThereIsLittle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most  int64
		roomy bool
		ok    bool
	}{{4 << 20, true, true}, {4 << 20, false, false}, {16 << 20, true, false}} {
		s := newSubject(&fakeBackend{eval: func(context.Context, *spi.Request) (*spi.Outcome, error) {
			return errorOutcome(spi.ScriptError{Kind: spi.KindMemory}), nil
		}})
		s.descriptor.MaxMemoryBytes = c.most
		one := script{source: "1", value: "1", roomy: c.roomy}
		err := one.run(t.Context(), s)
		assert.Equal(t, c.ok, err == nil, "%+v: %v", c, err)
	}
}

func TestLinesThatAreKeptAreSomeOfAllInOrder(t *testing.T) {
	t.Parallel()
	all := []string{"0123", "0123456789", "", "z"}
	for _, c := range []struct {
		got []string
		cut bool
		ok  bool
	}{
		{nil, false, true},
		{all, false, true},
		{[]string{"0123", "z"}, true, true},
		{[]string{"", "z"}, false, true},
		{[]string{"0123", "01234"}, true, true},
		{[]string{"0123", "01234"}, false, false},
		{[]string{"z", "0123"}, true, false},
		{[]string{"z", "z"}, true, false},
		{[]string{"0123", "y"}, true, false},
		{[]string{"0123", "0123456789", "", "z", ""}, true, false},
	} {
		err := wantLines(c.got, all, c.cut)
		assert.Equal(t, c.ok, err == nil, "%q: %v", c.got, err)
	}
}
