package tools

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted has every schema that can be reached from s count when it looks at a
// value.
func counted(s *jsonschema.Schema, n *float64, done map[*jsonschema.Schema]bool) {
	if s == nil || done[s] {
		return
	}
	done[s] = true
	s.Format = &jsonschema.Format{Name: "counts", Validate: func(any) error { *n++; return nil }}
	all := slices.Concat(sameValue(s), prefix(s), []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.UnevaluatedItems, s.Contains, s.Items2020})
	for _, other := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		if other, ok := other.(*jsonschema.Schema); ok {
			all = append(all, other)
		}
	}
	for _, p := range s.Properties {
		all = append(all, p)
	}
	for _, p := range s.PatternProperties {
		all = append(all, p)
	}
	for _, each := range all {
		counted(each, n, done)
	}
}

// schemas makes schemas of every keyword that has schemas in it.
type schemas struct{ *rand.Rand }

func (r schemas) any(depth int) any {
	if depth == 0 {
		return []any{true, map[string]any{"type": "object"}, map[string]any{"type": []any{"array", "null"}}, map[string]any{"required": []any{"a"}}}[r.IntN(4)]
	}
	one := func() any { return r.any(depth - 1) }
	list := func() any { return []any{one(), one()} }
	names := func() any { return map[string]any{"a": one(), "b": one()} }
	s := map[string]any{}
	for range 1 + r.IntN(2) {
		switch word := []string{
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "properties", "patternProperties", "additionalProperties", "dependentSchemas",
			"propertyNames", "unevaluatedProperties", "items", "prefixItems", "contains", "unevaluatedItems", "$ref", "$ref", "properties",
		}[r.IntN(20)]; word {
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[word] = list()
		case "properties", "patternProperties", "dependentSchemas":
			s[word] = names()
		case "$ref":
			s[word] = "#/$defs/" + []string{"d", "e"}[r.IntN(2)]
		default:
			s[word] = one()
		}
	}
	return s
}

func (r schemas) value(depth int) any {
	switch n := r.IntN(8); {
	case depth == 0 || n == 0:
		return nil
	case n < 5:
		return map[string]any{"a": r.value(depth - 1), "b": r.value(depth - 1), "ab": r.value(depth - 1)}
	default:
		return []any{r.value(depth - 1), r.value(depth - 1), r.value(depth - 1)}
	}
}

func TestNoCheckLooksMoreOftenThanWasFoundBefore(t *testing.T) {
	t.Parallel()
	bounded, unbounded, close := 0, 0, 0
	for seed := range uint64(300) {
		r := schemas{rand.New(rand.NewPCG(seed, 7))}
		text, err := json.Marshal(map[string]any{"allOf": []any{r.any(3)}, "$defs": map[string]any{"d": r.any(2), "e": r.any(2)}})
		require.NoError(t, err)
		s, err := compile(text, false)
		require.NoError(t, err, "%s", text)
		if s.rate == nil {
			unbounded++
			continue
		}
		bounded++
		n := 0.0
		counted(s.compiled, &n, map[*jsonschema.Schema]bool{})
		for range 5 {
			raw, err := json.Marshal(r.value(5))
			require.NoError(t, err)
			value, l, err := decode(raw)
			require.NoError(t, err)
			l.text, l.depths = 0, 0 // nothing is counted for them
			for _, whole := range []*jsonschema.Schema{s.compiled, s.refuses} {
				n = 0
				_ = whole.Validate(value)
				require.LessOrEqual(t, n, s.work(l), "%s\n%s", text, raw)
				if n*10 > s.work(l) {
					close++
				}
			}
		}
	}
	assert.Greater(t, bounded, 100)
	assert.Greater(t, unbounded, 10)
	assert.Greater(t, close, 100, "what was found before is not far from what is done")
}

