package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/loom-sandbox/sandboxd/cmd/sandboxd/internal/httpapi"
)

// The types below are flag values. Each refuses what it does not allow with one
// line; kong puts the flag's name in front.

// pop takes the flag's value. A word that looks like another flag is not one,
// except for text, where a script or a number may begin with '-'.
func pop(ctx *kong.DecodeContext, want string, hyphens bool) (string, error) {
	t := ctx.Scan.Peek()
	if t.IsEOL() || !hyphens && !t.IsValue() {
		return "", fmt.Errorf("missing value; allowed is %s", want)
	}
	ctx.Scan.Pop()
	return fmt.Sprint(t.Value), nil
}

// text is any string.
type text string

func (t *text) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, "any text", true)
	*t = text(s)
	return err
}

// word is a string that does not begin with '-'.
type word string

func (w *word) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, ctx.Value.Tag.PlaceHolder, false)
	if err == nil && s == "" {
		err = fmt.Errorf("is empty; allowed is %s", ctx.Value.Tag.PlaceHolder)
	}
	*w = word(s)
	return err
}

// names is a list of words: the flag given again, or with commas. There is no
// empty list: it would say "none", and no flag of ours means that.
type names []string

func (n *names) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, ctx.Value.Tag.PlaceHolder, false)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			return fmt.Errorf("is empty or has an empty entry; allowed is %s", ctx.Value.Tag.PlaceHolder)
		}
		*n = append(*n, part)
	}
	return nil
}

// seed is a text that is not empty: an empty one would say "not given".
type seed string

func (v *seed) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, ctx.Value.Tag.PlaceHolder, true)
	if err == nil && s == "" {
		err = fmt.Errorf("is empty; allowed is %s", ctx.Value.Tag.PlaceHolder)
	}
	*v = seed(s)
	return err
}

// size is a number of bytes.
type size int64

const sizeWant = "a whole number of bytes such as 65536, 64KiB, 64MiB, 1GiB or 64MB"

func (v *size) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, sizeWant, true)
	if err != nil {
		return err
	}
	*v, err = parseSize(s)
	return err
}

// units are matched in this order: "B" is a suffix of all the others.
var units = [...]struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

func parseSize(s string) (size, error) {
	number, factor := s, int64(1)
	for _, u := range units {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			number, factor = n, u.bytes
			break
		}
	}
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a size; allowed is %s", shorten(s), sizeWant)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is too large; allowed is %s", shorten(s), sizeWant)
	}
	return size(n * factor), nil
}

// String writes the size in the largest unit that gives a whole number.
func (v size) String() string {
	for _, u := range []int{2, 1, 0} {
		if b := size(units[u].bytes); v >= b && v%b == 0 {
			return fmt.Sprintf("%d%s", v/b, units[u].suffix)
		}
	}
	return fmt.Sprintf("%dB", int64(v))
}

// span is a duration that is not negative.
type span time.Duration

const spanWant = "a duration such as 500ms, 2s or 1m30s"

func (v *span) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, spanWant, true)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration; allowed is %s", shorten(s), spanWant)
	}
	if d < 0 {
		return fmt.Errorf("%q is negative; allowed is %s", shorten(s), spanWant)
	}
	*v = span(d)
	return nil
}

func (v span) String() string {
	s := time.Duration(v).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// count is a whole number that is not negative.
type count int64

const countWant = "a whole number, 0 or more"

func (v *count) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, countWant, true)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count; allowed is %s", shorten(s), countWant)
	}
	*v = count(n)
	return nil
}

// instant is a point in time.
type instant struct{ time.Time }

const instantWant = "a time as in RFC 3339 such as 2026-01-02T03:04:05Z, from 1970 to 2200"

func (v *instant) Decode(ctx *kong.DecodeContext) error {
	s, err := pop(ctx, instantWant, true)
	if err != nil {
		return err
	}
	var ok bool
	if v.Time, ok = httpapi.ParseTime(s); !ok {
		return fmt.Errorf("%q is not a time; allowed is %s", shorten(s), instantWant)
	}
	return nil
}

// longestName is how much is repeated of a name that somebody else chose.
const longestName = 64

// shorten keeps a mistyped value from filling the screen.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= longestName {
		return s
	}
	return string([]rune(s)[:longestName-1]) + "…"
}

// shortenPath is shorten for a file: its end says more than its beginning.
func shortenPath(s string) string {
	if utf8.RuneCountInString(s) <= longestName {
		return s
	}
	r := []rune(s)
	return "…" + string(r[len(r)-longestName+1:])
}

// shortenWords shortens every word of a message that repeats what it was given,
// and the message.
func shortenWords(s string) string {
	const most = 512
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = shorten(w)
	}
	s = strings.Join(words, " ")
	if r := []rune(s); len(r) > most {
		s = string(r[:most-1]) + "…"
	}
	return s
}
