package quickjs

import (
	"regexp"
	"strings"
)

// The engine notes positions for calls, and for little else. Of an error that is
// thrown elsewhere it reports where the last call was, or where dead code begins,
// as if it were true. A wrong line misleads whoever repairs the script, so for
// the errors below the place is looked up in the source, and is unknown where
// that does not tell.

// refineWindow is the largest source that is searched, since no deadline covers
// the search.
const refineWindow = 64 << 10

// misplacedError is one of them.
type misplacedError struct {
	message, source string
	// after: it is thrown after the call whose place is reported, so that on that
	// line only what follows can be meant.
	after bool
	// assigned: it is about an assignment to the name.
	assigned bool
}

// misplaced are the engine's words for errors whose place it does not know, and
// what of the source they may be about; NAME stands for the name they hold.
func misplaced() []misplacedError {
	const name = `'?([\pL_$][\pL\pN_$]{0,199})'?`
	const used = `(?:^|[^.\w$])NAME(?:[^\w$]|$)`
	return []misplacedError{
		{`^cannot read property ` + name + ` of (?:undefined|null)$`,
			`\.\s*NAME(?:[^\w$]|$)|\[\s*['"\x60]NAME['"\x60]\s*\]|[{,]\s*NAME\s*(?:[:,=][^{}]*)?\}\s*=[^=]`, true, false},
		{`^` + name + ` is not defined$`, used, false, false},
		{`^` + name + ` is not initialized$`, used, false, false},
		{`^` + name + ` is read-only$`, `(?:^|[^.\w$])NAME\s*(?:=[^=>]|(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)=|\+\+|--)|(?:\+\+|--)\s*NAME(?:[^\w$]|$)`, false, true},
		{`^value is not iterable$`, `\bof\b|\.\.\.|\]\s*=[^=]|\b(?:Map|Set|Promise|from)\b`, false, false},
		{`^Cannot convert undefined or null to object$`, `\}\s*=[^=]|\bObject\s*\.|\.\.\.`, false, false},
		{`^parent class must be constructor$`, `\bextends\b`, false, false},
	}
}

// refined is the place of the error, as far as it is known.
func (t *thrown) refined(source string) place {
	p := t.place().in(source)
	if t.name != "TypeError" && t.name != "ReferenceError" {
		return p
	}
	if top, _, _ := strings.Cut(t.stack, "\n"); !strings.Contains(top, scriptName+":") {
		return p // thrown in a built-in or in other code, which the script called there
	}
	for _, m := range misplaced() {
		found := regexp.MustCompile(m.message).FindStringSubmatch(t.message)
		if found == nil {
			continue
		}
		if len(source) > refineWindow {
			return place{}
		}
		pattern, name := m.source, ""
		if len(found) > 1 {
			name = regexp.QuoteMeta(found[1])
			pattern = strings.ReplaceAll(pattern, "NAME", name)
		}
		code := withoutComments(source)
		if m.assigned { // which a declaration is not
			code = regexp.MustCompile(`\bconst\s+`+name).ReplaceAllStringFunc(code, func(s string) string { return strings.Repeat(" ", len(s)) })
		}
		return p.among(source, regexp.MustCompile(pattern).FindAllStringIndex(code, -1), m.after)
	}
	return p
}

// among keeps a place whose line is one of those found, takes the only line
// found, and is unknown otherwise.
func (p place) among(source string, found [][]int, after bool) place {
	only := 0
	for _, at := range found {
		// A match may begin on the line before, with what must not stand there.
		q := placeOf(source, at[1]-1)
		switch {
		case q.line == p.line && after && q.column < p.column:
		case q.line == p.line:
			return p
		case only == 0 || only == q.line:
			only = q.line
		default:
			only = -1
		}
	}
	if only <= 0 {
		return place{}
	}
	return place{line: only}
}

// withoutComments blanks out comments and what stands in plain quotes, byte for
// byte, but for an index written as a text. It does not know regular
// expressions: a quote in one hides the rest of its line, which makes a place
// unknown and not wrong.
func withoutComments(source string) string {
	out := []byte(source)
	for i := 0; i < len(source); {
		rest := source[i:]
		switch {
		case strings.HasPrefix(rest, "//"):
			length, _ := lineEnd(rest)
			blank(out[i : i+length])
			i += length
		case strings.HasPrefix(rest, "/*"):
			end := len(source)
			if n := strings.Index(rest[2:], "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(out[i:end])
			i = end
		case rest[0] == '"' || rest[0] == '\'':
			end := i + 1
			for end < len(source) && source[end] != rest[0] && source[end] != '\n' {
				if source[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end, len(source))
			if i == 0 || source[i-1] != '[' {
				blank(out[i+1 : end])
			}
			i = end + 1
		default:
			i++
		}
	}
	return string(out)
}

// blank keeps line ends, so that lines stay what they are.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' && c != '\r' {
			text[i] = ' '
		}
	}
}
