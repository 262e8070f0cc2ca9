package quickjs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/loom-sandbox/sandboxd/backends/internal/wasmbin"
	"github.com/loom-sandbox/sandboxd/spi"
)

// FormatVersion counts changes of what an image is: guards, layout, prelude
// interface. It goes into caches and continuations.
const FormatVersion = 1

// Image is a booted guest, ready to be instantiated. What it holds is immutable.
type Image struct {
	// WASM is the module: guards, prelude and heap included.
	WASM []byte
	// Imports are the host functions it needs; an engine links them to [Host.Call].
	Imports []Import
	// SourceSHA256 and SHA256 are of the stock module and of WASM, in hex.
	SourceSHA256, SHA256 string
	// MemoryBytes is the memory that the image itself takes.
	MemoryBytes int64

	layout  layout
	handles handles
	running atomic.Int32 // evals in progress, for hosts to see who waits
}

// handles are addresses and values inside the image. The host keeps them, so
// that no script can change what it calls.
type handles struct {
	Runtime, Context          uint32
	Adopt, Completion, Finish jsValue // functions of the prelude
	Fail, Timer               jsValue
	Global                    jsValue
	Scratch                   uint32 // a block for arguments, see scratchArgs
	RandomState               uint32 // address of Math.random's state
	FileName, InputName       uint32 // C strings
	ReturnError               string // how the parser complains about a top-level return
}

// The scratch block: arguments of a call, options of an evaluation, an out
// pointer.
const (
	scratchArgs    = 0
	scratchOptions = 64
	scratchOut     = 96
	scratchBytes   = 128
)

// SourceMismatchError says that a module is not the one that was asked for.
type SourceMismatchError struct{ Want, Got string }

func (e *SourceMismatchError) Error() string {
	return fmt.Sprintf("quickjs: engine image has sha256 %s, expected is %s", e.Got, e.Want)
}

// BuildError says what a stock module lacks or does that the driver cannot rely on.
type BuildError struct{ Err error }

func (e *BuildError) Error() string { return "quickjs: engine image is not usable: " + e.Err.Error() }

// Unwrap gives the reasons.
func (e *BuildError) Unwrap() error { return e.Err }

// Instantiate makes an instance of a module on some engine. What it returns is
// closed by the second value.
type Instantiate func(ctx context.Context, wasm []byte, imports []Import, h *Host) (Instance, func() error, error)

// Build makes an image of a stock reactor build of quickjs-ng. wantSHA256 is
// the hash that the source must have, in hex. The result depends on nothing but
// the source and this package.
func Build(ctx context.Context, source []byte, wantSHA256 string, instantiate Instantiate) (*Image, error) {
	return build(ctx, source, wantSHA256, instantiate, true)
}

// BuildWithoutGuardsForMeasuring makes an image in which nothing stops a script.
// It exists so that the cost of the guards can be measured against it.
func BuildWithoutGuardsForMeasuring(ctx context.Context, source []byte, wantSHA256 string, instantiate Instantiate) (*Image, error) {
	return build(ctx, source, wantSHA256, instantiate, false)
}

func build(ctx context.Context, source []byte, wantSHA256 string, instantiate Instantiate, guarded bool) (*Image, error) {
	got := sum(source)
	if got != wantSHA256 {
		return nil, &SourceMismatchError{Want: wantSHA256, Got: got}
	}
	m, l, err := rewrite(source, guarded)
	if err != nil {
		return nil, &BuildError{err}
	}
	img := &Image{Imports: importsOf(m), SourceSHA256: got, layout: *l}
	memory, err := img.boot(ctx, m.Encode(), instantiate)
	if err != nil {
		return nil, &BuildError{err}
	}
	img.MemoryBytes = int64(len(memory))
	if err := m.SetMemoryLimits(uint32(len(memory)/wasmbin.PageSize), maxPages); err != nil {
		return nil, &BuildError{err}
	}
	if err := m.ReplaceData(memory); err != nil {
		return nil, &BuildError{err}
	}
	// The module says what it is, to whoever meets it apart from its image.
	m.Customs = []wasmbin.Custom{{
		Name: "sandboxd.image", After: wasmbin.SectionData,
		Data: fmt.Appendf(nil, `{"format":%d,"source":"sha256:%s"}`, FormatVersion, got),
	}}
	img.WASM = m.Encode()
	img.SHA256 = sum(img.WASM)
	return img, nil
}

// ID identifies the image in results: same ID, same bytes out.
func (img *Image) ID() string { return "sha256:" + img.SHA256 }

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// bootLimits bound the boot itself: an operator's module is not trusted to end.
func bootLimits() spi.Limits {
	return spi.Limits{Timeout: 30 * time.Second, MemoryBytes: 256 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 10}
}
