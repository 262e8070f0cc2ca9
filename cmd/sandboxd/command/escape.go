package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// risky reports whether a terminal may act on the character or hide it: C0 and
// C1 controls, DEL, separators of lines, the marks that reorder text, and all
// that has no width or no ink. Newline and tab are left alone.
func risky(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x2028, r == 0x2029:
		return true
	case r < 0xad:
		return false
	case r == 0x2800, r == 0x3164, r == 0xffa0, r == 0x115f, r == 0x1160: // blanks that are no spaces
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// harmless writes risky characters and invalid bytes as visible escapes, in the
// spelling of JSON where one exists, so that JSON stays JSON.
func harmless(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return risky(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !risky(r):
			b.WriteString(s[i : i+n])
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// oneLine is harmless for a message of ours: no line breaks either.
func oneLine(s string) string {
	return harmless(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\t' }), " "))
}

// terminal reports whether a person may be looking at w.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
