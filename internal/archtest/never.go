package archtest

// never is what no row of this module can allow.
func never() []Never {
	const size = "an engine in a public package's tests is fetched by everybody who imports the package"
	engineHomes := []string{"backends/...", "cmd/sandboxd/...", "internal/integration/...", "examples/..."}
	bans := []Never{
		{From: "spi", Import: "~/...", Because: "the contract stands on the standard library alone"},
		{From: "taint", Import: "~/...", AndTests: true, Because: "everything else stands on the label"},
		{From: "backends/internal/wasmbin", Import: "~/...", AndTests: true, Because: "it knows the binary format and nothing else"},
		{From: "backends/internal/quickjs", Import: wazero + "/...", AndTests: true, Because: "it drives any engine through its own interface"},
		{From: "backends/internal/quickjs", Import: wasmtime + "/...", AndTests: true, Because: "it drives any engine through its own interface"},
		{From: "...", Import: "~/backends/...", Except: engineHomes, AndTests: true, Because: size},
		{From: "...", Import: "~/cmd/sandboxd/internal/...", Except: []string{"cmd/sandboxd/..."}, AndTests: true, Because: "it is the command's own"},
		// The broken backends need a good one, and only integration has the engines.
		{From: "...", Import: "~/internal/...", Except: []string{"internal/integration"}, AndTests: true, Because: "tests of the whole are imported by nobody"},
	}
	bans = append(bans, neverStandard()...)
	for _, engine := range []string{wazero, wasmtime, qjs} {
		bans = append(bans, Never{From: "...", Import: engine + "/...", Except: engineHomes, AndTests: true, Because: size})
	}
	for _, above := range []string{"sandbox", "taint", "tools", "egress", "safety", "llm", "agent", "cmd"} {
		bans = append(bans, Never{From: "backends/...", Import: "~/" + above + "/...", Because: "an engine knows the contract and nothing of policy"})
	}
	for _, backend := range []string{"wazero", "wasmtime", "process", "qjs"} {
		bans = append(bans, Never{
			From: "backends/...", Import: "~/backends/" + backend + "/...", Except: []string{"backends/" + backend + "/..."},
			AndTests: true, Because: "backends do not know each other",
		})
	}
	return bans
}

// neverStandard is what no package takes from the standard library, and what
// those that others embed do not take either: they compute, and everything
// outside the process is for a backend or the command.
func neverStandard() []Never {
	var bans []Never
	for _, n := range []struct{ imported, because string }{
		{"plugin", "code is linked in when it is built"},
		{"expvar", "it publishes on the default server by being imported"},
		{"net/http/pprof", "it publishes on the default server by being imported"},
		{"net/rpc/...", "it decodes what a stranger sends into types of the receiver"},
	} {
		bans = append(bans, Never{From: "...", Import: n.imported, AndTests: true, Because: n.because})
	}
	for _, n := range []struct{ imported, because string }{
		{"net/...", "what is embedded reaches no network"},
		{"os/...", "what is embedded starts no program and touches no file, environment or signal"},
		{"syscall/...", "what is embedded does not talk to the system"},
		{"unsafe", "what is embedded stays within the language"},
		{"runtime/cgo", "no cgo in this module"},
		{"runtime/debug", "the collector and its limits belong to the program around it"},
		{"log", "the default logger belongs to the program around it"},
		{"flag", "the command line belongs to the program around it"},
		{"testing/...", "tests do not ship"},
	} {
		for _, embedded := range []string{"sandbox", "taint", "spi"} {
			bans = append(bans, Never{
				From: embedded + "/...", Import: n.imported, Because: n.because,
				Except: []string{"spi/conformance/...", "spi/spitest/..."}, // run against a backend
			})
		}
	}
	return bans
}
