package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/tools"
)

// maker makes schemas of what TypeScript can say, and values for them.
type maker struct{ *rand.Rand }

func (m maker) pick(words ...string) string { return words[m.IntN(len(words))] }

// schema is a random schema, at most depth levels deep.
func (m maker) schema(depth int) any {
	kinds := []string{"string", "number", "boolean", "null", "enum", "const"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "object", "array", "tuple", "anyOf", "types", "map", "ref")
	}
	switch kind := m.pick(kinds...); kind {
	case "enum":
		return map[string]any{"enum": []any{m.value(1), m.value(0), m.value(0)}}
	case "const":
		return map[string]any{"const": m.value(0)}
	case "ref":
		return map[string]any{"$ref": "#/$defs/" + m.pick("d", "e")}
	case "object":
		return m.object(depth)
	case "map":
		return map[string]any{"type": "object", "additionalProperties": m.schema(depth - 1)}
	case "array":
		return map[string]any{"type": "array", "items": m.schema(depth - 1)}
	case "tuple":
		s := map[string]any{"type": "array", "prefixItems": []any{m.schema(depth - 1), m.schema(depth - 1)}, "minItems": m.IntN(3)}
		if m.IntN(2) == 0 {
			s["items"] = false
		}
		return s
	case "anyOf":
		return map[string]any{"anyOf": []any{m.schema(depth - 1), m.schema(depth - 1)}}
	case "types":
		s := m.object(depth)
		s["type"] = []any{"object", m.pick("null", "string")}
		return s
	default:
		return map[string]any{"type": kind}
	}
}

func (m maker) object(depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, name := range []string{"a", "b", "c"} {
		if m.IntN(3) > 0 {
			properties[name] = m.schema(depth - 1)
			if m.IntN(2) == 0 {
				required = append(required, name)
			}
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "required": required}
	if m.IntN(2) == 0 {
		s["additionalProperties"] = false
	}
	return s
}

// value is a random value, at most depth levels deep.
func (m maker) value(depth int) any {
	n := 5
	if depth > 0 {
		n = 9
	}
	switch m.IntN(n) {
	case 0:
		return "x"
	case 1:
		return 1
	case 2:
		return true
	case 3:
		return nil
	case 4:
		return m.pick("x", "y")
	case 5, 6:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			if m.IntN(2) == 0 {
				object[name] = m.value(depth - 1)
			}
		}
		return object
	}
}

// like is a value that often fits the schema.
func (m maker) like(s any, defs map[string]any, depth int) any {
	schema, ok := s.(map[string]any)
	if !ok || depth == 0 || m.IntN(12) == 0 {
		return m.value(1)
	}
	if ref, ok := schema["$ref"].(string); ok {
		return m.like(defs[ref[len("#/$defs/"):]], defs, depth-1)
	}
	for _, keyword := range []string{"anyOf", "enum"} {
		if options, ok := schema[keyword].([]any); ok {
			option := options[m.IntN(len(options))]
			if keyword == "anyOf" {
				return m.like(option, defs, depth-1)
			}
			return option
		}
	}
	if v, ok := schema["const"]; ok {
		return v
	}
	kind, ok := schema["type"].(string)
	if !ok {
		kind = schema["type"].([]any)[m.IntN(2)].(string)
	}
	switch kind {
	case "object":
		object := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if m.IntN(6) > 0 {
				object[name] = m.like(properties[name], defs, depth-1)
			}
		}
		if rest := schema["additionalProperties"]; rest != false && rest != nil || m.IntN(6) == 0 {
			object["z"] = m.like(rest, defs, depth-1)
		}
		return object
	case "array":
		list := []any{}
		prefix, _ := schema["prefixItems"].([]any)
		for _, item := range prefix[:m.IntN(len(prefix)+1)] {
			list = append(list, m.like(item, defs, depth-1))
		}
		if prefix == nil || m.IntN(6) == 0 {
			list = append(list, m.like(schema["items"], defs, depth-1))
		}
		return list
	case "string":
		return "x"
	case "number":
		return 2.5
	case "boolean":
		return false
	}
	return nil
}

func TestTheCompilerAgreesWithTheValidatorAboutRandomSchemas(t *testing.T) {
	t.Parallel()
	const schemas, values = tools.MaxTools, 12
	m := maker{rand.New(rand.NewPCG(1, 2))}
	dir := t.TempDir()
	var all []tools.Tool
	type trial struct{ value, schema string }
	trials := map[string]trial{}
	for i := range schemas {
		defs := map[string]any{"d": m.object(1), "e": map[string]any{"type": "array", "items": m.schema(1)}}
		schema := m.object(3)
		schema["$defs"] = defs
		raw, err := json.Marshal(schema)
		require.NoError(t, err)
		tool := named(fmt.Sprintf("t%d", i))
		tool.Input = raw
		all = append(all, tool)
		for j := range values {
			value, err := json.Marshal(m.like(schema, defs, 8))
			require.NoError(t, err)
			file := fmt.Sprintf("t%d_%d.ts", i, j)
			trials[file] = trial{string(value), string(raw)}
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), fmt.Appendf(nil, "void tools.t%d(%s);\n", i, value), 0o600))
		}
	}
	set := newSet(t, all...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tools.d.ts"), []byte(set.Declarations()), 0o600))
	said := typescript(t, dir)
	assert.Empty(t, said["tools.d.ts"])
	accepts := 0
	for file, tr := range trials {
		var i, j int
		_, err := fmt.Sscanf(file, "t%d_%d.ts", &i, &j)
		require.NoError(t, err)
		call := &tools.Call{Tool: fmt.Sprintf("t%d", i), Args: json.RawMessage("[" + tr.value + "]")}
		accepted := set.Answer(t.Context(), call, nil).Failure == nil
		if accepted {
			accepts++
		}
		one, err := set.Only(call.Tool)
		require.NoError(t, err)
		assert.Equal(t, accepted, said[file] == "", "%s\n%s\n%s\n%s", tr.value, tr.schema, one.Declarations(), said[file])
	}
	assert.Greater(t, accepts, len(trials)/5)
	assert.Less(t, accepts, len(trials)*4/5)
}
