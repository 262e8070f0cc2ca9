package pristine

import (
	"bytes"
	"fmt"
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

// Diff returns how mem differs from the image. It may be longer than the image;
// what it has beyond counts as zero in the image, and must be private memory. If
// it is shorter, the result has all of mem.
func (im *Image) Diff(mem []byte) *Delta {
	d := &Delta{length: int64(len(mem))}
	zeroes := make([]byte, PageBytes)
	total := 0
	for at := 0; at < len(mem); at += PageBytes {
		end := min(at+PageBytes, len(mem))
		was := zeroes[:end-at]
		if end <= len(im.content) {
			was = im.content[at:end]
		}
		if bytes.Equal(mem[at:end], was) {
			continue
		}
		total += end - at
		if last := len(d.runs) - 1; last >= 0 && d.runs[last].end == at {
			d.runs[last].end = end
		} else {
			d.runs = append(d.runs, run{at, end})
		}
	}
	d.content = make([]byte, 0, total)
	for _, r := range d.runs {
		d.content = append(d.content, mem[r.start:r.end]...)
	}
	return d
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