func TestAStrangersSchemaHasABound(t *testing.T) {
	t.Parallel()
	alternatives := func(word string) string {
		return `{"$ref":"#/$defs/a","$defs":{"a":{"` + word + `":[{"properties":{"x":{"$ref":"#/$defs/a"}}},{"properties":{"x":{"$ref":"#/$defs/a"}}}]}}}`
	}
	chain := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 40 {
		chain += fmt.Sprintf(`"a%d":{"$ref":"#/$defs/a%d"},`, i, i+1)
	}
	chain += `"a40":{}}}`
	for name, tc := range map[string]struct{ schema, want string }{
		"anyOf":                    {alternatives("anyOf"), "more than 10000 steps; allowed is recursion where each value is checked once"},
		"oneOf":                    {alternatives("oneOf"), "more than 10000 steps"},
		"allOf":                    {alternatives("allOf"), "more than 10000 steps"},
		"not and if":               {`{"not":{"properties":{"x":{"$ref":"#"}}},"if":{"properties":{"x":{"$ref":"#"}}}}`, "more than 10000 steps"},
		"items and contains":       {`{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"items":{"$ref":"#/$defs/a"},"contains":{"$ref":"#/$defs/a"}}}}`, "more than 10000 steps"},
		"patterns that overlap":    {`{"patternProperties":{"^a":{"$ref":"#"},"a":{"$ref":"#"}}}`, "more than 10000 steps"},
		"members and the rest":     {`{"properties":{"x":{"$ref":"#"}},"unevaluatedProperties":{"$ref":"#"}}`, "more than 10000 steps"},
		"dependent schemas":        {`{"properties":{"x":{"$ref":"#"}},"dependentSchemas":{"x":{"properties":{"x":{"$ref":"#"}}}}}`, "more than 10000 steps"},
		"dependencies":             {`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"x":{"$ref":"#"}},"dependencies":{"x":{"properties":{"x":{"$ref":"#"}}}}}`, "more than 10000 steps"},
		"two that take turns":      {`{"properties":{"x":{"$ref":"#/$defs/b"}},"$defs":{"b":{"allOf":[{"additionalProperties":{"$ref":"#"}},{"additionalProperties":{"$ref":"#"}}]}}}`, "more than 10000 steps"},
		"one more at each level":   {`{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#/$defs/b"}]}},"$defs":{"b":{"properties":{"x":{"$ref":"#/$defs/b"}}}}}`, "more than 10000 steps"},
		"doubled many times":       {doubled(14), "more than 10000 steps"},
		"a wide schema":            {`{"allOf":[` + times("{}", 4900) + `]}`, "more than 10000 steps"},
		"many values":              {`{"prefixItems":[` + times("{}", 5000) + `]}`, "more than 5000 values"},
		"many required":            {`{"allOf":[` + times(`{"$ref":"#/$defs/a"}`, 4) + `],"$defs":{"a":{"required":["` + strings.Join(numbers(3000), `","`) + `"]}}}`, "more than 10000 steps"},
		"itself":                   {`{"allOf":[{"$ref":"#"}]}`, "refers to itself for the same value"},
		"itself, not":              {`{"properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, "refers to itself for the same value"},
		"a chain":                  {chain, "more than 32 schemas nest"},
		"deep not":                 {strings.Repeat(`{"not":`, 40) + "{}" + strings.Repeat("}", 40), "more than 32 schemas nest"},
		"a deep schema":            {strings.Repeat(`{"properties":{"a":`, 33) + "{}" + strings.Repeat("}}", 33), "deeper than 64 levels"},
		"deep and wide":            {strings.Repeat(`{"not":`, 60) + `{"allOf":[` + times("{}", 3000) + `]}` + strings.Repeat("}", 60), "add up to more than 100000"},
		"a dynamic reference":      {`{"$dynamicAnchor":"n","properties":{"x":{"$dynamicRef":"#n"}}}`, "dynamic references; allowed is $ref"},
		"a recursive reference":    {`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"x":{"$recursiveRef":"#"}}}`, "dynamic references; allowed is $ref"},
		"patterns in values":       {`{"properties":{"x":{"format":"regex"}}}`, `the format "regex"`},
		"a schema of schemas":      {`{"properties":{"x":{"$ref":"https://json-schema.org/draft/2020-12/schema"}}}`, ""},
		"a large pattern":          {`{"properties":{"x":{"pattern":"(a?b?c?){1000}"}}}`, "patterns have more than 4000 parts"},
		"many patterns":            {`{"patternProperties":{"a{900}":{},"b{900}":{},"c{900}":{},"d{900}":{},"e{900}":{}}}`, "patterns have more than 4000 parts"},
		"a large schema":           {`{"title":"` + strings.Repeat("a", MaxRemoteSchemaBytes) + `"}`, "allowed are 65536"},
		"too many kinds of values": {kinds(400), "too many combinations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := NewSet(Remote("ask", "", json.RawMessage(tc.schema)))
			var refused *GrantError
			require.ErrorAs(t, err, &refused)
			assert.Nil(t, set)
			assert.ErrorContains(t, err, `tools: "ask" has an input schema that cannot be used: `)
			assert.ErrorContains(t, err, tc.want)
			assert.NotContains(t, err.Error(), "\n")
			_, err = FromManifest(Manifest{{Name: "ask", Remote: &RemoteTool{Input: json.RawMessage(tc.schema)}}})
			assert.ErrorAs(t, err, &refused)

			tool := Remote("ask", "", nil)
			tool.Output = json.RawMessage(tc.schema)
			_, err = NewSet(tool)
			assert.ErrorAs(t, err, &refused, "its results are checked too")
		})
	}
}

// doubled is a schema without recursion that looks 2^n times at the same value.
func doubled(n int) string {
	s := `{"properties":{"x":{"$ref":"#/$defs/a0"}},"$defs":{`
	for i := range n {
		s += fmt.Sprintf(`"a%d":{"anyOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	return s + fmt.Sprintf(`"a%d":{}}}`, n)
}

func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// kinds is a schema with n alternatives, of which each knows other names.
func kinds(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"properties":{"p%d":{},"q%d":{}},"additionalProperties":{"type":"string"}}`, i, i))
	}
	return `{"anyOf":[` + strings.Join(all, ",") + `]}`
}

func TestSchemasThatGeneratorsWriteAreAllowed(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"nested models": `{"$defs":{"Address":{"properties":{"street":{"title":"Street","type":"string"},"zip":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}},"required":["street"],"title":"Address","type":"object"},
			"Line":{"properties":{"sku":{"pattern":"^[A-Z]{3}-\\d{4}$","type":"string"},"price":{"anyOf":[{"type":"number"},{"type":"string"}]}},"required":["sku","price"],"type":"object"}},
			"properties":{"to":{"$ref":"#/$defs/Address"},"from":{"allOf":[{"$ref":"#/$defs/Address"}],"description":"x"},"lines":{"items":{"$ref":"#/$defs/Line"},"type":"array","uniqueItems":true},"at":{"format":"date-time","type":"string"}},"required":["to"],"title":"Order","type":"object"}`,
		"a tree":       `{"$defs":{"Node":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/Node"}},"parent":{"anyOf":[{"$ref":"#/$defs/Node"},{"type":"null"}]}},"required":["name"]}},"$ref":"#/$defs/Node"}`,
		"a list":       `{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}},"additionalProperties":false}`,
		"any JSON":     `{"type":"object","properties":{"v":{"$ref":"#/$defs/json"}},"$defs":{"json":{"anyOf":[{"type":["string","number","boolean","null"]},{"type":"array","items":{"$ref":"#/$defs/json"}},{"type":"object","additionalProperties":{"$ref":"#/$defs/json"}}]}}}`,
		"told apart":   `{"type":"object","properties":{"shape":{"oneOf":[{"$ref":"#/$defs/C"},{"$ref":"#/$defs/S"}],"discriminator":{"propertyName":"kind"}}},"$defs":{"C":{"type":"object","properties":{"kind":{"const":"c"},"r":{"type":"number","exclusiveMinimum":0}}},"S":{"type":"object","properties":{"kind":{"const":"s"},"a":{"type":"number","multipleOf":0.5}}}}}`,
		"two in turns": `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"type":"array","items":{"$ref":"#/$defs/a"}}}}`,
		"draft 7":      `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"email":{"type":"string","format":"email"},"pair":{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false}},"definitions":{"x":{"type":"string"}},"additionalProperties":false}`,
		"a map":        `{"type":"object","additionalProperties":{"type":"object","propertyNames":{"pattern":"^[a-z]+$"},"additionalProperties":{"type":"array","items":{"type":"string","minLength":1,"maxLength":80},"maxItems":100}}}`,
	} {
		s, err := compileInput(json.RawMessage(schema), true)
		require.NoError(t, err, name)
		_, _, _, l, err := decodeList(json.RawMessage(`[{"a":[` + strings.TrimSuffix(strings.Repeat(`{"name":"Ada","n":[1,2,3]},`, 200), ",") + `]}]`))
		require.NoError(t, err)
		assert.Less(t, s.work(l), float64(strangersWork), "%s: what is allowed can be called", name)
	}
}
