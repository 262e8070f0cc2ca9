package quickjs

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// place is a position in the script; the zero value is "unknown".
type place struct{ line, column int }

// place reads where the script failed from the first frame of the stack that
// is the script's and not a constructor's of the error itself. The text is the
// guest's: numbers only, and within reason.
func (t *thrown) place() place {
	const most = 1 << 26
	if t.line > 0 {
		return place{line: t.line}
	}
	first := true // of the frames: only there can the error's constructors be
	for frame := range strings.Lines(t.stack) {
		if first && t.constructs(frame) {
			continue
		}
		first = false
		_, after, ok := strings.Cut(frame, scriptName+":")
		if !ok {
			continue
		}
		line, n := number(after)
		if n == 0 || n >= len(after) || after[n] != ':' {
			continue
		}
		column, k := number(after[n+1:])
		if k == 0 || line < 1 || line > most || column < 1 || column > most {
			continue
		}
		return place{line, column}
	}
	return place{}
}

// constructs reports whether a frame is of a class that the error is of.
func (t *thrown) constructs(frame string) bool {
	frame = strings.TrimLeft(frame, " ")
	for _, class := range t.classes {
		if class != "" && strings.HasPrefix(frame, "at "+class+" (") {
			return true
		}
	}
	return false
}

// number reads decimal digits, at most nine of them.
func number(s string) (v, length int) {
	for length < len(s) && length < 9 && s[length] >= '0' && s[length] <= '9' {
		v = v*10 + int(s[length]-'0')
		length++
	}
	return v, length
}

// unreadable is how the engine complains when something is read of undefined or
// null.
const unreadable = `^cannot read property '([^']{1,200})' of (undefined|null)$`

// refineWindow bounds the search for a property, which no deadline covers. It is
// more than any function that a person would read.
const refineWindow = 64 << 10

// refined is the place of a failed property access. The engine notes positions
// for calls and not for reads, so the place that it gives is that of what ran
// before. The first read of the property from there on is the likely one; where
// there is none, the place is unknown, since a wrong one misleads.
func (t *thrown) refined(source string) place {
	p := t.place()
	if t.name != "TypeError" {
		return p
	}
	found := regexp.MustCompile(unreadable).FindStringSubmatch(t.message)
	if found == nil {
		return p
	}
	name := regexp.QuoteMeta(found[1])
	read := regexp.MustCompile(`(?:\.\s*` + name + `|\[\s*['"` + "`" + `]?` + name + `['"` + "`" + `]?\s*\])(?:[^\w$]|$)|[{,]\s*` + name + `\s*[:,=}]`)
	start := offsetOf(source, p)
	at := read.FindStringIndex(source[start:min(start+refineWindow, len(source))])
	if at == nil {
		return place{}
	}
	if q := placeOf(source, start+at[0]); q.line != p.line {
		return q
	}
	return p
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

// offsetOf is where a place is in the text; columns count characters. Of a place
// that is not in the text it is the start of its line, or of the text.
func offsetOf(source string, p place) int {
	at := 0
	for line := p.line; line > 1; line-- {
		end, next := lineEnd(source[at:])
		if end == len(source)-at {
			return 0
		}
		at += next
	}
	column := 1
	end, _ := lineEnd(source[at:])
	for i := range source[at : at+end] {
		if column >= p.column {
			return at + i
		}
		column++
	}
	return at
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
