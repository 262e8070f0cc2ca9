module github.com/loom-sandbox/sandboxd

go 1.26.0

require (
	code.dny.dev/ssrf v0.3.0
	github.com/alecthomas/kong v1.17.0
	github.com/aperturerobotics/go-quickjs-wasi-reactor v0.15.1
	github.com/bytecodealliance/wasmtime-go/v39 v39.0.1
	github.com/danielgtaylor/huma/v2 v2.37.2
	github.com/fastschema/qjs v0.0.6
	github.com/go-json-experiment/json v1.27.2
	github.com/goccy/go-yaml v1.19.2
	github.com/klauspost/compress v1.20.4
	github.com/rogpeppe/go-internal v1.16.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/stretchr/testify v1.12.1
	github.com/tetratelabs/wazero v1.11.0
	go.uber.org/goleak v1.3.0
	golang.org/x/net v0.50.0
	golang.org/x/sync v0.25.0
	golang.org/x/sys v0.44.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.34.0 // indirect
	golang.org/x/tools v0.41.0 // indirect
)
