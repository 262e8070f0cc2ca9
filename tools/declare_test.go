package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/egress"
	"github.com/loom-sandbox/sandboxd/tools"
)

const goldenFile = "testdata/declarations.d.ts.golden"

// goldenSet has a bit of everything.
func goldenSet(t testing.TB) *tools.Set {
	t.Helper()
	client, err := egress.New(egress.Options{})
	require.NoError(t, err)
	return newSet(t,
		tools.Fetch(client),
		tools.Remote("ask", "Asks a person. */ const x = 1; /*\n\n  Waits\u202e for days.\n", json.RawMessage(`{"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]}`)),
		tools.Tool{Name: "crm.list", Handler: returns(nil), Idempotent: true},
		tools.Tool{Name: "crm.new", Handler: returns(nil)},
		tools.Tool{
			Name: "crm.lookup", Description: "Finds a customer.", Idempotent: true, Handler: returns(nil),
			Input: json.RawMessage(`{
				"type": "object", "additionalProperties": false, "required": ["id"],
				"properties": {
					"id": {"type": "integer", "minimum": 1, "description": "The number of the customer."},
					"fields": {"type": "array", "items": {"enum": ["name", "mail"]}, "uniqueItems": true, "default": ["name"]},
					"since": {"type": "string", "format": "date-time", "deprecated": true, "title": "Since when"}
				}
			}`),
			Output: json.RawMessage(`{
				"anyOf": [{"$ref": "#/$defs/customer"}, {"type": "null"}],
				"$defs": {"customer": {
					"description": "A customer.", "type": "object", "required": ["name", "mail"], "additionalProperties": false,
					"properties": {
						"name": {"type": "string", "maxLength": 100},
						"mail": {"type": ["string", "null"], "format": "email", "pattern": "^[^*/]*/?$"},
						"parent": {"$ref": "#/$defs/customer"},
						"home": {"type": "object", "required": ["lat"], "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}},
						"odd name": {"const": "a*/b"}
					}
				}}
			}`),
		},
		tools.Tool{Name: "crm.notes.add", Handler: returns(nil), Input: json.RawMessage(`{"allOf": [{"$ref": "#/$defs/note"}], "oneOf": [{"required": ["text"]}, {"required": ["html"]}],
			"$defs": {"note": {"type": "object", "properties": {"text": {"type": "string"}, "html": {"type": "string"}}, "additionalProperties": false}}}`), Output: json.RawMessage(`false`)},
		tools.Tool{Name: "delete", Handler: returns(nil), Output: json.RawMessage(`{"type": "array", "prefixItems": [{"type": "string"}, {"enum": [1, 2]}], "minItems": 1, "items": {"type": ["null", "boolean"]}}`)},
		tools.Tool{Name: "circle", Handler: returns(nil), Output: json.RawMessage(`{"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "number"}]}}}`)},
	)
}

// UPDATE_GOLDEN=1 writes the file anew.
func TestDeclarationsAreAsTheyWere(t *testing.T) {
	t.Parallel()
	got := goldenSet(t).Declarations()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(goldenFile, []byte(got), 0o644))
	}
	want, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
	for range 10 {
		require.Equal(t, got, goldenSet(t).Declarations(), "they are the same each time")
	}
	assertWellFormed(t, got)
}

