module github.com/loom-sandbox/sandboxd/examples/backend

go 1.26.0

require (
	github.com/go-json-experiment/json v1.27.2
	github.com/loom-sandbox/sandboxd v0.0.0
	github.com/stretchr/testify v1.12.1
	golang.org/x/sys v0.44.0
)

require (
	code.dny.dev/ssrf v0.3.0 // indirect
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/aperturerobotics/go-quickjs-wasi-reactor v0.15.1 // indirect
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/tetratelabs/wazero v1.11.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.50.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.34.0 // indirect
)

replace github.com/loom-sandbox/sandboxd => ../..
