package quickjs

import "regexp"

// Signs that a line is not JavaScript but something that models often write.
// They only choose a hint for a text that did not parse.
const (
	moduleSign = `^\s*(import\s+[\w{*'"]|export\s+(default|const|let|var|function|class|async|\{|\*))`
	typeSign   = `^\s*(export\s+)?(declare|abstract|namespace|interface|enum|type)\s+[A-Za-z_$]` + // declarations
		`|[\w$)\]}?]\s*\??\s*:\s*(string|number|boolean|any|unknown|void|never|object|bigint|symbol|null|undefined|[A-Z][\w$]*)\b` + // annotations
		`|\)\s*:\s*[\w{[]` + // result types
		`|\s(as|satisfies)\s+(const\b|[A-Za-z_$])` + // assertions
		`|\b(private|public|protected|readonly)\s+[\w$]` + // class members
		`|(\bfunction\s*[\w$]*|=|\()\s*<[A-Z][\w$]*(\s+extends\s+[\w$]+)?>\s*\(` + // generics
		`|[\w)\]]!\s*[.;\[)]` // non-null assertions
)

// maxHintLine is how much of a line is looked at.
const maxHintLine = 2000

// hint is what to say after a syntax error in a line of the script, or nothing.
func hint(source string, line int) string {
	if line < 1 {
		return ""
	}
	text := lineOf(source, line)
	if len(text) > maxHintLine {
		text = text[:maxHintLine]
	}
	switch {
	case regexp.MustCompile(moduleSign).MatchString(text):
		return " (hint: a script has no modules; remove import and export, what it may use is global)"
	case regexp.MustCompile(typeSign).MatchString(text):
		return " (hint: if this is TypeScript, remove its type syntax: scripts are JavaScript)"
	}
	return ""
}
