package tools

import (
	"fmt"
	"strings"
)

// MaxNameBytes bounds [Tool.Name].
const MaxNameBytes = 128

// Names that mean something else to a script.
const (
	fetchName = "fetch"
	emitName  = "emit"
)

// CheckName returns an error unless name can be that of a tool: identifiers of
// ASCII letters, digits, _ and $, joined by dots, at most [MaxNameBytes], of which
// none is `then`, `toJSON`, `constructor`, `prototype` or `__proto__`, and the
// first is not `fetch` or `emit`.
func CheckName(name string) error {
	ok := len(name) <= MaxNameBytes
	first := true
	for part := range strings.SplitSeq(name, ".") {
		switch part {
		case "", "then", "toJSON", "constructor", "prototype", "__proto__":
			ok = false
		case fetchName, emitName:
			ok = ok && !first
		}
		first = false
		for i, c := range []byte(part) {
			letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$'
			ok = ok && (letter || i > 0 && c >= '0' && c <= '9')
		}
	}
	if !ok {
		return &GrantError{Tool: name, Problem: fmt.Sprintf("is not the name of a tool; allowed are identifiers of ASCII letters, digits, _ and $, "+
			"joined by dots, at most %d bytes, none of them then, toJSON, constructor, prototype or __proto__, the first not fetch or emit", MaxNameBytes)}
	}
	return nil
}
