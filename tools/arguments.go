package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxCheckTime is how long checking the arguments of a call may take, or the value
// of [Set.AnswerWith]. What takes longer fails. A [Remote] tool needs less than a
// second of a processor.
const MaxCheckTime = 5 * time.Second

// checkArguments reads the arguments and checks them, for no longer than
// [MaxCheckTime], and until ctx ends. The answer has arguments or a failure.
func (g *granted) checkArguments(ctx context.Context, args json.RawMessage) Answer {
	object, l, answer := g.argument(args)
	if answer.Failure != nil {
		return answer
	}
	var (
		found     *problem
		abandoned bool
		err       error
		work      = g.input.work(l)
	)
	switch {
	case work <= smallWork:
		found = g.input.check(object, l)
	case g.input.stranger && work > strangersWork:
		return Answer{Failure: g.typeError(CodeLimit, "the arguments are too much to check against its schema")}
	default:
		found, abandoned, err = guarded(ctx, MaxCheckTime, func(context.Context) *problem { return g.input.check(object, l) })
	}
	switch {
	case errors.Is(err, errTimeOver):
		text := fmt.Sprintf("the arguments took longer than %d ms to check", MaxCheckTime.Milliseconds())
		return Answer{Failure: g.typeError(CodeLimit, text), Cause: err, Abandoned: abandoned}
	case err != nil:
		return Answer{Failure: g.failed(), Cause: err, Abandoned: abandoned}
	case found != nil:
		return Answer{Failure: g.typeError(CodeBadArguments, found.String("the argument"))}
	}
	return answer
}

// argument reads the one object out of the array of a script's arguments: none
// is an empty object. The answer has the object as it is written, or a failure.
func (g *granted) argument(args json.RawMessage) (any, load, Answer) {
	no := func(code, text string, cause error) (any, load, Answer) {
		return nil, load{}, Answer{Failure: g.typeError(code, text), Cause: cause}
	}
	if len(args) > MaxArgumentBytes {
		return no(CodeLimit, fmt.Sprintf("the arguments must have at most %d bytes as JSON", MaxArgumentBytes), nil)
	}
	if len(args) == 0 {
		args = json.RawMessage("[]")
	}
	n, object, raw, l, err := decodeList(args)
	if err != nil {
		text := "the arguments cannot be read"
		if errors.Is(err, errDeep) || errors.Is(err, errNumber) {
			text += ": " + err.Error()
		}
		return no(CodeBadArguments, text, err)
	}
	if n == 0 {
		object, raw = map[string]any{}, json.RawMessage("{}")
		l.value(0)
	}
	if _, ok := object.(map[string]any); !ok || n > 1 {
		return no(CodeBadArguments, "takes one argument, an object", nil)
	}
	return object, l, Answer{Args: raw}
}

// typeError is what a script gets that calls a tool in a wrong way.
func (g *granted) typeError(code, text string) *Failure {
	prefix := "tools."
	if g.kind == kindFetch {
		prefix = ""
	}
	return &Failure{Name: NameType, Message: cut(oneLine(prefix+g.Name+": "+text), MaxMessageBytes), Code: code}
}
