package saboteur

import (
	"encoding/json"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// sourceDefects change the script or its input on the way to the guest.
func sourceDefects() []Defect {
	return []Defect{
		{
			Name: "drops-input", Wrong: "The script sees null as its input.",
			CaughtBy: []string{"EVAL-030"}, Seen: "value is null",
			build: request(func(_ *isolate, req *spi.Request) { req.Input = json.RawMessage("null") }),
		},
		{
			Name: "drops-big-input", Wrong: "An input of more than 64 KiB is dropped.",
			CaughtBy: []string{"EVAL-035"}, Seen: "of null",
			build: request(func(_ *isolate, req *spi.Request) {
				if len(req.Input) > 64<<10 {
					req.Input = json.RawMessage("null")
				}
			}),
		},
		{
			Name: "input-as-text", Wrong: "The script sees its input as a string of JSON.",
			CaughtBy: []string{"EVAL-030"}, Seen: "value is",
			build: request(func(_ *isolate, req *spi.Request) {
				if text, err := json.Marshal(string(req.Input)); err == nil {
					req.Input = text
				}
			}),
		},
		{
			Name: "input-pasted", Wrong: "The input is pasted into the script as source, where __proto__ is no data.",
			CaughtBy: []string{"EVAL-032"}, Seen: "value is",
			build: request(func(_ *isolate, req *spi.Request) {
				req.Source = prefixed("globalThis.input = "+string(req.Input), req.Source)
			}),
		},
		{
			Name: "cuts-input-at-nul", Wrong: "A string of the input ends at its first NUL.",
			CaughtBy: []string{"EVAL-031"}, Seen: "SyntaxError",
			build: request(func(_ *isolate, req *spi.Request) { req.Input = json.RawMessage(cutStrings(string(req.Input))) }),
		},
		{
			Name: "cuts-source-at-nul", Wrong: "The script ends at its first NUL.",
			CaughtBy: []string{"EVAL-073"}, Seen: "ended with syntax",
			build: request(func(_ *isolate, req *spi.Request) { req.Source, _, _ = strings.Cut(req.Source, "\x00") }),
		},
		{
			Name: "normalises-source", Wrong: "The script's letters and accents are put together before it runs.",
			CaughtBy: []string{"VALUE-039"}, Seen: "value is [1,1,8491]",
			build: request(func(_ *isolate, req *spi.Request) { req.Source = compose(req.Source) }),
		},
		{
			Name: "normalises-input", Wrong: "The input's letters and accents are put together.",
			CaughtBy: []string{"VALUE-039"}, Seen: "value is",
			build: request(func(_ *isolate, req *spi.Request) { req.Input = json.RawMessage(compose(string(req.Input))) }),
		},
		{
			Name: "shifts-lines", Wrong: "Lines are counted with the prelude before the script.",
			CaughtBy: []string{"ERROR-030", "ERROR-031"}, Seen: "error is at line",
			build: request(func(_ *isolate, req *spi.Request) { req.Source = "\n" + req.Source }),
		},
		{
			Name: "no-top-level-return", Wrong: "The script is run by eval, where return does not parse.",
			CaughtBy: []string{"EVAL-004"}, Seen: "return not in a function",
			build: request(func(_ *isolate, req *spi.Request) {
				if text, err := json.Marshal(req.Source); err == nil {
					req.Source = "(0, eval)(" + string(text) + ")"
				}
			}),
		},
		{
			Name: "no-scripts", Wrong: "The script is run as a function, so that only return gives a value.",
			CaughtBy: []string{"EVAL-001"}, Seen: "value is null",
			build: request(func(_ *isolate, req *spi.Request) { req.Source += "\n;return" }),
		},
		{
			Name: "always-strict", Wrong: "Every script is run in strict mode.",
			CaughtBy: []string{"EVAL-017"}, Seen: "counter",
			build: request(func(_ *isolate, req *spi.Request) { req.Source = "'use strict';" + req.Source }),
		},
		{
			Name: "no-eval", Wrong: "There is no eval and no Function.",
			CaughtBy: []string{"EVAL-069"}, Seen: "eval",
			build: before("delete globalThis.eval; delete globalThis.Function"),
		},
		{
			Name: "no-web", Wrong: "Nothing of the web's basics is there.",
			CaughtBy: []string{"WEB-020", "WEB-030", "WEB-031", "WEB-032", "WEB-033", "WEB-034", "WEB-035"}, Seen: "not defined",
			build: before("for (const name of ['setTimeout', 'setInterval', 'clearTimeout', 'queueMicrotask', 'structuredClone', 'TextEncoder'," +
				" 'TextDecoder', 'URL', 'URLSearchParams', 'atob', 'btoa', 'performance', 'crypto']) delete globalThis[name]"),
		},
		{
			Name: "timers-out-of-order", Wrong: "Timers fire in the order in which they were set.",
			CaughtBy: []string{"WEB-020"}, Seen: "value is",
			build: before("const set = setTimeout; globalThis.setTimeout = (f, _, ...rest) => set(f, 0, ...rest)"),
		},
		{
			Name: "timers-do-not-move-the-clock", Wrong: "A timer fires and no time has passed.",
			CaughtBy: []string{"WEB-023"}, Seen: "value is",
			build: before("const at = Date.now(); Date.now = () => at; performance.now = () => 0"),
		},
		{
			Name: "refuses-big-sources", Wrong: "A source of more than 64 KiB is called a syntax error.",
			CaughtBy: []string{"EVAL-014"}, Seen: "ended with syntax",
			build: outcome(func(i *isolate, out *spi.Outcome) {
				if len(i.ran.Source) > 64<<10 {
					setError(i, out, spi.KindSyntax, "")
				}
			}),
		},
		{
			Name: "input-frozen", Wrong: "The script cannot change its input.",
			CaughtBy: []string{"EVAL-036"}, Seen: "value is",
			build: before("Object.freeze(input)"),
		},
		{
			Name: "console-logs-only", Wrong: "The console has the method log and no other.",
			CaughtBy: []string{"WEB-008"}, Seen: "not a function",
			build: before("for (const name of Object.keys(console)) if (name !== 'log') delete console[name]"),
		},
		{
			Name: "no-intervals", Wrong: "An interval fires once.",
			CaughtBy: []string{"WEB-021"}, Seen: "value is",
			build: before("globalThis.setInterval = setTimeout"),
		},
		{
			Name: "numbers-not-random", Wrong: "Every random number is the same.",
			CaughtBy: []string{"EVAL-060"}, Seen: "value is",
			build: before("Math.random = () => 0.5"),
		},
	}
}

// compose is what normal form C makes of an e with an acute accent.
func compose(text string) string { return strings.ReplaceAll(text, "e\u0301", "\u00e9") }

// cutStrings cuts every string of a JSON text at an escaped NUL.
func cutStrings(text string) string {
	const nul = `\u0000`
	for {
		start, rest, found := strings.Cut(text, nul)
		if !found {
			return text
		}
		_, after, _ := strings.Cut(rest, `"`)
		text = start + `"` + after
	}
}
