package taint_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
)

// letters is n origins, "a" and up, joined.
func letters(n int) string {
	var parts []string
	for i := range n {
		parts = append(parts, string(rune('a'+i)))
	}
	return strings.Join(parts, ", ")
}

func TestJoin(t *testing.T) {
	t.Parallel()
	const invalid = taint.OriginInvalid
	long := strings.Repeat("é", taint.MaxOriginLength)
	for _, tc := range []struct {
		name string
		in   []string
		want string
	}{
		{"one", []string{"web"}, "web"},
		{"two are sorted", []string{"web", "tool:a"}, "tool:a, web"},
		{"the sandbox comes first", []string{"a", "sandbox", "Z"}, "sandbox, Z, a"},
		{"each counts once", []string{"b", "a", "b", "a"}, "a, b"},
		{"joined ones", []string{"b, c", "a, c", "sandbox, d"}, "sandbox, a, b, c, d"},
		{"a joined one that is not sorted", []string{"c, a, sandbox, a"}, "sandbox, a, c"},
		{"none", nil, invalid},
		{"an empty one", []string{""}, invalid},
		{"a bad one does not take the others along", []string{"web", "a\nb"}, invalid + ", web"},
		{"a bad part spoils its text", []string{"web", "a, <b>"}, invalid + ", web"},
		{"several bad ones are one", []string{"", "<", "a, , b"}, invalid},
		{"eight", []string{"h", letters(7)}, letters(8)},
		{"nine", []string{"i", letters(8)}, letters(8) + ", +1 more"},
		{"the sandbox is one of the eight", []string{letters(8), "sandbox"}, "sandbox, " + letters(7) + ", +1 more"},
		{"ten, one by one", strings.Split(letters(10), ", "), letters(8) + ", +2 more"},
		{"counts add up", []string{"a, +3 more", "b, +4 more"}, "a, b, +7 more"},
		{"a count and what is left out", []string{letters(8) + ", +3 more", "z"}, letters(8) + ", +4 more"},
		{"equal texts count once", []string{"a, +3 more", "a, +3 more", "a, +3 more"}, "a, +3 more"},
		{"a count with what it goes with", []string{letters(8) + ", +3 more", "a", "c, d"}, letters(8) + ", +3 more"},
		{"what is left out in two joins counts twice", []string{letters(8) + ", +1 more", letters(7) + ", x, +1 more"}, letters(8) + ", +3 more"},
		{"what comes again counts again", []string{letters(8) + ", +1 more", "i"}, letters(8) + ", +2 more"},
		{"the highest count", []string{"a, +999999998 more", "b, +1 more"}, "a, b, +999999999 more"},
		{"a count ends there", []string{"a, +999999999 more", "b, +999999999 more"}, "a, b, +999999999 more"},
		{"also by what is left out", []string{letters(8) + ", +999999999 more", "z"}, letters(8) + ", +999999999 more"},
		{"the longest names", []string{"1" + long[2:], "2" + long[2:]}, "1" + long[2:] + ", 2" + long[2:]},
		{"commas and spaces in names", []string{"a,", " b", "c,d", ","}, " b, ,, a,, c,d"},
		{"like a count", []string{"+1 mores", "a+1 more", "+1  more", "+x more"}, "+1  more, +1 mores, +x more, a+1 more"},
		{"a count is no name", []string{"+3 more"}, invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := slices.Clone(tc.in)
			got := taint.Join(tc.in...)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, before, tc.in)
			require.NoError(t, taint.CheckOrigin(got))
			assert.Equal(t, got, taint.Join(got))
			assert.Equal(t, got, taint.Join(got, got))
			slices.Reverse(before)
			assert.Equal(t, got, taint.Join(before...), "their order does not matter")
		})
	}
}

func TestJoinIsAssociativeWhereNothingIsLeftOutTwice(t *testing.T) {
	t.Parallel()
	var groups [][]string
	for g := range 4 {
		var group []string
		for i := range 5 {
			group = append(group, fmt.Sprintf("origin %d.%d", (i*7+g*3)%11, g))
		}
		groups = append(groups, group)
	}
	want := taint.Join(slices.Concat(groups...)...)
	assert.True(t, strings.HasSuffix(want, ", +12 more"), want)
	left, right := taint.OriginSandbox, taint.OriginSandbox
	for i := range groups {
		left = taint.Join(left, taint.Join(groups[i]...))
		right = taint.Join(taint.Join(groups[len(groups)-1-i]...), right)
	}
	want = taint.Join(slices.Concat([]string{"sandbox"}, slices.Concat(groups...))...)
	assert.Equal(t, want, left)
	assert.Equal(t, want, right)
}

