package pristine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// ErrEncoded is for bytes that are not a delta of the image.
var ErrEncoded = errors.New("pristine: not an encoded delta of this image")

// Encode appends the delta to out in a form that [Image.Decode] reads for the same
// image, on any machine: the length of the memory, then the runs, then their
// content, changed by the image's (exclusive or), so that what is as the image is
// zero there.
func (im *Image) Encode(out []byte, d *Delta) []byte {
	out = binary.AppendUvarint(out, uint64(d.length))
	out = binary.AppendUvarint(out, uint64(len(d.runs)))
	for _, r := range d.runs {
		out = binary.AppendUvarint(out, uint64(r.start))
		out = binary.AppendUvarint(out, uint64(r.end-r.start))
	}
	at := len(out)
	out = append(out, d.content...)
	im.exclude(d.runs, out[at:])
	return out
}

// exclude is its own inverse.
func (im *Image) exclude(runs []run, content []byte) {
	for _, r := range runs {
		n := r.end - r.start
		if r.start < len(im.content) {
			with := im.content[r.start:min(r.end, len(im.content))]
			for i := 0; i+8 <= len(with); i += 8 { // pages are a multiple
				binary.NativeEndian.PutUint64(content[i:], binary.NativeEndian.Uint64(content[i:])^binary.NativeEndian.Uint64(with[i:]))
			}
		}
		content = content[n:]
	}
}

// Decode reads what [Image.Encode] wrote. Whatever the bytes are, the delta that
// it returns can be applied. The error is [ErrEncoded].
func (im *Image) Decode(data []byte) (*Delta, error) {
	r := varints{data: data}
	length, count := r.next(), r.next()
	// Of a memory that is longer than the image, no more than wasm has.
	if length%wasmPageBytes != 0 || length < uint64(len(im.content)) || length > 1<<32 || count > uint64(len(r.data)) {
		return nil, fmt.Errorf("%w: length %d, %d runs", ErrEncoded, length, count)
	}
	d := &Delta{length: int64(length), runs: slices.Grow([]run(nil), int(count))}
	end, total := uint64(0), uint64(0)
	for range count {
		start, n := r.next(), r.next()
		if start < end || start > length || n == 0 || n > length-start || start%PageBytes != 0 || n%PageBytes != 0 {
			return nil, fmt.Errorf("%w: a run of %d bytes at %d", ErrEncoded, n, start)
		}
		end, total = start+n, total+n
		d.runs = append(d.runs, run{int(start), int(end)})
	}
	if r.bad || total != uint64(len(r.data)) {
		return nil, fmt.Errorf("%w: %d bytes of content, the runs have %d", ErrEncoded, len(r.data), total)
	}
	d.content = slices.Clone(r.data)
	im.exclude(d.runs, d.content)
	return d, nil
}

// varints reads numbers; after one that is not there all are zero.
type varints struct {
	data []byte
	bad  bool
}

func (v *varints) next() uint64 {
	n, size := binary.Uvarint(v.data)
	if size <= 0 {
		v.bad, v.data = true, nil
		return 0
	}
	v.data = v.data[size:]
	return n
}
