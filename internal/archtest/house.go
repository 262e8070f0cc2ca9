package archtest

// Modules that rows name.
const (
	wazero    = "github.com/tetratelabs/wazero"
	wasmtime  = "github.com/bytecodealliance/wasmtime-go"
	reactor   = "github.com/aperturerobotics/go-quickjs-wasi-reactor"
	qjs       = "github.com/fastschema/qjs"
	jsonV2    = "github.com/go-json-experiment/json"
	internals = "github.com/rogpeppe/go-internal"
	xsync     = "golang.org/x/sync"
	xsys      = "golang.org/x/sys"
	testify   = "github.com/stretchr/testify"
	goleak    = "go.uber.org/goleak"
	kong      = "github.com/alecthomas/kong"
	huma      = "github.com/danielgtaylor/huma"
	yaml      = "github.com/goccy/go-yaml"
	schema    = "github.com/santhosh-tekuri/jsonschema"
	xtext     = "golang.org/x/text"
	xnet      = "golang.org/x/net"
	ssrf      = "code.dny.dev/ssrf"
	compress  = "github.com/klauspost/compress"
)

// House is this module: two towers, policy and engine, that meet in the command
// and in tests.
func House() *Plan {
	return &Plan{
		Module: "github.com/loom-sandbox/sandboxd",
		Rows:   rows(),
		Tests:  []string{testify, goleak},
		Never:  never(),
		Modules: map[string]string{
			"bench":            "compares with modules that this one must not require",
			"examples/backend": "shows that a backend needs nothing but the public packages",
		},
		TestOnly: []TestOnly{
			{"backends/internal/quickjs", "BuildWithoutGuardsForMeasuring", "nothing stops a script in such an image"},
		},
		Vars: map[string]string{
			"cmd/sandboxd/main.go: version":                              "set by the linker",
			"cmd/sandboxd/command/values.go: units":                      "a table, only read",
			"backends/internal/wasmbin/opcode_table.go: plainNames":      "a table, only read; a function would build it for each instruction",
			"backends/internal/wasmbin/opcode_table.go: plainImmediates": "a table, only read; a function would build it for each instruction",
			"backends/internal/wasmbin/opcode_table.go: prefixedOpcodes": "a table, only read",
		},
		LongFiles: map[string]string{
			"backends/internal/wasmbin/opcode_table.go": "one line for each opcode",
		},
		Cgo: map[string]string{
			"backends/wasmtime/call_unsafe.go": "calls a guest without leaving a C object to each call's finalizer",
		},
	}
}

