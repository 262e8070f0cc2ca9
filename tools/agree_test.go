package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/tools"
)

// agreement is a schema with values of which the validator and the compiler say
// the same.
type agreement struct {
	name, schema     string
	accepts, refuses []string // JSON, which is TypeScript too
	output           bool     // the schema is not one of an object
}

func agreements() []agreement {
	const list = `"$defs": {"list": {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}, "n": {"type": "number"}}, "required": ["n"], "additionalProperties": false}}`
	return []agreement{
		{name: "required and optional", schema: `{"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"], "additionalProperties": false}`,
			accepts: []string{`{"id": 7}`, `{"id": 7, "name": "x"}`},
			refuses: []string{`{}`, `{"id": "7"}`, `{"id": null}`, `{"id": 7, "name": 8}`, `{"id": 7, "other": 1}`}},
		{name: "members that nobody named", schema: `{"type": "object", "properties": {"id": {"type": "integer"}}}`,
			accepts: []string{`{}`, `{"id": 1}`, `{"other": [null]}`}, refuses: []string{`{"id": true}`}},
		{name: "no members", schema: `{"type": "object", "additionalProperties": false}`,
			accepts: []string{`{}`}, refuses: []string{`{"a": 1}`}},
		{name: "a map", schema: `{"type": "object", "additionalProperties": {"type": "number"}}`,
			accepts: []string{`{}`, `{"a": 1, "b": 2.5}`}, refuses: []string{`{"a": "1"}`}},
		{name: "a map with a named member", schema: `{"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": {"type": "number"}}`,
			accepts: []string{`{}`, `{"id": "x", "b": 2}`}, refuses: []string{`{"id": 1}`, `{"b": true}`}},
		{name: "a required member without a schema", schema: `{"type": "object", "required": ["a"]}`,
			accepts: []string{`{"a": null}`, `{"a": 1, "b": 2}`}, refuses: []string{`{}`, `{"b": 2}`}},
		{name: "arrays", schema: `{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": ["string", "null"]}}, "any": {"type": "array"}}, "additionalProperties": false}`,
			accepts: []string{`{"tags": []}`, `{"tags": ["a", null]}`, `{"any": [1, "a", {}]}`}, refuses: []string{`{"tags": [1]}`, `{"tags": "a"}`, `{"any": {}}`}},
		{name: "tuples", output: true, schema: `{"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": false, "minItems": 1}`,
			accepts: []string{`[1]`, `[1, "a"]`}, refuses: []string{`[]`, `["a"]`, `[1, 2]`, `[1, "a", 3]`}},
		{name: "tuples that go on", output: true, schema: `{"type": "array", "prefixItems": [{"type": ["number", "string"]}], "items": {"type": "boolean"}}`,
			accepts: []string{`[]`, `[1]`, `["a", true, false]`}, refuses: []string{`[true]`, `[1, 2]`}},
		{name: "tuples of an older draft", output: true, schema: `{"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "number"}], "additionalItems": false}`,
			accepts: []string{`[]`, `[1]`}, refuses: []string{`["a"]`, `[1, 2]`}},
		{name: "empty arrays", output: true, schema: `{"type": "array", "items": false}`,
			accepts: []string{`[]`}, refuses: []string{`[1]`}},
		{name: "enums", output: true, schema: `{"enum": ["a", 2, true, null, [1], {"k": "v"}]}`,
			accepts: []string{`"a"`, `2`, `true`, `null`, `[1]`, `{"k": "v"}`}, refuses: []string{`"b"`, `3`, `false`, `[2]`, `{"k": "w"}`}},
		{name: "enums with a type", output: true, schema: `{"type": "integer", "enum": ["a", 2, 2.5, null]}`,
			accepts: []string{`2`}, refuses: []string{`"a"`, `2.5`, `null`}},
		{name: "const", schema: `{"type": "object", "properties": {"kind": {"const": "x*/y"}}, "required": ["kind"]}`,
			accepts: []string{`{"kind": "x*/y"}`}, refuses: []string{`{"kind": "x"}`, `{}`}},
		{name: "alternatives", output: true, schema: `{"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "number"}}]}`,
			accepts: []string{`"a"`, `[1]`}, refuses: []string{`1`, `["a"]`}},
		{name: "told apart by a member", schema: `{"type": "object", "oneOf": [
			{"properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"], "additionalProperties": false},
			{"properties": {"kind": {"const": "square"}, "side": {"type": "number"}}, "required": ["kind", "side"], "additionalProperties": false}]}`,
			accepts: []string{`{"kind": "circle", "radius": 1}`, `{"kind": "square", "side": 1}`},
			refuses: []string{`{"kind": "circle", "side": 1}`, `{"kind": "circle"}`, `{"kind": "circle", "radius": 1, "side": 1}`, `{}`}},
		{name: "one of two must be there", schema: `{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "additionalProperties": false}`,
			accepts: []string{`{"a": "x"}`, `{"b": "x"}`, `{"a": "x", "b": "y"}`}, refuses: []string{`{}`, `{"a": 1}`, `{"a": "x", "c": 1}`}},
		{name: "all of", schema: `{"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]}]}`,
			accepts: []string{`{"a": "x", "b": 1}`, `{"a": "x", "b": 1, "c": null}`}, refuses: []string{`{"a": "x"}`, `{"a": 1, "b": 1}`}},
		{name: "all of, and nothing else", schema: `{"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "number"}}}], "unevaluatedProperties": false}`,
			accepts: []string{`{"a": "x"}`, `{"a": "x", "b": 1}`}, refuses: []string{`{"b": 1}`, `{"a": "x", "c": 1}`}},
		{name: "a list that goes on", schema: `{"$ref": "#/$defs/list", ` + list + `}`,
			accepts: []string{`{"n": 1}`, `{"n": 1, "next": {"n": 2, "next": {"n": 3}}}`},
			refuses: []string{`{}`, `{"n": 1, "next": {}}`, `{"n": 1, "next": {"n": 2, "next": {"n": "3"}}}`, `{"n": 1, "m": 1}`}},
		{name: "the whole again", schema: `{"type": "object", "properties": {"child": {"$ref": "#"}, "x": {"type": "number"}}, "additionalProperties": false}`,
			accepts: []string{`{}`, `{"child": {"child": {"x": 1}}}`}, refuses: []string{`{"child": {"child": {"x": ""}}}`, `{"child": 1}`}},
		{name: "any JSON", output: true, schema: `{"$ref": "#/$defs/json", "$defs": {"json": {"anyOf": [{"type": ["string", "boolean", "null"]}, {"type": "array", "items": {"$ref": "#/$defs/json"}}, {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}}]}}}`,
			accepts: []string{`"a"`, `[["a"], {"b": null}]`, `{"a": [true]}`}, refuses: []string{`1`, `[[1]]`, `{"a": {"b": 1}}`}},
		{name: "two that lead to each other", schema: `{"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "additionalProperties": false, "$defs": {
			"a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "additionalProperties": false},
			"b": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}`,
			accepts: []string{`{"a": {"b": [{}, {"b": []}]}}`}, refuses: []string{`{"a": {"b": [1]}}`, `{"a": {"b": [{"b": {}}]}}`}},
		{name: "by an anchor", schema: `{"type": "object", "properties": {"a": {"$ref": "#text"}}, "$defs": {"x": {"$anchor": "text", "type": "string"}}}`,
			accepts: []string{`{"a": "x"}`}, refuses: []string{`{"a": 1}`}},
		{name: "names that are no words", schema: `{"type": "object", "properties": {"a-b": {"type": "number"}, "1": {"type": "number"}, "\u2028\"'\\": {"type": "number"}, "delete": {"type": "number"}, "ä": {"type": "number"}}, "additionalProperties": false}`,
			accepts: []string{`{"a-b": 1, "1": 2, "\u2028\"'\\": 3, "delete": 4, "ä": 5}`}, refuses: []string{`{"a-b": ""}`, `{"\u2028\"'\\": ""}`, `{"ä": ""}`}},
		{name: "everything and nothing", schema: `{"type": "object", "properties": {"all": true, "none": false, "some": {}}, "additionalProperties": false}`,
			accepts: []string{`{"all": 1, "some": [null]}`}, refuses: []string{`{"none": 1}`}},
		{name: "nullable objects", output: true, schema: `{"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "additionalProperties": false}`,
			accepts: []string{`null`, `{}`, `{"a": ""}`}, refuses: []string{`1`, `{"a": 1}`, `{"b": 1}`, `[]`}},
		{name: "an argument is never null", schema: `{"type": ["object", "null"], "properties": {"a": {"type": "string"}}}`,
			accepts: []string{`{}`}, refuses: []string{`null`}},
		{name: "deep members", schema: `{"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "object", "properties": {"c": {"enum": ["x", "y"]}}, "required": ["c"], "additionalProperties": false}}, "required": ["b"], "additionalProperties": false}}, "required": ["a"], "additionalProperties": false}`,
			accepts: []string{`{"a": {"b": {"c": "x"}}}`}, refuses: []string{`{"a": {"b": {"c": "z"}}}`, `{"a": {"b": {}}}`, `{"a": {}}`, `{"a": {"b": {"c": "x", "d": 1}}}`}},
	}
}

