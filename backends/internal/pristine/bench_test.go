package pristine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/backends/internal/pristine"
)

// BenchmarkRestore restores the memory of a guest as it is in use: 256 pages are
// hot and were read, and of those some were written to, in runs of three. The
// writes are not counted.
func BenchmarkRestore(b *testing.B) {
	const hotPages = 256
	for _, dirty := range []int{0, 30, 300} {
		for _, way := range []pristine.Way{pristine.Copy, pristine.Remap} {
			b.Run(fmt.Sprintf("%v/%d", way, dirty), func(b *testing.B) {
				im := newImage(b, 4<<20, []pristine.Span{{hotPages * pristine.PageBytes, 4 << 20}})
				m, err := im.Reserve(64 << 20)
				require.NoError(b, err)
				defer m.Free()
				mem := m.Resize(4 << 20)
				if way != pristine.Copy {
					require.Equal(b, way, im.WayOf(mem))
				}
				write := func() {
					for i := range dirty {
						page := i/3*25 + i%3 // 300 have some in the cold span
						if dirty > 30 {
							page = i
						}
						mem[page*pristine.PageBytes+i]++
					}
				}
				write()
				read := byte(0)
				for at := 0; at < hotPages*pristine.PageBytes; at += pristine.PageBytes {
					read |= mem[at]
				}
				require.NotZero(b, read)
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					write()
					b.StartTimer()
					if err := im.Restore(mem, way); err != nil {
						b.Fatal(err)
					}
				}
				require.NoError(b, im.Check(mem))
			})
		}
	}
}

func BenchmarkReserveAndFree(b *testing.B) {
	im := newImage(b, 4<<20, nil)
	b.ReportAllocs()
	for b.Loop() {
		m, err := im.Reserve(64 << 20)
		if err != nil {
			b.Fatal(err)
		}
		m.Free()
	}
}
