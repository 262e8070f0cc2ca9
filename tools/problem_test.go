package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/tools"
)

// says is what a script is told that calls a tool of this schema with args.
func says(t testing.TB, schema, args string) string {
	t.Helper()
	tool := named("crm.lookup")
	tool.Input = json.RawMessage(schema)
	answer := newSet(t, tool).Answer(t.Context(), ask(args), nil)
	if answer.Failure == nil {
		return ""
	}
	got := failure(t, answer)
	require.Equal(t, tools.NameType, got.Name)
	require.Equal(t, tools.CodeBadArguments, got.Code)
	require.LessOrEqual(t, len(got.Message), tools.MaxMessageBytes)
	rest, ok := strings.CutPrefix(got.Message, "tools.crm.lookup: ")
	require.True(t, ok, got.Message)
	return rest
}

func TestAToolTakesOneObject(t *testing.T) {
	t.Parallel()
	const one = "takes one argument, an object"
	for _, schema := range []string{"", `{}`, `{"type": "object"}`} {
		for args, want := range map[string]string{
			``: "", `[]`: "", `[{}]`: "", ` [ {"a": 1} ] `: "",
			`[null]`: one, `[1]`: one, `["a"]`: one, `[[]]`: one, `[true]`: one, `[{},{}]`: one, `[{},null]`: one, `[1,2]`: one,
			`{}`: "the arguments cannot be read", `[{"a":1,"a":2}]`: "the arguments cannot be read", `[`: "the arguments cannot be read",
			`[{"a":1e1000}]`: "the arguments cannot be read: a number is longer than 400 bytes, or has an exponent of more than 3 digits",
			`[{"a":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}]`: "the arguments cannot be read: objects and arrays nest deeper than 1000 levels",
		} {
			assert.Equal(t, want, says(t, schema, args), args)
		}
	}
	large := lookup(t, returns(1)).Answer(t.Context(), ask(`[{"a":"`+strings.Repeat("a", tools.MaxArgumentBytes)+`"}]`), nil)
	assert.Equal(t, tools.Failure{Name: tools.NameType, Code: tools.CodeLimit, Message: "tools.crm.lookup: the arguments must have at most 4194304 bytes as JSON"}, failure(t, large))
}

