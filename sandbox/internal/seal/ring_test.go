package seal_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/sandbox/internal/seal"
)

const mib = 1 << 20

// now is when the tests take place; until is when their messages expire.
func now() time.Time   { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
func until() time.Time { return now().Add(time.Hour) }

func binding() seal.Binding {
	return seal.Binding{Kind: seal.KindContinuation, Audience: "tenant-7", Image: "sha256:abc", Format: 3}
}

// key has the same secret for the same ID.
func key(id string) seal.Key {
	k := seal.Key{ID: id}
	copy(k.Secret[:], "s3cret of "+id)
	return k
}

func ring(t testing.TB, current string, older ...string) *seal.Ring {
	t.Helper()
	var keys []seal.Key
	for _, id := range older {
		keys = append(keys, key(id))
	}
	r, err := seal.NewRing(key(current), keys...)
	require.NoError(t, err)
	return r
}

func sealed(t testing.TB, r *seal.Ring, state []byte) []byte {
	t.Helper()
	out, err := r.Seal(binding(), until(), state, math.MaxInt64)
	require.NoError(t, err)
	return out
}

func open(r *seal.Ring, message []byte) ([]byte, error) {
	return r.Open(binding(), now(), message, math.MaxInt64, math.MaxInt64)
}

func noise(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out)
	return out
}

// heap is like the memory of a script that waits: runs of zeros between pages of
// pointers, small numbers and text, 40 KB when compressed.
func heap() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 250_000; i++ {
		fmt.Fprintf(&b, `{"id":%d,"name":"row %d"}`, i*7919, i)
		_, _ = b.Write(noise(34))
		_, _ = b.Write([]byte{byte(i), byte(i >> 8), 0, 0, 0x10, 0x20, 0, 0})
		_, _ = b.Write(make([]byte, 160))
		if i%64 == 0 {
			_, _ = b.Write(make([]byte, 4096))
		}
	}
	return b.Bytes()
}

func TestWhatIsSealedOpens(t *testing.T) {
	t.Parallel()
	for name, state := range map[string][]byte{
		"nothing":                      {},
		"one byte":                     {7},
		"less than the smallest frame": []byte("abc"),
		"text":                         []byte(strings.Repeat("await tools.crm.lookup({id: 7});\n", 50)),
		"noise":                        noise(70_000),
		"a heap":                       heap(),
		"zeros":                        make([]byte, 5*mib),
		"more than the encoder sees":   slices.Concat(noise(mib), make([]byte, mib), noise(mib), heap()),
		"a whole number of blocks":     noise(256 << 10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := bytes.Clone(state)
			r := ring(t, "k1")
			message := sealed(t, r, state)
			assert.True(t, bytes.Equal(before, state), "the state is only read")
			assert.LessOrEqual(t, len(message), len(state)+512)

			kept := bytes.Clone(message)
			got, err := open(r, message)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(state, got))
			assert.True(t, bytes.Equal(kept, message), "the message is only read")

			again, err := open(r, message)
			require.NoError(t, err, "a message opens any number of times")
			clear(got)
			assert.True(t, bytes.Equal(state, again), "and what it gives is nobody else's")
		})
	}
}

func TestAMessageShowsNothingOfWhatIsInIt(t *testing.T) {
	t.Parallel()
	state := []byte("the state itself, in plain words")
	r := ring(t, "k1")
	first, second := sealed(t, r, state), sealed(t, r, state)
	assert.Len(t, second, len(first))
	for _, word := range []string{"state", "words", "continuation", "tenant-7", "sha256", "s3cret"} {
		assert.NotContains(t, string(first), word)
	}
	// Two messages of the same have nothing in common behind key ID and expiry.
	const same = 4 + 1 + 1 + len("k1") + 8
	assert.Equal(t, first[:same], second[:same])
	equal := 0
	for i := same; i < len(first); i++ {
		if first[i] == second[i] {
			equal++
		}
	}
	assert.Less(t, equal, (len(first)-same)/8)
}