func TestDeclarationsCompileAndSayWhatAScriptMayDo(t *testing.T) {
	t.Parallel()
	const script = `
async function main(): Promise<void> {
  const found = await tools.crm.lookup({ id: 7, fields: ["name"] });
  if (found !== null) {
    const name: string = found.name, mail: string | null = found.mail;
    const lat: number | undefined = found.parent?.home?.lat;
    void [name, mail, lat];
  }
  const everything: unknown = await tools.crm.list();
  await tools.ask({ question: "Really?", why: [everything] });
  await tools.crm.notes.add({ text: "a" });
  await tools.crm.new();
  const [first, second, ...rest] = await tools.delete();
  const a: string = first, b: 1 | 2 | undefined = second, c: (boolean | null)[] = rest;
  void [a, b, c];
  try {
    const response = await fetch("https://example.com/", { method: "POST", headers: { accept: "*/*" }, body: "{}" });
    const ok: boolean = response.ok, type: string | null = response.headers.get("content-type");
    void [ok, type, (await response.json()).anything, await response.text()];
  } catch (e) {
    if (e instanceof DeniedError || e instanceof ToolError) void (e.function + e.message);
  }
}
void main;
`
	dir := t.TempDir()
	all, err := goldenSet(t).With(oddSet(t))
	require.NoError(t, err)
	declarations := all.Declarations()
	wrong := []string{
		`void tools.crm.lookup();`, `void tools.crm.lookup({});`, `void tools.crm.lookup({ id: "7" });`, `void tools.crm.lookup({ id: 7, more: 1 });`, `void tools.crm.lookup({ id: 7 }, 1);`,
		`void tools.crm.delete({});`, `void new tools.crm({});`, `tools.crm = 1;`, `void tools.fetch("x");`, `void tools.crm.notes.add({});`, `void tools.crm.notes.add({ text: "a", more: 1 });`,
		`void tools.crm.lookup({ id: 7 }).then(c => c.name);`, `void fetch("x", { redirect: "perhaps" });`, `void x;`,
	}
	files := map[string]string{"tools.d.ts": declarations, "right.ts": script}
	for i, line := range wrong {
		files["wrong"+string(rune('a'+i))+".ts"] = line + "\n"
	}
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	said := typescript(t, dir)
	for name, text := range files {
		assert.Equal(t, strings.HasPrefix(name, "wrong"), said[name] != "", "%s\n%s", text, said[name])
	}
}

// oddSet has tools whose schemas nobody would write, and which compile.
func oddSet(t *testing.T) *tools.Set {
	t.Helper()
	schemas := append(schemasOfMessages(),
		`{"description":"*/","properties":{"*/":{"title":"/**/","pattern":"a*/","default":"*/","enum":["*/","\"}{"]},"\\":true,"\u202e":{},"\u0000":{}}}`,
		`{"$defs":{"*/":{"$ref":"#/$defs/*~1"}},"$ref":"#/$defs/*~1"}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"array","items":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`,
		`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"},{"type":"object"}]},"b":{"oneOf":[{"$ref":"#/$defs/a"},{"type":"array","items":{"$ref":"#"}}]}},"$ref":"#/$defs/b"}`,
		`{"$defs":{"a b":{"type":"string"},"a-b":{"type":"number"},"A B":{"type":"null"},"":{"type":"boolean"}},"prefixItems":[{"$ref":"#/$defs/a b"},{"$ref":"#/$defs/a-b"},{"$ref":"#/$defs/A B"},{"$ref":"#/$defs/"}]}`,
		`{"properties":{"n":{"type":"number"},"s":{"type":"string"}},"required":["n"],"additionalProperties":{"type":"boolean"},"patternProperties":{"^x":{"type":"null"}}}`,
		`{"properties":{"n":{"type":"number"},"s":{"type":"string"}},"required":["m"],"additionalProperties":{"type":"boolean"}}`,
		`{"allOf":[{"type":"object","additionalProperties":{"type":"string"}},{"type":"object","properties":{"a":{"type":"number"}}}]}`,
		`{"enum":[-1,-0.0,1e21,1e400,0.1,123456789012345678901234567890,[[]],{"a b":{"c":[null]}}]}`,
		`{"type":"array","prefixItems":[{"type":["null","string"]},false,true,{"const":1}],"minItems":2,"maxItems":3}`,
		`{"type":"array","prefixItems":[{"type":"string"}],"items":{"anyOf":[{"type":"string"},{"type":"null"}]}}`,
		`{"type":["array","object","null","string","number","integer","boolean"],"items":{"type":"integer"},"properties":{"constructor":{},"__proto__":{"type":"string"}}}`,
		`{"$dynamicRef":"#node","$dynamicAnchor":"node","type":"object","properties":{"next":{"$dynamicRef":"#node"}}}`,
		`{"$id":"https://example.com/a","$defs":{"b":{"$id":"b","type":"string"}},"items":{"$ref":"b"}}`,
		`{"type":"object","properties":{"a":false},"required":["a"],"additionalProperties":false}`,
		`{"type":"object","unevaluatedProperties":false,"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{}},"additionalProperties":false}]}`,
	)
	var all []tools.Tool
	for i, schema := range schemas {
		output := named(fmt.Sprintf("odd.output%d", i))
		output.Output = json.RawMessage(schema)
		all = append(all, output)
		input := named(fmt.Sprintf("odd.input%d", i))
		input.Input = json.RawMessage(`{"properties":{"x":` + schema + `}}`)
		if _, err := tools.NewSet(input); err == nil { // a reference may lead nowhere there
			all = append(all, input)
		}
	}
	return newSet(t, all...)
}

