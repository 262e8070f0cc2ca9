package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxMessageBytes bounds a message or reason that a script sees. A longer one is
// cut at a character and ends with "…".
const MaxMessageBytes = 512

// oneLine makes one line of a text that a script or an operator will see, of at
// most [MaxMessageBytes].
func oneLine(text string) string { return cut(visible(text), MaxMessageBytes) }

// visible makes one line: runs of white space and of what cannot be seen become
// one space, and what is not UTF-8 the sign for that.
func visible(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(head(text), "\ufffd"), invisible), " ")
}

// head keeps a huge text from being looked at to its end.
func head(text string) string {
	const most = 64 << 10
	if len(text) > most {
		return text[:most]
	}
	return text
}

func invisible(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// cut shortens valid UTF-8 to at most n bytes, at a character.
func cut(text string, n int) string {
	const dots = "…"
	if len(text) <= n {
		return text
	}
	end := n - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}
