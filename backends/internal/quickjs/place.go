package quickjs

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// place is a position in the script; the zero value is "unknown".
type place struct{ line, column int }

// place reads where the script failed from the first frame of the stack that
// is the script's and not a constructor's of the error itself. The text is the
// guest's: numbers only, and within reason.
func (t *thrown) place() place {
	if t.line > 0 {
		return place{line: t.line}
	}
	constructors := slices.Clone(t.classes) // whose frames may come first, once each
	for frame := range strings.Lines(t.stack) {
		if i := slices.IndexFunc(constructors, func(class string) bool {
			return class != "" && strings.HasPrefix(strings.TrimLeft(frame, " "), "at "+class+" (")
		}); i >= 0 {
			constructors = slices.Delete(constructors, i, i+1)
			continue
		}
		constructors = nil
		_, after, ok := strings.Cut(frame, scriptName+":")
		if !ok {
			continue
		}
		if p := placeFrom(after); p != (place{}) {
			return p
		}
	}
	return place{}
}

// placeFrom reads a line and a column with a colon between them.
func placeFrom(text string) place {
	const most = 1 << 26
	line, n := number(text)
	if n == 0 || n >= len(text) || text[n] != ':' {
		return place{}
	}
	column, k := number(text[n+1:])
	if k == 0 || line < 1 || line > most || column < 1 || column > most {
		return place{}
	}
	return place{line, column}
}

// in turns a place as the engine counts it into one of the source: the engine
// counts bytes of UTF-8. What the source does not have is unknown.
func (p place) in(source string) place {
	if p.line < 1 || p.line > lineCount(source) {
		return place{}
	}
	line := lineOf(source, p.line)
	if p.column < 1 || p.column > len(line)+1 {
		return place{line: p.line}
	}
	return place{p.line, utf8.RuneCountInString(line[:p.column-1]) + 1}
}

// number reads decimal digits, at most nine of them.
func number(s string) (v, length int) {
	for length < len(s) && length < 9 && s[length] >= '0' && s[length] <= '9' {
		v = v*10 + int(s[length]-'0')
		length++
	}
	return v, length
}

// lineEnd finds the first line end of JavaScript (ECMA-262, section 12.3):
// where it starts, and where the next line does. Both are len(s) if there is none.
func lineEnd(s string) (end, next int) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n', c == '\r' && !strings.HasPrefix(s[i+1:], "\n"):
			return i, i + 1
		case c == '\r':
			return i, i + 2
		case c == 0xe2 && (strings.HasPrefix(s[i:], "\u2028") || strings.HasPrefix(s[i:], "\u2029")):
			return i, i + 3
		}
	}
	return len(s), len(s)
}

func lineCount(source string) int {
	n := 1
	for {
		end, next := lineEnd(source)
		if end == len(source) {
			return n
		}
		n++
		source = source[next:]
	}
}

// lineOf is the text of a line, counted from 1, or nothing.
func lineOf(source string, line int) string {
	for ; line > 1; line-- {
		end, next := lineEnd(source)
		if end == len(source) {
			return ""
		}
		source = source[next:]
	}
	end, _ := lineEnd(source)
	return source[:end]
}

// placeOf is the place of an offset into the text.
func placeOf(source string, offset int) place {
	p := place{line: 1}
	for {
		end, next := lineEnd(source)
		if offset <= end || end == len(source) {
			p.column = utf8.RuneCountInString(source[:min(offset, end)]) + 1
			return p
		}
		p.line++
		source, offset = source[next:], offset-next
	}
}
