package quickjs

import quickjswasi "github.com/aperturerobotics/go-quickjs-wasi-reactor"

// defaultSourceSHA256 pins the module that we build images of: quickjs-ng
// v0.15.1, the project's own WASI reactor build.
const defaultSourceSHA256 = "718f30dac3b2b42f2ab18d622f8ca11139e193e40f941519165710e4a9b168a3"

// DefaultSource is the stock module that comes with the house, and its hash in
// hex. The bytes must not be changed.
func DefaultSource() (wasm []byte, sha256 string) {
	return quickjswasi.QuickJSWASM, defaultSourceSHA256
}
