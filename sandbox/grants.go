package sandbox

import (
	"maps"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// toolsPrefix is where scripts find their tools.
const toolsPrefix = "tools."

// functionOf is the function that a script calls for a tool.
func functionOf(tool string) string {
	if tool == spi.FunctionFetch {
		return tool
	}
	return toolsPrefix + tool
}

// grant hands tools to a script.
func (s *Sandbox) grant(j *job, set *tools.Set, emit bool) error {
	j.tools, j.emit = set, emit
	var names []string
	if !set.Empty() {
		names = set.Names()
	}
	switch {
	case len(names) > 0 && !s.descriptor.HostCalls:
		return &RequestError{"tools", "cannot be handed to a script: backend " + s.descriptor.Name + " has no host calls; allowed is none"}
	case emit && !s.descriptor.HostCalls:
		return &RequestError{"emit", "cannot be handed to a script: backend " + s.descriptor.Name + " has no host calls; allowed is false"}
	}
	if len(names) == 0 {
		return nil
	}
	j.granted = make(map[string]string, len(names))
	for _, name := range names {
		if err := spi.CheckFunctionName(functionOf(name)); err != nil {
			return &RequestError{"tools", "has a tool that no script can name: " + strings.TrimPrefix(err.Error(), "spi: ")}
		}
		j.granted[functionOf(name)] = name
	}
	return nil
}

// functions are what the backend hands to the script, always in the same order.
func (j *job) functions() []string {
	if !j.handed() {
		return nil
	}
	all := slices.Sorted(maps.Keys(j.granted))
	if j.emit {
		all = append(all, spi.FunctionEmit)
	}
	return all
}

// quoted is a name that a script chose, for a message to the same script.
func quoted(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "…"
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

// cut keeps a message within what a backend takes.
func cut(message string) string {
	message = strings.ToValidUTF8(message, "\ufffd")
	const ellipsis = "…"
	if len(message) <= spi.MaxErrorMessageBytes {
		return message
	}
	return strings.ToValidUTF8(message[:spi.MaxErrorMessageBytes-len(ellipsis)], "") + ellipsis
}

// failureOf is a failure that the sandbox itself tells of.
func failureOf(code, message string) *tools.Failure {
	return &tools.Failure{Name: tools.NameTool, Code: code, Message: message}
}
