package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxCheckTime is how long checking the arguments of a call may take. A call whose
// arguments take longer fails.
const MaxCheckTime = 5 * time.Second

// checkArguments is argument, but no longer than [MaxCheckTime], and until ctx
// ends. The answer has arguments or a failure.
func (g *granted) checkArguments(ctx context.Context, args json.RawMessage) Answer {
	answer, abandoned, err := guarded(ctx, MaxCheckTime, func(context.Context) Answer {
		object, failure, cause := g.argument(args)
		return Answer{Args: object, Failure: failure, Cause: cause}
	})
	switch {
	case errors.Is(err, errTimeOver):
		answer.Failure = g.typeError(CodeLimit, fmt.Sprintf("the arguments took longer than %d ms to check", MaxCheckTime.Milliseconds()))
	case err != nil:
		answer.Failure = g.failed()
	default:
		return answer
	}
	answer.Cause, answer.Abandoned = err, abandoned
	return answer
}

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