func TestAMessageNamesThePlaceAndTheRule(t *testing.T) {
	t.Parallel()
	member := func(schema string) string { return `{"type":"object","properties":{"id":` + schema + `}}` }
	for _, tc := range []struct{ schema, args, want string }{
		{member(`{"type":"integer"}`), `[{"id":"7"}]`, "/id must be integer"},
		{member(`{"type":"integer"}`), `[{"id":7.5}]`, "/id must be integer"},
		{member(`{"type":"integer"}`), `[{"id":7.0}]`, ""},
		{member(`{"type":["string","null"]}`), `[{"id":7}]`, "/id must be null or string"},
		{`{"required":["b","a"]}`, `[]`, "/a is required"},
		{`{"properties":{"a":{"required":["b"]}}}`, `[{"a":{}}]`, "/a/b is required"},
		{`{"dependentRequired":{"a":["b"]}}`, `[{"a":1}]`, `/b is required beside "a"`},
		{`{"additionalProperties":false}`, `[{"b":1,"a/~":1}]`, "/a~1~0 is not allowed"},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `[{"b":1}]`, "/b is not allowed"},
		{member(`false`), `[{"id":1}]`, "/id is not allowed"},
		{`{"propertyNames":{"maxLength":1}}`, `[{"ab":1}]`, "/ab has a name that is not allowed"},
		{`{"minProperties":1}`, `[{}]`, "the argument must have at least 1 member"},
		{`{"maxProperties":1}`, `[{"a":1,"b":2}]`, "the argument must have at most 1 member"},
		{member(`{"enum":["a",1,null]}`), `[{"id":"b"}]`, `/id must be one of "a", 1, null`},
		{member(`{"const":{"a":1}}`), `[{"id":"b"}]`, `/id must be {"a":1}`},
		{member(`{"format":"email"}`), `[{"id":"b"}]`, `/id must have the format "email"`},
		{member(`{"format":"date-time"}`), `[{"id":"2020-01-01T00:00:00Z"}]`, ""},
		{member(`{"pattern":"^a+$"}`), `[{"id":"b"}]`, `/id must match the pattern "^a+$"`},
		{member(`{"minLength":2}`), `[{"id":"ä"}]`, "/id must have at least 2 characters"},
		{member(`{"maxLength":2}`), `[{"id":"äöü"}]`, "/id must have at most 2 characters"},
		{member(`{"minimum":1.50}`), `[{"id":1}]`, "/id must be at least 1.5"},
		{member(`{"maximum":1e3}`), `[{"id":1001}]`, "/id must be at most 1000"},
		{member(`{"exclusiveMinimum":0}`), `[{"id":0}]`, "/id must be more than 0"},
		{member(`{"exclusiveMaximum":-0.1}`), `[{"id":0}]`, "/id must be less than -0.1"},
		{member(`{"multipleOf":0.01}`), `[{"id":0.001}]`, "/id must be a multiple of 0.01"},
		{member(`{"multipleOf":1e-20}`), `[{"id":1e-21}]`, "/id must be a multiple of 1/100000000000000000000"},
		{member(`{"minItems":1}`), `[{"id":[]}]`, "/id must have at least 1 item"},
		{member(`{"maxItems":1}`), `[{"id":[1,2]}]`, "/id must have at most 1 item"},
		{member(`{"uniqueItems":true}`), `[{"id":[1,1.0]}]`, "/id must have no equal items"},
		{member(`{"items":{"type":"string"}}`), `[{"id":["a","b",1]}]`, "/id/2 must be string"},
		{member(`{"prefixItems":[true],"items":false}`), `[{"id":[1,2]}]`, "/id/1 is not allowed"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"id":{"items":[true],"additionalItems":false}}}`, `[{"id":[1,2]}]`, "/id has more items than allowed"},
		{member(`{"items":{"type":"null"}}`), `[{"id":[null,null,1,null,null,null,null,null,null,null,2]}]`, "/id/2 must be null"},
		{member(`{"contains":{"const":1}}`), `[{"id":[2]}]`, "/id has too few items that fit"},
		{member(`{"contains":true,"maxContains":1}`), `[{"id":[1,2]}]`, "/id has too many items that fit"},
		{member(`{"anyOf":[{"type":"string"},{"type":"integer"}]}`), `[{"id":true}]`, "/id must be integer or string"},
		{member(`{"anyOf":[{"minLength":3},{"type":"integer"}]}`), `[{"id":"a"}]`, "/id fits none of the alternatives"},
		{member(`{"oneOf":[{"type":"string"},{"minLength":1}]}`), `[{"id":"a"}]`, "/id must fit exactly one of the alternatives, and fits more"},
		{member(`{"not":{"type":"string"}}`), `[{"id":"a"}]`, "/id is not what the schema allows"},
		{member(`{"allOf":[{"minimum":5},{"type":"number"}]}`), `[{"id":1}]`, "/id must be at least 5"},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"boolean"}}}`, `[{"a":1}]`, "/a must be boolean"},
		{`{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`, `[{"a":1}]`, "/a is not what the schema allows"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `[{"a":1}]`, "/b is required"},
		{`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"}}}`, `[{"c":1,"b":2,"a":3}]`, "/a must be string"},
		{`{"additionalProperties":{"type":"string"}}`, `[{"a\n\u202eb":1}]`, "/a b must be string"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"type":"string"}}}`, `[{"a":1}]`, "/a must be string"},
	} {
		for range 3 { // maps have no order
			assert.Equal(t, tc.want, says(t, tc.schema, tc.args), "%s of %s", tc.args, tc.schema)
		}
	}
}

func TestALongPlaceIsCut(t *testing.T) {
	t.Parallel()
	got := says(t, `{"additionalProperties":false}`, fmt.Sprintf(`[{%q:1}]`, strings.Repeat("ab", 5000)))
	assert.Regexp(t, `^/(ab)+a?… is not allowed$`, got)
	assert.Less(t, len(got), 200)
}

func FuzzAMessageNeverHoldsTheValue(f *testing.F) {
	for i := range schemasOfMessages() {
		f.Add(uint8(i), "a value")
		f.Add(uint8(i), "\u202e\"*/\n")
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		schemas := schemasOfMessages()
		schema := schemas[int(which)%len(schemas)]
		// A value of which no part is in any message by itself.
		secret := "QZX" + text + "QZX"
		raw, err := json.Marshal(secret)
		require.NoError(t, err)
		for _, value := range []string{string(raw), "[" + string(raw) + "]", `{"a":` + string(raw) + `}`, "987654321", "[987654321,987654321]", "-9.87654321"} {
			got := says(t, `{"type":"object","properties":{"id":`+schema+`}}`, `[{"id":`+value+`}]`)
			require.NotContains(t, got, "QZX")
			require.NotContains(t, got, "987654321")
			require.NotContains(t, got, "\n")
		}
	})
}

// schemasOfMessages are schemas that refuse most values, for every reason.
func schemasOfMessages() []string {
	return []string{
		`{"type":"boolean"}`, `{"enum":[1,"b"]}`, `{"const":"b"}`, `{"format":"date-time"}`, `{"format":"regex"}`, `{"format":"uri"}`, `{"pattern":"^b$"}`,
		`{"minLength":4000}`, `{"maxLength":1}`, `{"minimum":1e12}`, `{"maximum":-1e12}`, `{"multipleOf":7000}`, `{"uniqueItems":true,"minItems":3}`,
		`{"items":{"type":"null"}}`, `{"additionalProperties":{"const":1}}`, `{"not":{}}`, `{"anyOf":[{"type":"null"},{"const":2}]}`, `{"oneOf":[{},{}]}`,
		`{"contains":{"const":1}}`, `{"prefixItems":[{"type":"null"}],"items":false}`, `false`, `{"$ref":"#"}`, `{"if":{"type":"string"},"then":false}`,
	}
}