func TestTheValidatorAgreesWithWhatTheTypesSay(t *testing.T) {
	t.Parallel()
	for _, row := range agreements() {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			set := agreementSet(t, row)
			for _, value := range row.accepts {
				assert.True(t, accepted(set, row, value), "%s is refused", value)
			}
			for _, value := range row.refuses {
				assert.False(t, accepted(set, row, value), "%s is accepted", value)
			}
		})
	}
}

func TestTheCompilerAgreesWithWhatTheValidatorSays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := (*tools.Set)(nil)
	want := map[string]bool{}
	for i, row := range agreements() {
		row.name = fmt.Sprintf("t%d", i)
		var err error
		all, err = all.With(agreementSet(t, row))
		require.NoError(t, err)
		for j, value := range append(append([]string{}, row.accepts...), row.refuses...) {
			file := fmt.Sprintf("%s_%d.ts", row.name, j)
			want[file] = j < len(row.accepts)
			source := fmt.Sprintf("void tools.%s.f(%s);\n", row.name, value)
			if row.output {
				source = fmt.Sprintf("{ const v: Awaited<ReturnType<typeof tools.%s.f>> = %s; void v; }\n", row.name, value)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(source), 0o600))
		}
	}
	declarations := all.Declarations()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tools.d.ts"), []byte(declarations), 0o600))
	said := typescript(t, dir)
	assert.Empty(t, said["tools.d.ts"], declarations)
	for file, accepts := range want {
		source, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		assert.Equal(t, accepts, said[file] == "", "%s%s", source, said[file])
	}
}

