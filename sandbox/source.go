package sandbox

import (
	"strings"
	"unicode/utf8"
)

const bom = "\ufeff"

// normalise prepares model-written text for the engine and keeps the line
// numbers of what the user sent: what is removed leaves its line behind.
func normalise(script string) (string, *RequestError) {
	if !utf8.ValidString(script) {
		return "", &RequestError{Field: "script", Problem: "is not valid UTF-8"}
	}
	s, blank := stripFence(strings.TrimPrefix(script, bom))
	lead, s := s[:blank], strings.TrimPrefix(s[blank:], bom)
	if strings.HasPrefix(s, "#!") {
		// A comment of the same width: the engine may see the text inside a
		// wrapper, where a hashbang is no longer at the start.
		s = "//" + s[2:]
	}
	s = lead + s
	if strings.TrimSpace(s) == "" {
		return "", &RequestError{Field: "script", Problem: "is empty; a script needs at least one expression or statement"}
	}
	return s, nil
}

// stripFence removes one Markdown code fence that surrounds the whole text:
// an opening line of at least three backticks or tildes with an optional info
// string, and a closing line of the same character, at least as long
// (CommonMark 0.31, section 4.5). Anything else is left as it is. The first
// blank bytes of the answer are empty lines in place of what was removed, so
// that line 2 is still line 2.
func stripFence(s string) (stripped string, blank int) {
	body := strings.TrimLeft(s, " \t\r\n")
	lead := s[:len(s)-len(body)]
	if len(body) < 3 || body[0] != '`' && body[0] != '~' {
		return s, 0
	}
	mark := body[:1]
	width := len(body) - len(strings.TrimLeft(body, mark))
	info, rest, ok := strings.Cut(body[width:], "\n")
	if width < 3 || !ok || mark == "`" && strings.Contains(info, "`") {
		return s, 0
	}
	end := strings.TrimRight(rest, " \t\r\n")
	cut := strings.LastIndexByte(end, '\n') + 1
	closing := strings.Trim(end[cut:], " \t\r")
	if len(closing) < width || strings.Trim(closing, mark) != "" {
		return s, 0
	}
	blank = strings.Count(lead, "\n") + 1
	return strings.Repeat("\n", blank) + rest[:cut], blank
}
