package pristine

import (
	"bytes"
	"fmt"
	"slices"
)

// Delta is how a memory differs from its image, in whole pages. It does not
// change and may be used by any number of goroutines.
type Delta struct {
	runs    []run
	content []byte // of the runs, one after the other
	length  int64  // of the memory
}

// run is a range of bytes of a memory.
type run struct{ start, end int }

// Diff returns how mem differs from the image. It may be longer than the image:
// what it has beyond counts as zero there, and must be private memory of no file.
// A shorter one is kept as a whole. Nothing may write to mem meanwhile. What lies
// in the dead spans, in order, counts as unchanged: whoever goes on with a copy
// must not care.
func (im *Image) Diff(mem []byte, dead ...Span) *Delta {
	d := &Delta{length: int64(len(mem))}
	within := min(len(mem), len(im.content))
	for at := 0; at < within; at += PageBytes {
		if len(dead) > 0 && int64(at) >= dead[0].Start {
			at, dead = max(at, int(dead[0].End))-PageBytes, dead[1:]
			continue
		}
		if end := min(at+PageBytes, within); len(mem) < len(im.content) || !bytes.Equal(mem[at:end], im.content[at:end]) {
			d.add(at, end)
		}
	}
	im.diffBeyond(d, mem, within)
	d.runs = slices.Clip(d.runs)
	total := 0
	for _, r := range d.runs {
		total += r.end - r.start
	}
	d.content = make([]byte, 0, total)
	for _, r := range d.runs {
		d.content = append(d.content, mem[r.start:r.end]...)
	}
	return d
}

// diffBeyond adds the pages from start on that are not zero. Those that the
// kernel does not have yet are, and are not touched: a fault for each page of a
// memory that grew and was not used would cost far more than to ask.
func (im *Image) diffBeyond(d *Delta, mem []byte, start int) {
	const atOnce = 512 // pages
	var zeroes [PageBytes]byte
	buffer := make(pageEntries, atOnce*entryBytes)
	for ; start < len(mem); start += atOnce * PageBytes {
		chunk := mem[start:min(start+atOnce*PageBytes, len(mem))]
		pages := (len(chunk) + PageBytes - 1) / PageBytes
		known := im.readEntries(buffer[:pages*entryBytes], chunk) == nil
		for page := range pages {
			if known && !isThere(buffer.at(page)) {
				continue
			}
			at := page * PageBytes
			end := min(at+PageBytes, len(chunk))
			if !bytes.Equal(chunk[at:end], zeroes[:end-at]) {
				d.add(start+at, start+end)
			}
		}
	}
}

func (d *Delta) add(start, end int) {
	if last := len(d.runs) - 1; last >= 0 && d.runs[last].end == start {
		d.runs[last].end = end
		return
	}
	d.runs = append(d.runs, run{start, end})
}

// Bytes is how much memory of the host the delta holds.
func (d *Delta) Bytes() int64 {
	const ofDelta, ofRun = 80, 16
	return int64(cap(d.content)) + int64(cap(d.runs))*ofRun + ofDelta
}

// MemoryBytes is the length of the memory that the delta was taken of.
func (d *Delta) MemoryBytes() int64 { return d.length }

// Apply makes mem, which is pristine and has MemoryBytes, what it was when the
// delta was taken. The error is [ErrLength]; then mem is as before.
func (d *Delta) Apply(mem []byte) error {
	if int64(len(mem)) != d.length {
		return fmt.Errorf("%w: memory of %d bytes, the delta is of %d", ErrLength, len(mem), d.length)
	}
	content := d.content
	for _, r := range d.runs {
		content = content[copy(mem[r.start:r.end], content):]
	}
	return nil
}
