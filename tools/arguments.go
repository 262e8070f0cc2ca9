package tools

import (
	"encoding/json"
	"errors"
	"fmt"
)

// argument reads the one object out of the array of a script's arguments: none
// is an empty object. The failure is nil where the object is what g takes.
func (g *granted) argument(args json.RawMessage) (json.RawMessage, *Failure, error) {
	if len(args) > MaxArgumentBytes {
		return nil, g.typeError(CodeLimit, fmt.Sprintf("the arguments must have at most %d bytes as JSON", MaxArgumentBytes)), nil
	}
	if len(args) == 0 {
		args = json.RawMessage("[]")
	}
	decoded, err := decode(args)
	list, ok := decoded.([]any)
	if err != nil || !ok {
		text := "the arguments cannot be read"
		if errors.Is(err, errDeep) || errors.Is(err, errNumber) {
			text += ": " + err.Error()
		}
		return nil, g.typeError(CodeBadArguments, text), err
	}
	var (
		object any = map[string]any{}
		raw        = json.RawMessage("{}")
	)
	if len(list) == 1 {
		var parts []json.RawMessage
		if err := json.Unmarshal(args, &parts); err != nil || len(parts) != 1 {
			return nil, g.typeError(CodeBadArguments, "the arguments cannot be read"), err
		}
		object, raw = list[0], parts[0]
	}
	if _, ok := object.(map[string]any); !ok || len(list) > 1 {
		return nil, g.typeError(CodeBadArguments, "takes one argument, an object"), nil
	}
	if p := g.input.check(object); p != nil {
		return nil, g.typeError(CodeBadArguments, p.String("the argument")), nil
	}
	return raw, nil, nil
}

// typeError is what a script gets that calls a tool in a wrong way.
func (g *granted) typeError(code, text string) *Failure {
	prefix := "tools."
	if g.kind == kindFetch {
		prefix = ""
	}
	return &Failure{Name: NameType, Message: cut(oneLine(prefix+g.Name+": "+text), MaxMessageBytes), Code: code}
}