func TestWhatIsBoundMustBeTheSame(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	message := sealed(t, r, []byte("state"))
	for name, change := range map[string]func(*seal.Binding){
		"kind":                       func(b *seal.Binding) { b.Kind = seal.KindSession },
		"audience":                   func(b *seal.Binding) { b.Audience = "tenant-8" },
		"audience, longer":           func(b *seal.Binding) { b.Audience += "0" },
		"audience, in another case":  func(b *seal.Binding) { b.Audience = "Tenant-7" },
		"no audience":                func(b *seal.Binding) { b.Audience = "" },
		"image":                      func(b *seal.Binding) { b.Image = "sha256:abd" },
		"format":                     func(b *seal.Binding) { b.Format = 4 },
		"what separates two of them": func(b *seal.Binding) { b.Audience, b.Image = "tenant-7s", "ha256:abc" },
		"nothing at all":             func(b *seal.Binding) { *b = seal.Binding{} },
		"what nobody can seal":       func(b *seal.Binding) { b.Format = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := binding()
			change(&b)
			got, err := r.Open(b, now(), message, mib, mib)
			require.ErrorIs(t, err, seal.ErrForeign)
			assert.Nil(t, got)

			_, err = r.Open(b, until(), message, mib, mib)
			require.ErrorIs(t, err, seal.ErrForeign, "a stranger does not learn that it expired")
			_, err = r.Open(b, now(), message, mib, 1)
			require.ErrorIs(t, err, seal.ErrForeign, "nor how long it is")
		})
	}
}

func TestABindingIsChecked(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	for _, tc := range []struct {
		name string
		b    seal.Binding
		ok   bool
	}{
		{"only a kind", seal.Binding{Kind: "session"}, true},
		{"no kind", seal.Binding{Audience: "a", Image: "b", Format: 1}, false},
		{"the longest kind", seal.Binding{Kind: strings.Repeat("k", 32)}, true},
		{"a kind too long", seal.Binding{Kind: strings.Repeat("k", 33)}, false},
		{"the longest names", seal.Binding{Kind: "k", Audience: strings.Repeat("a", 1024), Image: strings.Repeat("i", 1024)}, true},
		{"an audience too long", seal.Binding{Kind: "k", Audience: strings.Repeat("a", 1025)}, false},
		{"an image too long", seal.Binding{Kind: "k", Image: strings.Repeat("i", 1025)}, false},
		{"the highest format", seal.Binding{Kind: "k", Format: math.MaxInt32}, true},
		{"a format too high", seal.Binding{Kind: "k", Format: math.MaxInt32 + 1}, false},
		{"a negative format", seal.Binding{Kind: "k", Format: -1}, false},
		{"any bytes", seal.Binding{Kind: "\x00", Audience: "\xff\n", Image: "\x00"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			message, err := r.Seal(tc.b, until(), []byte("state"), mib)
			if !tc.ok {
				require.ErrorIs(t, err, seal.ErrBinding)
				assert.Nil(t, message)
				return
			}
			require.NoError(t, err)
			got, err := r.Open(tc.b, now(), message, mib, mib)
			require.NoError(t, err)
			assert.Equal(t, "state", string(got))
		})
	}
}

func TestAMessageExpires(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	for _, tc := range []struct {
		name    string
		expires time.Time
		now     time.Time
		open    bool
	}{
		{"long before", until(), now(), true},
		{"a millisecond before", until(), until().Add(-time.Millisecond), true},
		{"a nanosecond before", until(), until().Add(-1), true},
		{"at that time", until(), until(), false},
		{"a nanosecond after", until(), until().Add(1), false},
		{"long after", until(), until().AddDate(100, 0, 0), false},
		{"a part of a millisecond is cut off", until().Add(999_999), until(), false},
		{"in another zone", until().In(time.FixedZone("", 3600)), until().In(time.FixedZone("", -3600)).Add(-time.Millisecond), true},
		{"already over when it was sealed", time.Unix(0, 0), now(), false},
		{"the last year", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), now(), true},
		{"a clock before 1970", until(), time.Time{}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			message, err := r.Seal(binding(), tc.expires, []byte("state"), mib)
			require.NoError(t, err)
			got, err := r.Open(binding(), tc.now, message, mib, mib)
			if tc.open {
				require.NoError(t, err)
				assert.Equal(t, "state", string(got))
				return
			}
			require.ErrorIs(t, err, seal.ErrExpired)
			assert.Nil(t, got)
		})
	}
	for name, expires := range map[string]time.Time{
		"the zero time":     {},
		"before 1970":       time.Unix(-1, 0),
		"in the year 10000": time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC),
		"never":             time.Unix(math.MaxInt64, 0),
	} {
		_, err := r.Seal(binding(), expires, nil, mib)
		assert.ErrorIs(t, err, seal.ErrBinding, name)
	}
}