func TestJoinedOriginsAreOriginsEverywhere(t *testing.T) {
	t.Parallel()
	wide := strings.Repeat("😀", taint.MaxOriginLength)
	eightWide := strings.Repeat(wide+", ", 7) + wide
	for _, tc := range []struct {
		name, origin string
		parts        []string // nil: not allowed
		more         int
	}{
		{"single", "web", []string{"web"}, 0},
		{"a comma alone separates nothing", "a,b", []string{"a,b"}, 0},
		{"two", "a, b", []string{"a", "b"}, 0},
		{"in any order, also twice", "b, a, sandbox, b", []string{"b", "a", "sandbox", "b"}, 0},
		{"a name with a space", "a,  b", []string{"a", " b"}, 0},
		{"a name with a comma", "a,, b", []string{"a,", "b"}, 0},
		{"a count", "a, +1 more", []string{"a"}, 1},
		{"the highest count", "a, b, +999999999 more", []string{"a", "b"}, 999_999_999},
		{"eight of the longest", eightWide, slices.Repeat([]string{wide}, 8), 0},
		{"the longest there is", eightWide + ", +999999999 more", slices.Repeat([]string{wide}, 8), 999_999_999},
		{"nine", letters(9), nil, 0},
		{"nine and a count", letters(9) + ", +1 more", nil, 0},
		{"a part too long", "a, " + wide + "b", nil, 0},
		{"one too long", wide + "b", nil, 0},
		{"an empty part", "a, , b", nil, 0},
		{"nothing in front", ", a", nil, 0},
		{"nothing behind", "a, ", nil, 0},
		{"only the separator", ", ", nil, 0},
		{"a bad part", "a, b<", nil, 0},
		{"a line break in a part", "a, b\n", nil, 0},
		{"invalid UTF-8 in a part", "a, \xff", nil, 0},
		{"only a count", "+1 more", nil, 0},
		{"a count in front", "+1 more, a", nil, 0},
		{"a count in between", "a, +1 more, b", nil, 0},
		{"two counts", "a, +1 more, +1 more", nil, 0},
		{"a count of nothing", "a, +0 more", nil, 0},
		{"a count with a zero in front", "a, +01 more", nil, 0},
		{"a count without a number", "a, + more", nil, 0},
		{"a count too high", "a, +1000000000 more", nil, 0},
		{"endless", strings.Repeat("a, ", 1<<20), nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			parts, more := taint.Origins(tc.origin)
			raw, err := json.Marshal(map[string]any{"__loomTainted": map[string]string{"origin": tc.origin}, "value": 1})
			require.NoError(t, err)
			if tc.parts == nil {
				require.ErrorIs(t, taint.CheckOrigin(tc.origin), taint.ErrOrigin)
				assert.Equal(t, []string{taint.OriginInvalid}, parts)
				assert.Zero(t, more)
				assert.Equal(t, taint.OriginInvalid, taint.Wrap(tc.origin, nil).Origin)
				if utf8.ValidString(tc.origin) { // or json.Marshal has mended it
					assert.False(t, taint.Is(raw))
					assert.Equal(t, []string{taint.OriginMalformedWrapper}, taint.Scan(raw).Origins)
				}
				return
			}
			require.NoError(t, taint.CheckOrigin(tc.origin))
			assert.LessOrEqual(t, utf8.RuneCountInString(tc.origin), taint.MaxJoinedLength)
			assert.Equal(t, tc.parts, parts)
			assert.Equal(t, tc.more, more)

			assert.Equal(t, tc.origin, taint.Wrap(tc.origin, nil).Origin)
			var w taint.Tainted
			require.NoError(t, taint.DecodeStrict(raw, &w))
			assert.Equal(t, tc.origin, w.Origin)
			assert.Equal(t, []string{tc.origin}, taint.Scan(raw).Origins, "one label is one origin")

			// However it is escaped.
			var escaped strings.Builder
			for _, r := range tc.origin {
				if hi, lo := (r-0x10000)>>10+0xd800, (r-0x10000)&0x3ff+0xdc00; r > 0xffff {
					fmt.Fprintf(&escaped, `\u%04x\u%04x`, hi, lo)
				} else {
					fmt.Fprintf(&escaped, `\u%04x`, r)
				}
			}
			origin, ok := taint.Origin([]byte(wrapped(escaped.String(), "1")))
			assert.True(t, ok)
			assert.Equal(t, tc.origin, origin)
		})
	}
}

func FuzzJoin(f *testing.F) {
	f.Add("sandbox", "a, b", "c, +3 more")
	f.Add(letters(8), "i", "+3 more")
	f.Add("a, ", ", a", "a,, a")
	f.Add("", "\xff", "a, +999999999 more")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		joined := taint.Join(a, b, c)
		require.NoError(t, taint.CheckOrigin(joined))
		require.Equal(t, joined, taint.Join(joined), "done once is done")
		require.Equal(t, joined, taint.Join(joined, joined))
		require.Equal(t, joined, taint.Join(c, b, a))

		parts, more := taint.Origins(joined)
		for _, part := range parts {
			single, none := taint.Origins(part)
			require.Equal(t, []string{part}, single)
			require.Zero(t, none)
			require.Equal(t, joined, taint.Join(joined, part))
		}
		// Nothing gets lost but by number.
		names := map[string]bool{}
		atMost := 0
		for _, in := range []string{a, b, c} {
			of, n := taint.Origins(in)
			atMost += n
			for _, part := range of {
				names[part] = true
				require.True(t, slices.Contains(parts, part) || len(parts) == taint.MaxJoinedOrigins && more > 0)
			}
		}
		require.Equal(t, min(len(names), taint.MaxJoinedOrigins), len(parts))
		require.LessOrEqual(t, more, atMost+len(names)-len(parts))

		// In steps the names are the same, and the number is no lower.
		step := taint.Join(a, b)
		stepParts, stepMore := taint.Origins(taint.Join(step, c))
		require.Equal(t, parts, stepParts)
		if step != c { // or they are taken for the same
			require.GreaterOrEqual(t, stepMore, min(more, 999_999_999-len(names)))
		}
	})
}
