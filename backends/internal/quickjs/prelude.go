package quickjs

import (
	"embed"
	"strings"
)

//go:embed prelude/*.js
var preludeFiles embed.FS

// preludeOrder is the order in which the files share one scope.
func preludeOrder() []string {
	return []string{
		"primordials", "globals", "inspect", "inspectparts", "console", "timers", "encoding",
		"urlhost", "urlparse", "urlparams", "url", "headers", "body", "fetch", "clone", "crypto", "calls", "main",
	}
}

// preludeSource is one function expression that takes the host object and
// returns what the driver calls. Comments and margins are left out, since the
// engine keeps the text of each function in the image; lines stay where they are.
func preludeSource() (string, error) {
	var b strings.Builder
	b.WriteString("(function (host) { \"use strict\";\n")
	for _, name := range preludeOrder() {
		text, err := preludeFiles.ReadFile("prelude/" + name + ".js")
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "//") {
				b.WriteString(line)
			}
			b.WriteByte('\n')
		}
	}
	b.WriteString("})")
	return b.String(), nil
}