func TestSizesAreExact(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	state := noise(5_000)
	message := sealed(t, r, state)
	size := int64(len(message))

	_, err := r.Seal(binding(), until(), state, size)
	require.NoError(t, err)
	for _, limit := range []int64{size - 1, 1, 0, -1, math.MinInt64} {
		out, err := r.Seal(binding(), until(), state, limit)
		require.ErrorIs(t, err, seal.ErrTooLarge)
		assert.Nil(t, out)
		_, err = r.Open(binding(), now(), message, limit, mib)
		require.ErrorIs(t, err, seal.ErrTooLarge)
	}
	_, err = r.Open(binding(), now(), message, size, 5_000)
	require.NoError(t, err)
	for _, limit := range []int64{4_999, 0, -1, math.MinInt64} {
		out, err := r.Open(binding(), now(), message, size, limit)
		require.ErrorIs(t, err, seal.ErrTooLarge)
		assert.Nil(t, out)
	}
	_, err = r.Open(binding(), now(), noise(100), 99, mib)
	require.ErrorIs(t, err, seal.ErrTooLarge, "the length comes before anything else")

	empty := sealed(t, r, nil)
	got, err := r.Open(binding(), now(), empty, mib, 0)
	require.NoError(t, err)
	assert.Empty(t, got)
}

func TestKeysAreChanged(t *testing.T) {
	t.Parallel()
	before, during, after := ring(t, "old"), ring(t, "new", "older", "old"), ring(t, "new")
	message := sealed(t, before, []byte("state"))
	got, err := open(during, message)
	require.NoError(t, err, "an older key still opens")
	assert.Equal(t, "state", string(got))
	_, err = open(after, message)
	require.ErrorIs(t, err, seal.ErrUnreadable, "one that was taken out does not")

	message = sealed(t, during, []byte("state"))
	_, err = open(before, message)
	require.ErrorIs(t, err, seal.ErrUnreadable)
	_, err = open(after, message)
	require.NoError(t, err, "only the current one seals")

	other := key("new")
	other.Secret[31] ^= 1
	namesake, err := seal.NewRing(other)
	require.NoError(t, err)
	_, err = open(namesake, message)
	require.ErrorIs(t, err, seal.ErrUnreadable, "a name opens nothing")
	for _, err := range []error{seal.ErrForeign, seal.ErrExpired, seal.ErrTooLarge} {
		_, got := namesake.Open(seal.Binding{}, until(), message, mib, 0)
		require.NotErrorIs(t, got, err, "nor does it tell anything")
	}
}

func TestARandomRingOpensItsOwnOnly(t *testing.T) {
	t.Parallel()
	one, two := seal.RandomRing(), seal.RandomRing()
	message := sealed(t, one, []byte("state"))
	got, err := open(one, message)
	require.NoError(t, err)
	assert.Equal(t, "state", string(got))
	_, err = open(two, message)
	require.ErrorIs(t, err, seal.ErrUnreadable)
}

func TestARingThatNobodyMadeSealsAndOpensNothing(t *testing.T) {
	t.Parallel()
	message := sealed(t, ring(t, "k1"), nil)
	for _, r := range []*seal.Ring{nil, {}} {
		_, err := r.Seal(binding(), until(), nil, mib)
		require.Error(t, err)
		_, err = open(r, message)
		require.Error(t, err)
	}
}

func TestManyGoroutinesShareARing(t *testing.T) {
	t.Parallel()
	r := ring(t, "k1")
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 8 {
				state := slices.Concat(bytes.Repeat([]byte{byte(i)}, 100*j), noise(i*1000+j))
				message, err := r.Seal(binding(), until(), state, mib)
				if !assert.NoError(t, err) {
					return
				}
				got, err := open(r, message)
				assert.NoError(t, err)
				assert.True(t, bytes.Equal(state, got))
			}
		})
	}
	group.Wait()
}

func BenchmarkHeap(b *testing.B) {
	r := seal.RandomRing()
	state := heap()
	message := sealed(b, r, state)
	b.Run("seal", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(state)))
		for b.Loop() {
			_ = sealed(b, r, state)
		}
		b.ReportMetric(float64(len(message)), "sealed-bytes")
	})
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(state)))
		for b.Loop() {
			_, err := open(r, message)
			require.NoError(b, err)
		}
	})
}