// agreementSet has one tool: "<name>.f", or "t.f".
func agreementSet(t *testing.T, row agreement) *tools.Set {
	t.Helper()
	name, raw := "t.f", json.RawMessage(row.schema)
	if !strings.Contains(row.name, " ") && strings.HasPrefix(row.name, "t") {
		name = row.name + ".f"
	}
	tool := tools.Tool{Name: name, Handler: func(context.Context, *tools.Call) (any, error) { return nil, nil }}
	if row.output {
		tool.Output = raw
	} else {
		tool.Input = raw
	}
	set, err := tools.NewSet(tool)
	require.NoError(t, err)
	return set
}

func accepted(set *tools.Set, row agreement, value string) bool {
	call := &tools.Call{Tool: set.Names()[0], Args: json.RawMessage("[" + value + "]")}
	if row.output {
		return set.AnswerWith(call, json.RawMessage(value)).Failure == nil
	}
	return set.Answer(context.Background(), call, nil).Failure == nil
}

// typescript compiles all files of a directory and returns what is wrong with
// each.
func typescript(t *testing.T, dir string) map[string]string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no Node.js to run the TypeScript compiler with")
	}
	tsc, err := filepath.Abs("testdata/typescript/node_modules/typescript/bin/tsc")
	require.NoError(t, err)
	if _, err := os.Stat(tsc); err != nil {
		t.Skip("the TypeScript compiler is not there: run npm ci in tools/testdata/typescript")
	}
	const config = `{"compilerOptions": {"noEmit": true, "strict": true, "target": "es2022", "lib": ["es2022"], "types": [], "moduleDetection": "legacy"}, "include": ["*.ts"]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tsconfig.json"), []byte(config), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, node, tsc, "--pretty", "false")
	command.Dir = dir
	out, err := command.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		require.NoError(t, err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if m := regexp.MustCompile(`^([\w.]+)\(\d+,\d+\): error `).FindStringSubmatch(line); m != nil {
			said[m[1]] += line
		} else {
			require.True(t, strings.HasPrefix(line, " "), "the compiler says %s", line)
		}
	}
	require.Equal(t, err != nil, len(said) > 0, "the compiler says %s", out)
	return said
}
