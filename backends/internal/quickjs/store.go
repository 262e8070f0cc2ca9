package quickjs

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
)

// recipeFiles are all of this package: any of it may change what an image is.
//
//go:embed *.go prelude/*.js
var recipeFiles embed.FS

// Key names the image that [Build] would make of a source, without making it: a
// change of the source's hash, of the format or of our own code gives another.
func Key(sourceSHA256 string) (string, error) {
	codec, err := wasmbin.Fingerprint()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "format %d source %s codec %s\n", FormatVersion, sourceSHA256, codec)
	err = fs.WalkDir(recipeFiles, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := recipeFiles.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n%s", path, len(text), text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:32], err
}

// header precedes the module in a stored image.
type header struct {
	Format       int
	SourceSHA256 string
	SHA256       string
	MemoryBytes  int64
	Imports      []Import
	Layout       layout
	Handles      handles
}

// Marshal is the image as bytes for [Load].
func (img *Image) Marshal() ([]byte, error) {
	head, err := json.Marshal(header{
		Format: FormatVersion, SourceSHA256: img.SourceSHA256, SHA256: img.SHA256, MemoryBytes: img.MemoryBytes,
		Imports: img.Imports, Layout: img.layout, Handles: img.handles,
	})
	if err != nil {
		return nil, fmt.Errorf("quickjs: %w", err)
	}
	return slices.Concat(head, []byte("\n"), img.WASM), nil
}

// errStored says that bytes are not an image that this program stored.
var errStored = errors.New("quickjs: not a stored image of this format and source")

// Load reads what [Image.Marshal] wrote for the same source. The bytes must come
// from a place that only this user can write to: they are code.
func Load(data []byte, sourceSHA256 string) (*Image, error) {
	head, wasm, ok := bytes.Cut(data, []byte("\n"))
	var h header
	if !ok || json.Unmarshal(head, &h) != nil || h.Format != FormatVersion || h.SourceSHA256 != sourceSHA256 {
		return nil, errStored
	}
	if got := sum(wasm); got != h.SHA256 {
		return nil, errStored
	}
	img := &Image{
		WASM: wasm, Imports: h.Imports, SourceSHA256: h.SourceSHA256, SHA256: h.SHA256, MemoryBytes: h.MemoryBytes,
		layout: h.Layout, handles: h.Handles,
	}
	for i := range img.Imports {
		img.Imports[i].call = answer(img.Imports[i].Module, img.Imports[i].Name)
	}
	return img, nil
}
