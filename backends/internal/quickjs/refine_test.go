package quickjs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestAPlaceIsRightOrUnknown: the engine's place, which is that of the last call,
// is kept, moved to the only line that can be meant, or given up.
func TestAPlaceIsRightOrUnknown(t *testing.T) {
	t.Parallel()
	const read = "cannot read property 'x' of undefined"
	for name, c := range map[string]struct {
		source, message, stack string
		want                   place
	}{
		"next line":            {"const o={};\nconst p=o.a.x;", read, "(script.js:1:9)", place{2, 0}},
		"after a call":         {"const r=[];\nr.push(1);\nif (r[5].x) {}", read, "(script.js:2:7)", place{3, 0}},
		"same line":            {"f(); null.x", read, "(script.js:1:2)", place{1, 2}},
		"before the call":      {"o.x; f();\nnull.x", read, "(script.js:1:7)", place{2, 0}},
		"longer names":         {"f();\no.xy.z;\nnull.x;", read, "(script.js:1:2)", place{3, 0}},
		"optional chain":       {"f();\no?.x", read, "(script.js:1:2)", place{2, 0}},
		"index":                {"f();\nnull['x']", read, "(script.js:1:2)", place{2, 0}},
		"destructuring":        {"f();\nconst { a, x } = null", read, "(script.js:1:2)", place{2, 0}},
		"object literal":       {"f();\nconst o = { x: 1 };\nu.x", read, "(script.js:1:2)", place{3, 0}},
		"comment":              {"f();\n// u.x may be missing\nu.x", read, "(script.js:1:2)", place{3, 0}},
		"block comment":        {"f(); /*\nu.x\n*/\nu.x", read, "(script.js:1:2)", place{4, 0}},
		"text":                 {"f();\nlog('u.x', \"u.x\");\nu.x", read, "(script.js:1:2)", place{3, 0}},
		"template":             {"f();\n`${u.x}`", read, "(script.js:1:2)", place{2, 0}},
		"two that may be":      {"f();\nu.x;\nv.x", read, "(script.js:1:2)", place{}},
		"no position":          {"let o={};\nreturn o.a.x", read, "(script.js:0:1)", place{2, 0}},
		"computed":             {"f();\nnull[k]", read, "(script.js:1:2)", place{}},
		"undefined name":       {"const a=1;\nconst b=2;\n\nconst c = foo + 1;\nc", "foo is not defined", "(script.js:1:1)", place{4, 0}},
		"undefined, twice":     {"f();\nfoo;\nfoo", "foo is not defined", "(script.js:1:1)", place{}},
		"undefined, called":    {"\nfoo(1)", "foo is not defined", "(script.js:2:4)", place{2, 4}},
		"not a member":         {"f();\no.foo;\nfoo", "foo is not defined", "(script.js:1:1)", place{3, 0}},
		"read-only":            {"f();\nconst total = 0;\ntotal++;\ng();\nreturn total", "'total' is read-only", "(script.js:4:1)", place{3, 0}},
		"read-only, found":     {"let f=1;\nn = 2;\nn === 3; n >= 4; n => 5", "'n' is read-only", "(script.js:3:1)", place{2, 0}},
		"not iterable":         {"f();\nfor (const x of 5) {}", "value is not iterable", "(script.js:1:1)", place{2, 0}},
		"destructured nothing": {"f();\nconst {k} = null", "Cannot convert undefined or null to object", "(script.js:1:1)", place{2, 0}},
		"no constructor":       {"f();\nclass Q extends nope {}", "parent class must be constructor", "(script.js:1:1)", place{2, 0}},
		"another error":        {"f();\nnull.x", "x of my own", "(script.js:1:2)", place{1, 2}},
		"a hostile name":       {"f();\n(a|b)*", "cannot read property '(a|b)*' of undefined", "(script.js:1:2)", place{1, 2}},
		"in other code":        {"f();\nnull.x", read, "(<input>:1:1)\n    at f (script.js:1:2)", place{1, 2}},
		"too long to search":   {"f();\nnull.x" + strings.Repeat(" ", refineWindow), read, "(script.js:1:2)", place{}},
		"line ends of Windows": {"f();\r\n// u.x\r\nu.x", read, "(script.js:1:2)", place{3, 0}},
	} {
		e := thrown{name: "TypeError", message: c.message, stack: "    at <eval> " + c.stack + "\n"}
		assert.Equal(t, c.want, e.refined(c.source), name)
		e.name = "Error"
		assert.Equal(t, e.place(), e.refined(c.source), "%s: only the engine's own errors", name)
	}
}

func TestBlankingKeepsEveryByteInItsPlace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a // b\nc":            "a     \nc",
		"a /* b\n */ c":        "a     \n    c",
		"'a' + \"b\\\"c\" + d": "' ' + \"    \" + d",
		"o['a']":               "o['a']",
		"'open\nx":             "'    \nx",
		"/* open":              "       ",
		"`a // b`":             "`a      ",
		"'":                    "'",
		"'\\":                  "' ",
	} {
		got := withoutComments(in)
		assert.Equal(t, want, got, in)
		assert.Len(t, got, len(in))
	}
}
