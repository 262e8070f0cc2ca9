package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// Bounds of the tools that a request declares.
const (
	maxTools = 64
	// maxToolName is what is left of a function's name behind "tools.".
	maxToolName = 122
)

// tools reads the tools that a script is handed. The client runs all of them, so
// that each call suspends the script.
func (d *decoder) tools(raw json.RawMessage, faults *faultList) *tools.Set {
	const field = "tools"
	if int64(len(raw)) > d.toolBytes {
		faults.add(field, fmt.Sprintf("must be at most %d bytes", d.toolBytes))
		return nil
	}
	all, ok := elements(raw, maxTools)
	if !ok {
		faults.add(field, fmt.Sprintf("must be an array of at most %d tools", maxTools))
		return nil
	}
	var set *tools.Set
	names := map[string]bool{}
	for i, raw := range all {
		at := fmt.Sprintf("%s[%d]", field, i)
		one := toolOf(raw, at, faults)
		if one == nil {
			continue
		}
		name := one.Names()[0]
		if names[name] {
			faults.add(at+".name", "is that of a tool before it")
			continue
		}
		names[name] = true
		joined, err := set.With(one)
		if err != nil { // "crm" and "crm.lookup"
			faults.add(at+".name", "and the name of another tool cannot both be: one is the beginning of the other")
			continue
		}
		set = joined
	}
	return set
}

// toolOf reads one tool; nil where something is wrong with it.
func toolOf(raw json.RawMessage, at string, faults *faultList) *tools.Set {
	members, ok := object(raw)
	if !ok {
		faults.add(at, "must be an object")
		return nil
	}
	before := len(*faults)
	var name, description string
	for _, needed := range []string{"inputSchema", "name"} {
		if _, ok := members[needed]; !ok {
			faults.add(at+"."+needed, "is missing")
		}
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		raw, field := members[member], at+"."+member
		switch member {
		case "description":
			if text(raw, &description, field, faults) && len(description) > tools.MaxDescriptionBytes {
				faults.add(field, fmt.Sprintf("must be at most %d bytes of UTF-8", tools.MaxDescriptionBytes))
			}
		case "inputSchema":
			if _, err := tools.NewSet(tools.Remote("any", "", raw)); err != nil { // its words can hold values
				faults.add(field, fmt.Sprintf("cannot be used; it must be a JSON Schema of an object, of at most %d bytes, that refers to nothing but itself and takes few steps to check", tools.MaxRemoteSchemaBytes))
			}
		case "outputSchema":
			probe := tools.Remote("any", "", nil)
			probe.Output = raw
			if _, err := tools.NewSet(probe); err != nil {
				faults.add(field, fmt.Sprintf("cannot be used; it must be a JSON Schema of at most %d bytes, that refers to nothing but itself and takes few steps to check", tools.MaxRemoteSchemaBytes))
			}
		case "name":
			if text(raw, &name, field, faults) && (tools.CheckName(name) != nil || spi.CheckFunctionName("tools."+name) != nil) {
				faults.add(field, fmt.Sprintf("is not that of a tool; it must be identifiers of ASCII letters, digits, _ and $, joined by dots, at most %d bytes, "+
					"none of them then, toJSON, constructor, prototype or __proto__, the first not fetch or emit", maxToolName))
			}
		default:
			faults.unknown(at+".", member, "description, inputSchema, name and outputSchema")
		}
	}
	if len(*faults) > before || before == maxFaults {
		return nil
	}
	t := tools.Remote(name, description, members["inputSchema"])
	t.Output = members["outputSchema"]
	set, err := tools.NewSet(t)
	if err != nil {
		faults.add(at, "cannot be granted")
		return nil
	}
	return set
}
