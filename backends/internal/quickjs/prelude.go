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
		"urlhost", "urlparse", "urlparams", "url", "headers", "body", "fetch", "clone", "crypto", "main",
	}
}

// preludeSource is one function expression that takes the host object and
// returns what the driver calls.
func preludeSource() (string, error) {
	var b strings.Builder
	b.WriteString("(function (host) { \"use strict\";\n")
	for _, name := range preludeOrder() {
		text, err := preludeFiles.ReadFile("prelude/" + name + ".js")
		if err != nil {
			return "", err
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	b.WriteString("})")
	return b.String(), nil
}
