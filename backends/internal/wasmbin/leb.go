package wasmbin

import "math/bits"

// The readers below return the position after the number, or 0 when there is no valid number at p: a valid one is at
// least one byte long, so 0 cannot be a position after it. They accept padded encodings.

func readU32(b []byte, p int) (uint32, int) {
	if p < len(b) && b[p] < 0x80 {
		return uint32(b[p]), p + 1
	}
	return readLongU32(b, p)
}

func readLongU32(b []byte, p int) (uint32, int) {
	var v uint32
	for i := 0; i < 5 && p+i < len(b); i++ {
		c := b[p+i]
		if i == 4 && c > 0x0f {
			return 0, 0
		}
		v |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, p + i + 1
		}
	}
	return 0, 0
}

// readSigned reads a signed number of at most width bits (32, 33 or 64).
func readSigned(b []byte, p int, width int) (int64, int) {
	if p < len(b) && b[p] < 0x80 {
		return int64(b[p]) << 57 >> 57, p + 1
	}
	var v int64
	for shift := 0; shift < width && p < len(b); shift += 7 {
		c := b[p]
		p++
		low := int64(c) << 57 >> 57
		if left := width - shift; left <= 7 {
			// The last byte that fits: what lies beyond the width must repeat the sign.
			limit := int64(1) << (left - 1)
			if c >= 0x80 || low < -limit || low >= limit {
				return 0, 0
			}
		}
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if s := shift + 7; s < 64 {
				v = v << (64 - s) >> (64 - s)
			}
			return v, p
		}
	}
	return 0, 0
}

func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func appendSigned(b []byte, v int64) []byte {
	for v < -0x40 || v >= 0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7f)
}

// sizeU32 is the length of the shortest encoding of v.
func sizeU32(v uint32) int {
	return (bits.Len32(v|1) + 6) / 7
}