func rows() []Row {
	wasmRooms := []string{"spi", "backends/internal/quickjs", "backends/internal/codecache", "backends/internal/pristine", "backends/internal/wasmhost"}
	wasmTests := []string{"sandbox", "taint", "spi/conformance", "spi/spitest", "backends/internal/enginetest"}
	return []Row{
		// The contract.
		{Package: "spi", TestOwn: []string{"spi/conformance", "spi/spitest"}},
		{Package: "spi/conformance", Own: []string{"spi"}},
		{Package: "spi/spitest", Own: []string{"spi", "spi/conformance"}},
		{Package: "taint", Modules: []string{jsonV2}},

		// Policy: what may happen.
		{Package: "sandbox", Own: []string{"spi", "taint", "tools", "safety", "sandbox/internal/seal"}, Modules: []string{jsonV2, xsync}},
		{Package: "sandbox/internal/seal", Modules: []string{compress}},
		{Package: "egress", Own: []string{"taint"}, Modules: []string{ssrf, xnet}},
		{Package: "tools", Own: []string{"egress", "taint"}, Modules: []string{jsonV2, schema, xsync, xtext}},
		{Package: "safety", Own: []string{"taint"}},
		{Package: "llm", Own: []string{"taint"}},
		{Package: "agent", Own: []string{"llm", "sandbox", "taint", "tools"}},

		// Engines: how code runs.
		{
			Package: "backends/wazero", Own: wasmRooms, Modules: []string{wazero},
			TestOwn: wasmTests, TestModules: []string{reactor},
		},
		{
			Package: "backends/wasmtime", Own: wasmRooms, Modules: []string{wasmtime},
			TestOwn: wasmTests, TestModules: []string{reactor},
		},
		{
			Package: "backends/process", Own: []string{"spi", "backends/internal/wire", "backends/internal/jail"}, Modules: []string{xsys},
			TestOwn: []string{"sandbox", "taint", "spi/conformance", "spi/spitest"},
		},
		{
			Package: "backends/qjs", Own: []string{"spi"}, Modules: []string{qjs, wazero},
			TestOwn: []string{"sandbox", "taint", "spi/conformance", "spi/spitest"},
		},
		{Package: "backends/internal/quickjs", Own: []string{"spi", "backends/internal/wasmbin"}, Modules: []string{jsonV2, reactor}},
		{Package: "backends/internal/wasmbin", TestModules: []string{reactor, wazero}},
		{Package: "backends/internal/codecache", Modules: []string{internals, xsys}},
		{Package: "backends/internal/pristine", Modules: []string{xsys}},
		{Package: "backends/internal/wasmhost", Own: []string{"spi", "backends/internal/quickjs", "backends/internal/codecache", "backends/internal/pristine"}},
		{Package: "backends/internal/enginetest", Own: wasmRooms, Modules: []string{testify}},
		{Package: "backends/internal/wire", Own: []string{"spi"}},
		{Package: "backends/internal/jail", Modules: []string{xsys}},

		// The command, where the towers meet.
		{Package: "cmd/sandboxd", Own: []string{"cmd/sandboxd/builtins", "cmd/sandboxd/command"}, TestModules: []string{internals}},
		{
			Package: "cmd/sandboxd/builtins",
			Own: []string{
				"spi", "spi/conformance", "cmd/sandboxd/command", "backends/wazero", "backends/wasmtime", "backends/process", "backends/qjs",
			},
		},
		{
			Package: "cmd/sandboxd/command",
			Own: []string{
				"agent", "egress", "llm", "safety", "sandbox", "spi", "spi/conformance", "taint", "tools",
				"cmd/sandboxd/internal/config", "cmd/sandboxd/internal/httpapi", "cmd/sandboxd/internal/mcpserver",
			},
			Modules: []string{kong, yaml},
			TestOwn: []string{"cmd/sandboxd/internal/stub"},
		},
		{Package: "cmd/sandboxd/internal/config", Own: []string{"sandbox", "spi"}, Modules: []string{yaml}},
		{
			Package: "cmd/sandboxd/internal/httpapi", Own: []string{"sandbox", "spi", "taint", "tools"}, Modules: []string{huma, xsync},
			TestOwn: []string{"cmd/sandboxd/internal/stub"},
		},
		{
			Package: "cmd/sandboxd/internal/mcpserver", Own: []string{"sandbox", "spi", "taint"},
			TestOwn: []string{"cmd/sandboxd/internal/stub"},
		},
		{Package: "cmd/sandboxd/internal/stub", Own: []string{"spi"}},

		// What a newcomer reads and runs.
		{Package: "examples/codemode", Own: []string{"backends/wazero", "sandbox", "tools"}},
		{Package: "examples/approval", Own: []string{"backends/wazero", "sandbox", "taint", "tools"}},

		// Tests of the whole.
		{Package: "internal/archtest"},
		{
			Package: "internal/integration",
			TestOwn: []string{
				"agent", "egress", "internal/saboteur", "llm", "safety", "sandbox", "spi", "spi/conformance", "taint", "tools",
				"backends/wazero", "backends/wasmtime", "backends/process", "backends/qjs",
			},
			TestModules: []string{xsync},
		},
		{Package: "internal/saboteur", Own: []string{"spi"}, TestOwn: []string{"sandbox", "spi/conformance", "spi/spitest"}},
	}
}
