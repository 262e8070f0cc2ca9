package saboteur

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hostDefects hand something of the host to the script.
func hostDefects() []Defect {
	return []Defect{
		{
			Name: "grants-environment", Wrong: "The script can read the host's environment.",
			CaughtBy: []string{"HOST-017"}, Seen: "the script read",
			build: func() hooks {
				return before("globalThis.process = { env: { PATH: " + strconv.QuoteToASCII(os.Getenv("PATH")) + " }, argv: [] }")()
			},
		},
		{
			Name: "grants-files", Wrong: "The script can read files.",
			CaughtBy: []string{"HOST-015"}, Seen: "read the file",
			build: request(func(_ *isolate, req *spi.Request) {
				files, err := json.Marshal(filesNamedIn(req.Source + " " + string(req.Input)))
				if err == nil {
					req.Source = prefixed("const files = "+string(files)+"; globalThis.std = { loadFile: (name) => files[name] ?? null }", req.Source)
				}
			}),
		},
		{
			Name: "grants-modules", Wrong: "There is a require that gives modules of the host.",
			CaughtBy: []string{"HOST-001"}, Seen: "require",
			build: before("globalThis.require = (name) => ({ readFileSync() { return name } })"),
		},
		{
			Name: "grants-network", Wrong: "There is a fetch that nobody granted.",
			CaughtBy: []string{"HOST-006"}, Seen: "fetch",
			build: before("globalThis.fetch = async () => ({ ok: true, text: async () => '' })"),
		},
		{
			Name: "grants-system", Wrong: "The engine's module for the operating system is a global.",
			CaughtBy: []string{"HOST-002"}, Seen: "os",
			build: before("globalThis.os = { exec() { return 0 }, open() { return 3 } }"),
		},
		{
			Name: "grants-threads", Wrong: "There is memory that is shared with other threads.",
			CaughtBy: []string{"HOST-005"}, Seen: "Atomics",
			build: before("globalThis.SharedArrayBuffer = ArrayBuffer; globalThis.Atomics = { wait() { return 'ok' } }"),
		},
		{
			Name: "grants-webassembly", Wrong: "The script can compile WebAssembly.",
			CaughtBy: []string{"HOST-005"}, Seen: "WebAssembly",
			build: before("globalThis.WebAssembly = { Module: class {}, Instance: class {}, compile() {} }"),
		},
		{
			Name: "shows-host-clock", Wrong: "The script sees the host's clock.",
			CaughtBy: []string{"HOST-021"}, Seen: "the script sees",
			build: config(func(_ *Backend, cfg *spi.Config) { cfg.Now = time.Now() }),
		},
		{
			Name: "shows-host-path", Wrong: "The stack of an error shows where the host's own files are.",
			CaughtBy: []string{"HOST-014", "ERROR-025"}, Seen: "/usr/",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				e.Stack += "    at evaluate (/usr/lib/sandbox/prelude.js:12:3)\n"
			}),
		},
		{
			Name: "shows-host-pointer", Wrong: "The message of an error shows an address of the host.",
			CaughtBy: []string{"SAME-001"}, Seen: "isolate 0x",
			build: failure(func(i *isolate, e *spi.ScriptError) { e.Message += fmt.Sprintf(" (isolate %p)", i) }),
		},
		{
			Name: "shows-engine-frames", Wrong: "The stack of a stack overflow has the engine's own frames.",
			CaughtBy: []string{"HOST-014"}, Seen: "wasm-function",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindStackOverflow {
					e.Stack = "    at wasm-function[312]:0x5e21\n" + e.Stack
				}
			}),
		},
		{
			Name: "shows-wasm-trace", Wrong: "The stack of a stack overflow is the WebAssembly engine's own.",
			CaughtBy: []string{"HOST-014"}, Seen: "wasm stack trace",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindStackOverflow {
					e.Stack = "wasm stack trace:\n\t.js_call(i32,i32) i64\n"
				}
			}),
		},
		{
			Name: "shows-wasm-backtrace", Wrong: "The stack of an error ends with the WebAssembly engine's frames.",
			CaughtBy: []string{"HOST-014"}, Seen: "wasm backtrace",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				e.Stack += "error while executing at wasm backtrace:\n    0: 0x5e21 - <unknown>!js_call\n"
			}),
		},
		{
			Name: "shows-wasm-trap", Wrong: "The message of a stack overflow is the WebAssembly engine's own.",
			CaughtBy: []string{"HOST-014"}, Seen: "wasm trap",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindStackOverflow {
					e.Message = "wasm trap: call stack exhausted"
				}
			}),
		},
		{
			Name: "shows-goroutines", Wrong: "The stack of a script that did not parse is that of the Go program.",
			CaughtBy: []string{"HOST-014"}, Seen: "goroutine 17",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindSyntax {
					e.Stack = "goroutine 17 [running]:\nmain.main()\n"
				}
			}),
		},
		{
			Name: "shows-a-panic", Wrong: "The message of a script that did not parse is that of a panic of the Go program.",
			CaughtBy: []string{"HOST-014"}, Seen: "panic:",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindSyntax {
					e.Message = "panic: runtime error: index out of range"
				}
			}),
		},
		{
			Name: "grants-imports", Wrong: "A module can be imported while the script runs.",
			CaughtBy: []string{"HOST-009"}, Seen: "qjs:std",
			build: request(func(_ *isolate, req *spi.Request) {
				req.Source = prefixed("globalThis.imported = async () => ({})", strings.ReplaceAll(req.Source, "import(", "imported("))
			}),
		},
	}
}

// filesNamedIn reads the files of the host whose absolute paths are in a text.
func filesNamedIn(text string) map[string]string {
	files := map[string]string{}
	for _, path := range regexp.MustCompile(`/[\w./-]+`).FindAllString(text, -1) {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if content, err := os.ReadFile(path); err == nil {
			files[path] = string(content)
		}
	}
	return files
}
