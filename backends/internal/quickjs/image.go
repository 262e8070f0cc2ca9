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
const FormatVersion = 3

// Image is a booted guest, ready to be instantiated. What it holds is immutable.
type Image struct {
	// WASM is the module, guards and driver included, but without what its memory
	// starts with: an engine brings Memory there, or compiles [Image.WithData].
	WASM []byte
	// Memory is what an instance starts with: prelude and heap.
	Memory []byte
	// Imports are the host functions it needs; an engine links them to [Host.Call].
	Imports []Import
	// SourceSHA256 and SHA256 are of the stock module, and of WASM and Memory, in hex.
	SourceSHA256, SHA256 string

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
	Grant, Answer, Loosen     jsValue
	Global                    jsValue
	Lexical                   jsValue // the object that holds what let, const and class declare globally
	Scratch                   uint32  // a block for arguments, see scratchArgs
	RandomState               uint32  // address of Math.random's state
	Inbox                     uint32  // a block for a script or an input, see inboxBytes
	FileName, InputName       uint32  // C strings
	ReturnError               string  // how the parser complains about a top-level return
}

// The scratch block: arguments of a call, options of an evaluation, an out
// pointer.
const (
	scratchArgs    = 0
	scratchOptions = 64
	scratchOut     = 96
	scratchBytes   = 128
)

// inboxBytes is the size of a script or an input, and one, that needs no memory
// of its own.
const inboxBytes = 64 << 10

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
	if err := m.SetMemoryLimits(uint32(len(memory)/wasmbin.PageSize), maxPages); err != nil {
		return nil, &BuildError{err}
	}
	if err := setConstants(m, l.Constants, &img.handles); err != nil {
		return nil, &BuildError{err}
	}
	m.Data = nil
	// The module says what it is, to whoever meets it apart from its image.
	m.Customs = []wasmbin.Custom{{
		Name: "sandboxd.image", After: wasmbin.SectionData,
		Data: fmt.Appendf(nil, `{"format":%d,"source":"sha256:%s"}`, FormatVersion, got),
	}}
	img.WASM, img.Memory = m.Encode(), memory
	img.SHA256 = img.sum()
	return img, nil
}

// WithData is the module with its memory as data segments.
func (img *Image) WithData() ([]byte, error) {
	m, err := wasmbin.Decode(img.WASM)
	if err == nil {
		err = m.ReplaceData(img.Memory)
	}
	if err != nil {
		return nil, fmt.Errorf("quickjs: %w", err)
	}
	return m.Encode(), nil
}

// A script that does not recurse deeply stays in the upper part of the stack,
// and a small one in the beginning of what is free in the heap.
const (
	warmStack = 64 << 10
	warmHeap  = 128 << 10
)

// ColdMemory are the parts of the memory that ordinary scripts do not touch, as
// pairs of start and end, in whole pages of 4 KiB.
func (img *Image) ColdMemory() [][2]int64 {
	const fewest = 256 << 10 // of less it is cheaper to look at the pages
	cold := [][2]int64{{int64(img.layout.StackLow), int64(img.layout.StackTop) - warmStack}}
	end := int64(img.layout.StackTop)
	for _, run := range append(runs(img.Memory), [2]int{len(img.Memory), len(img.Memory)}) {
		// What lies free between the parts of the heap that hold something.
		if free, until := end+warmHeap, int64(run[0]); until-free >= fewest {
			cold = append(cold, [2]int64{free, until})
		}
		end = max(end, int64(run[1]))
	}
	return cold
}

// ID identifies the image in results: same ID, same bytes out.
func (img *Image) ID() string { return "sha256:" + img.SHA256 }

// sum is the hash of all that an isolate starts from.
func (img *Image) sum() string {
	h := sha256.New()
	fmt.Fprintln(h, len(img.WASM), len(img.Memory))
	h.Write(img.WASM)
	for _, run := range runs(img.Memory) {
		fmt.Fprintln(h, run[0], run[1])
		h.Write(img.Memory[run[0]:run[1]])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// bootLimits bound the boot itself: an operator's module is not trusted to end.
func bootLimits() spi.Limits {
	return spi.Limits{Timeout: 30 * time.Second, MemoryBytes: 256 << 20, OutputBytes: 1 << 20, LogBytes: 1 << 10}
}
