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

// header precedes the module and the memory's pages in a stored image.
type header struct {
	Format       int
	SourceSHA256 string
	SHA256       string
	ModuleBytes  int
	MemoryBytes  int
	Runs         [][2]int // start and end of what is not zero
	Imports      []Import
	Layout       layout
	Handles      handles
}

// Marshal is the image as bytes for [Load].
func (img *Image) Marshal() ([]byte, error) {
	head, err := json.Marshal(header{
		Format: FormatVersion, SourceSHA256: img.SourceSHA256, SHA256: img.SHA256,
		ModuleBytes: len(img.WASM), MemoryBytes: len(img.Memory), Runs: runs(img.Memory),
		Imports: img.Imports, Layout: img.layout, Handles: img.handles,
	})
	if err != nil {
		return nil, fmt.Errorf("quickjs: %w", err)
	}
	out := slices.Concat(head, []byte("\n"), img.WASM)
	for _, run := range runs(img.Memory) {
		out = append(out, img.Memory[run[0]:run[1]]...)
	}
	return out, nil
}

// runs are the stretches of pages that hold something else than zeros.
func runs(memory []byte) [][2]int {
	const page = 4096
	var out [][2]int
	zeros := make([]byte, page)
	for at := 0; at < len(memory); at += page {
		if bytes.Equal(memory[at:at+page], zeros) {
			continue
		}
		if n := len(out); n > 0 && out[n-1][1] == at {
			out[n-1][1] += page
		} else {
			out = append(out, [2]int{at, at + page})
		}
	}
	return out
}

// maxStoredMemory is the most memory that an image starts with: what a build may
// ask for and what a boot may add.
const maxStoredMemory = 256 << 20

// errStored says that bytes are not an image that this program stored.
var errStored = errors.New("quickjs: not a stored image of this format and source")

// Load reads what [Image.Marshal] wrote for the same source. The bytes must come
// from a place that only this user can write to: they are code.
func Load(data []byte, sourceSHA256 string) (*Image, error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	var h header
	if !ok || json.Unmarshal(head, &h) != nil || h.Format != FormatVersion || h.SourceSHA256 != sourceSHA256 {
		return nil, errStored
	}
	if h.ModuleBytes < 0 || h.ModuleBytes > len(rest) || h.MemoryBytes < 0 || h.MemoryBytes > maxStoredMemory {
		return nil, errStored
	}
	memory := make([]byte, h.MemoryBytes)
	pages := rest[h.ModuleBytes:]
	for _, run := range h.Runs {
		from, to := run[0], run[1]
		if from < 0 || to < from || to > len(memory) || to-from > len(pages) {
			return nil, errStored
		}
		pages = pages[copy(memory[from:to], pages):]
	}
	img := &Image{
		WASM: rest[:h.ModuleBytes:h.ModuleBytes], Memory: memory, Imports: h.Imports, SourceSHA256: h.SourceSHA256, SHA256: h.SHA256,
		layout: h.Layout, handles: h.Handles,
	}
	if len(pages) > 0 || img.sum() != h.SHA256 {
		return nil, errStored
	}
	for i := range img.Imports {
		img.Imports[i].call = answer(img.Imports[i].Module, img.Imports[i].Name)
	}
	return img, nil
}
