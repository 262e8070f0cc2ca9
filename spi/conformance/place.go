package conformance

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// withinSource demands that an error's place is in the source: a column may be
// one behind the line's last character.
func withinSource(e *spi.ScriptError, source string) error {
	if e.Line == 0 {
		return nil
	}
	lines := sourceLines(source)
	if e.Line > len(lines) {
		return fmt.Errorf("error is at line %d of %d", e.Line, len(lines))
	}
	if n := utf8.RuneCountInString(lines[e.Line-1]); e.Column > n+1 {
		return fmt.Errorf("error is at column %d of line %d, which has %d characters", e.Column, e.Line, n)
	}
	return nil
}

// sourceLines splits at the line ends of JavaScript.
func sourceLines(source string) []string {
	ends := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")
	return strings.Split(ends.Replace(source), "\n")
}