func TestWhatIsTooMuchToDeclareIsUnknown(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	properties := map[string]any{}
	for i := range 1000 {
		name := strings.Repeat("n", i%20) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
		many[name] = map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/" + name}}}
		properties[name] = map[string]any{"$ref": "#/$defs/" + name}
	}
	large, err := json.Marshal(map[string]any{"$defs": many, "properties": properties})
	require.NoError(t, err)
	for name, schema := range map[string]string{
		"deep":    strings.Repeat(`{"type":"array","items":`, 900) + `{}` + strings.Repeat(`}`, 900),
		"many":    string(large),
		"wide":    `{"enum":["` + strings.Repeat("x", 100_000) + `"]}`,
		"doubled": strings.Repeat(`{"properties":{"a":{"type":"string"}},"additionalProperties":`, 200) + `{}` + strings.Repeat(`}`, 200),
		"a chain": `{"$ref":"#/$defs/a0","$defs":{"a9":{},` + chain() + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := named("t")
			tool.Output = json.RawMessage(schema)
			got := newSet(t, tool).Declarations()
			assert.Contains(t, got, "unknown")
			assert.Less(t, len(got), 400_000)
			assertWellFormed(t, got)
		})
	}
}

// chain are definitions of which each has the next twice.
func chain() string {
	var parts []string
	for i := range 9 {
		next := `{"$ref":"#/$defs/a` + string(rune('1'+i)) + `"}`
		parts = append(parts, `"a`+string(rune('0'+i))+`":{"type":"array","prefixItems":[`+next+`,`+next+`]}`)
	}
	return strings.Join(parts, ",")
}

// FuzzDeclarationsAreWellFormed wants of any schema that compiles types in which
// every bracket has its other, and no text of the schema outside of a comment or
// a string.
func FuzzDeclarationsAreWellFormed(f *testing.F) {
	for _, row := range agreements() {
		f.Add("describes */ it", row.schema)
	}
	for _, schema := range schemasOfMessages() {
		f.Add("a\n*/\n/*", schema)
	}
	f.Add("*", `{"description":"*/","properties":{"*/":{"title":"/**/","format":"*/","pattern":"a*/","default":"*/","enum":["*/","\"}{"]}}}`)
	f.Add("\\", `{"$defs":{"*/":{"$ref":"#/$defs/*~1"}},"$ref":"#/$defs/*~1"}`)
	f.Fuzz(func(t *testing.T, description, schema string) {
		for _, change := range []func(*tools.Tool){
			func(t *tools.Tool) { t.Input = json.RawMessage(schema) },
			func(t *tools.Tool) { t.Output = json.RawMessage(schema) },
		} {
			tool := named("crm.lookup")
			tool.Description = description
			change(&tool)
			set, err := tools.NewSet(tool)
			if err != nil {
				continue
			}
			got := set.Declarations()
			assertWellFormed(t, got)
			require.Equal(t, got, set.Declarations())
		}
	})
}

// assertWellFormed reads declarations as a compiler would, as far as comments,
// strings and brackets go. Outside of comments and strings there are only the
// words and signs of types.
func assertWellFormed(t *testing.T, source string) {
	t.Helper()
	var open []byte
	closing := map[byte]byte{'{': '}', '(': ')', '[': ']', '<': '>'}
	for i := 0; i < len(source); i++ {
		c := source[i]
		rest := source[i:]
		switch {
		case strings.HasPrefix(rest, "/**"):
			end := strings.Index(rest[3:], "*/")
			require.Positive(t, end, "a comment without an end:\n%s", source)
			i += 3 + end + 1
		case c == '"':
			j := i + 1
			for source[j] != '"' {
				if source[j] == '\n' {
					require.Fail(t, "a string without an end", source)
				}
				if source[j] == '\\' {
					j++
				}
				j++
			}
			i = j
		case strings.HasPrefix(rest, "=>"):
			i++
		case closing[c] != 0:
			open = append(open, closing[c])
		case c == '}' || c == ')' || c == ']' || c == '>':
			require.NotEmpty(t, open, "a bracket too many:\n%s", source)
			require.Equal(t, open[len(open)-1], c, "%s", source[:i+1])
			open = open[:len(open)-1]
		default:
			word := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_$ \n:;,.?|&=-+", c) >= 0
			if !word {
				require.Fail(t, "not a sign of types", "%q in\n%s", c, source)
			}
		}
	}
	require.Empty(t, open, source)
}
