package wazero

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

func TestWhatClosesTheWrapperIsASyntaxError(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"return 1 }); (async function(){ return 2",
		"return 1 } (0) && function(){ return 7",
		"return 1 } (0) && async function(){ return 7",
		"return 1 } + function(){ ",
		"return 1 }, async function(){ return 2",
		"return 1 }, x(){ return 2",
		"return 1 }, get y(){ return 2",
		"return 1 }}).script; ({async script(){ return 2",
		"return 1 } async function other(){ return 2",
		"return 1 } [x] = function(){ return 2",
		"return 1 } * function(){ return 2",
		"return 1\n}",
		"return 1;\n}\n{",
		"return 1;\nfunction f() {",
	} {
		out := run(t, shared, testConfig(), source)
		require.NotNil(t, out.Error, source)
		assert.Equal(t, spi.KindSyntax, out.Error.Kind, "%s: %s", source, out.Error.Message)
	}
}

func TestAwaitMayBeANameInAScript(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"var await = 5; await + 1":                      "6",
		"const o = { await: 1 }; o.await":               "1",
		"'await'":                                       `"await"`,
		"1 // await":                                    "1",
		"await (x => x)(7)":                             "7",
		"await [1, 2]":                                  "[1,2]",
		"await /x/.test('x')":                           "true",
		"for await (const x of [1]) x; 3":               "3",
		"async function f() { return await 1 } f()":     "1",
		"const f = async () => await 2; return f()":     "2",
		"if (await true) { return await 3 }":            "3",
		"var await = 1; function f() { return 2 } f()":  "2",
		"Promise.resolve(4).then(async x => await x+1)": "5",
	} {
		requireValue(t, run(t, shared, testConfig(), source), want)
	}
	out := run(t, shared, testConfig(), "await 1;\nlet x = ;")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindSyntax, out.Error.Kind)
	assert.Equal(t, 2, out.Error.Line)
}

func TestAnErrorIsWhereAPersonWouldLook(t *testing.T) {
	t.Parallel()
	for source, line := range map[string]int{
		"const o={};\nconst p=o.a.b;":                                                                    2,
		"const r=[];\nr.push(1);\nif (r[5].x) {}":                                                        3,
		"const f=async()=>{\n const r=null;\n return r.data;\n};\nawait f()":                             3,
		"let o={};\nreturn o.a.b":                                                                        2,
		"class ApiError extends Error {}\n\n\nthrow new ApiError('x')":                                   4,
		"class A extends Error { constructor(m) {\nsuper(m); this.name = 'VE' } }\n\n\nthrow new A('x')": 5,
		"class A extends Error {}\nclass B extends A {\nconstructor() { super('y') } }\n\nthrow new B()": 5,
		"function ApiError() { return 1 }\nfunction g() {\nthrow new Error('x') }\ng()":                  3,
		"const a=1;\nconst b=2;\n\nconst c = foo + 1;\nc":                                                4,
		"function f() {\n  const total = 0;\n  const n = Number(2);\n  total++;\n  if (n) {\n    return String(n);\n  }\n  console.log('done');\n  return total;\n}\nf()": 4,
		"function get(){return null}\nconst u = get();\nconst opts = { name: 'default', size: 3 };\nconst label = u.name;":                                                4,
		"const r = await Promise.resolve(null);\n// r.name may be missing\nconst label = r.name;":                                                                         3,
		"const a = 1;\na = 5;\nlet b = 2;\n\nfoo();\nreturn a":                                                                                                            2,
		"return 1; break":                    1,
		"return 1;\nconst z":                 2,
		"return 1\n}}":                       2,
		"return 1\n}\n// done {}\n// x":      2,
		"const x = 1;\n\nundefinedName;":     3,
		"const a = 1;\na();":                 2,
		"JSON.parse('1');\nJSON.parse('{');": 2,
	} {
		out := run(t, shared, testConfig(), source)
		require.NotNil(t, out.Error, source)
		assert.Equal(t, line, out.Error.Line, "%s\n%s: %s\n%s", source, out.Error.Name, out.Error.Message, out.Error.Stack)
	}
}

func TestTheStackIsGuardedWhateverAFrameIs(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"const v = Array.from({ length: 65000 }, (_, i) => 'v' + i).join(); globalThis.f = new Function('var ' + v + '; return f(' + '1,'.repeat(64999) + '1)'); f()",
		"const v = Array.from({ length: 50000 }, (_, i) => 'v' + i).join(); globalThis.f = new Function('var ' + v + '; return f(' + '1,'.repeat(59999) + '1)'); f()",
		"(function f() { f() })()",
	} {
		out := run(t, shared, testConfig(), source)
		require.NotNil(t, out.Error, source)
		assert.Equal(t, spi.KindStackOverflow, out.Error.Kind, "%s: %s", out.Error.Name, out.Error.Message)
	}
	out := run(t, shared, testConfig(), "throw new RangeError('Maximum call stack size exceeded')")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindException, out.Error.Kind, "a forged one")
}

func TestAJobLostToMemoryIsMemoryAndNoDeadlock(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Limits.MemoryBytes = 5 << 20
	out := run(t, shared, cfg, "const x=[];try{for(let i=0;i<3000;i++){x.push(new Array(1).fill(50));}}catch(e){x.length=0};Promise.all(x)")
	if out.Error != nil { // with another image the memory may suffice
		assert.Equal(t, spi.KindMemory, out.Error.Kind)
	}
	out = run(t, shared, cfg, "try { new ArrayBuffer(1e8) } catch {} await new Promise(() => {})")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindMemory, out.Error.Kind)
}

func TestAHostCallIsNeverLong(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Limits.MemoryBytes = 1 << 30
	// The text is read for the prelude's frames, which took seconds when all of
	// it was. What counts is that the host looks at a bounded part.
	out := run(t, shared, cfg, "const e = new Error('x'); e.stack = '(sandboxd:\\n' + '\\n'.repeat(1e8); throw e")
	require.NotNil(t, out.Error)
	assert.Equal(t, spi.KindException, out.Error.Kind)
	assert.LessOrEqual(t, len(out.Error.Stack), spi.MaxErrorStackBytes)
	assert.NotContains(t, out.Error.Stack, "sandboxd")
}

func TestNoFrameOfThePreludeIsShown(t *testing.T) {
	t.Parallel()
	out := run(t, shared, testConfig(), `
		try { structuredClone(() => 1) } catch (e) { console.log(e) }
		console.trace('here');
		({ get a() { throw new Error('in a getter') } })`)
	require.NotNil(t, out.Error)
	assert.NotContains(t, out.Error.Stack, "sandboxd:")
	require.Len(t, out.Logs, 2)
	for _, l := range out.Logs {
		assert.NotContains(t, l.Text, "sandboxd:")
		assert.Contains(t, l.Text, "script.js:")
	}
}

func TestManyEmptyLinesAreNotManyLines(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Limits.LogBytes = 1 << 20
	out := run(t, shared, cfg, "for (let i = 0; i < 1e5; i++) console.log(); 1")
	requireValue(t, out, "1")
	assert.True(t, out.LogsTruncated)
	assert.Len(t, out.Logs, 1024+(1<<20)/128)
	out = run(t, shared, cfg, "for (let i = 0; i < 5000; i++) console.log('"+strings.Repeat("x", 100)+"'); 1")
	assert.Len(t, out.Logs, 5000)
}
