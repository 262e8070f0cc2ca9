package wasmbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
)

//go:embed *.go
var sourceFiles embed.FS

// Fingerprint is a hash of this package's own code, in hex: what it writes may
// change when that does, so a cache of its output has it in its key.
func Fingerprint() (string, error) {
	h := sha256.New()
	names, err := fs.Glob(sourceFiles, "*.go")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := sourceFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
