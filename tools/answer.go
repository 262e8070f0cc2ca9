package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// MaxArgumentBytes bounds the arguments of a call as JSON.
const MaxArgumentBytes = 4 << 20

// Answer is how a call ended. Exactly one of Value, Failure and Suspended is set.
type Answer struct {
	// Value is the result: strict JSON. Labels inside of it are as the handler made
	// them, see [taint.Tainted].
	Value json.RawMessage
	// Failure is how the call failed.
	Failure *Failure
	// Suspended: nobody has answered yet.
	Suspended bool
	// Args is the one object that the tool was called with, nil where the arguments
	// are not valid. Guest data.
	Args json.RawMessage
	// Origin is the label of Value, or of Failure where the handler had a part in
	// it; empty where it needs none.
	Origin string
	// Duration is the time that the handler took; zero where it did not run.
	Duration time.Duration
	// Abandoned: the handler did not return when its time was over, and still runs;
	// or the check of the arguments does.
	Abandoned bool
	// Cause is what went wrong, in full. It is for operators: it may hold whatever
	// the handler's error says, and must not reach a script.
	Cause error
}

// Answer answers a call: see the package documentation for the steps.
// [Call.Args] is the JSON array of the script's arguments. The end of ctx ends
// the answer, as a failure. A nil policy allows what was granted.
func (s *Set) Answer(ctx context.Context, call *Call, policy Policy) Answer {
	return s.answer(ctx, call, policy)
}

// AnswerAllowed is Answer for a call that somebody who may has allowed: no policy
// is asked. All other steps are the same. A call of a [Remote] tool is suspended.
func (s *Set) AnswerAllowed(ctx context.Context, call *Call) Answer {
	return s.answer(ctx, call, nil)
}

// AnswerWith is the answer that value makes, which came from elsewhere: from the
// client, for a call that was suspended. It passes the same checks as the result
// of a handler, and gets the same label.
func (s *Set) AnswerWith(call *Call, value json.RawMessage) Answer {
	g := s.find(call.Tool)
	if g == nil {
		return notGranted(call.Tool)
	}
	answer := g.acceptWithin(MaxCheckTime, value)
	answer.Origin = g.Origin
	return answer
}

func (s *Set) answer(ctx context.Context, call *Call, policy Policy) Answer {
	g := s.find(call.Tool)
	if g == nil {
		return notGranted(call.Tool)
	}
	answer := g.checkArguments(ctx, call.Args)
	if answer.Failure != nil {
		return answer
	}
	decision, cause := Allow(), error(nil)
	if policy != nil {
		decision, cause = ask(ctx, policy, g.checked(call, answer.Args))
	}
	switch {
	case ctx.Err() != nil:
		answer.Failure, answer.Cause = g.failed(), context.Cause(ctx)
	case decision.verdict == verdictSuspend, decision.verdict == verdictAllow && g.Remote:
		answer.Suspended = true
	case decision.verdict == verdictAllow:
		g.run(ctx, g.checked(call, answer.Args), &answer)
	default:
		answer.Failure, answer.Cause = g.denied(CodePolicy, decision.reason), cause
	}
	return answer
}

// checked is a copy of a call that whoever gets it may change.
func (g *granted) checked(call *Call, args json.RawMessage) *Call {
	c := *call
	c.Args, c.Idempotent = append(json.RawMessage(nil), args...), g.Idempotent
	return &c
}

// ask lets the policy decide. Where it does not, the decision denies.
func ask(ctx context.Context, policy Policy, call *Call) (Decision, error) {
	decision, _, err := guarded(ctx, MaxPolicyTime, func(ctx context.Context) Decision { return policy(ctx, call) })
	if err != nil {
		return Decision{}, fmt.Errorf("tools: the policy gave no decision about %s: %w", call.Tool, err)
	}
	return decision, nil
}

// run lets the handler work. What it returns is looked at where it runs, so that
// a result or an error whose methods panic or never return does no more than
// that.
func (g *granted) run(ctx context.Context, call *Call, answer *Answer) {
	started := time.Now()
	result, abandoned, err := guarded(ctx, g.Timeout, func(ctx context.Context) Answer { return g.handle(ctx, call) })
	if err == nil {
		result.Args = answer.Args
		*answer = result
	}
	answer.Duration, answer.Abandoned = time.Since(started), abandoned
	if answer.Origin == "" {
		answer.Origin = g.Origin
	}
	switch {
	case errors.Is(err, errTimeOver):
		answer.Failure = g.toolError(CodeTimeout, tookLonger(g.Timeout))
		answer.Cause = err
	case err != nil:
		answer.Failure, answer.Cause = g.failed(), err
	case answer.Suspended:
		answer.Origin = ""
	}
}

// handle calls the handler and makes an answer of what it returns.
func (g *granted) handle(ctx context.Context, call *Call) Answer {
	value, err := g.handler(ctx, call)
	if err != nil {
		return g.refusal(ctx, err)
	}
	var answer Answer
	if from, ok := value.(fromOrigin); ok {
		value, answer.Origin = from.value, from.origin
	}
	raw, err := written(value)
	if err != nil {
		return Answer{Failure: g.failed(), Cause: fmt.Errorf("tools: the result of %s cannot be written as JSON: %w", g.Name, err)}
	}
	answer.Value, answer.Failure, answer.Cause = g.accept(raw)
	return answer
}

// acceptWithin is accept for what nobody else waits for.
func (g *granted) acceptWithin(limit time.Duration, raw json.RawMessage) Answer {
	answer, abandoned, err := guarded(context.Background(), limit, func(context.Context) (a Answer) {
		if int64(len(raw)) <= g.MaxResultBytes {
			if err := strict(raw); err != nil {
				return Answer{Failure: g.failed(), Cause: g.unusable(err)}
			}
		}
		a.Value, a.Failure, a.Cause = g.accept(raw)
		return a
	})
	switch {
	case errors.Is(err, errTimeOver):
		answer.Failure = g.toolError(CodeLimit, fmt.Sprintf("returned what takes longer than %d ms to check", limit.Milliseconds()))
	case err != nil:
		answer.Failure = g.failed()
	default:
		return answer
	}
	answer.Cause, answer.Abandoned = err, abandoned
	return answer
}

func (g *granted) unusable(err error) error {
	return fmt.Errorf("tools: the result of %s cannot be used: %w", g.Name, err)
}

// fromOrigin is a result whose label depends on the call.
type fromOrigin struct {
	value  any
	origin string
}

// accept checks a result, which is strict JSON unless it is too large. The failure is nil where it is one.
func (g *granted) accept(raw json.RawMessage) (json.RawMessage, *Failure, error) {
	if int64(len(raw)) > g.MaxResultBytes {
		return nil, g.toolError(CodeLimit, fmt.Sprintf("returned more than %d bytes", g.MaxResultBytes)), nil
	}
	if g.output == nil {
		if err := within(raw); err != nil {
			return nil, g.failed(), g.unusable(err)
		}
		return raw, nil, nil
	}
	value, l, err := decodeStrict(raw)
	if err != nil {
		return nil, g.failed(), g.unusable(err)
	}
	if g.output.stranger && g.output.work(l) > strangersWork {
		return nil, g.toolError(CodeLimit, "returned too much to check against its output schema"), nil
	}
	if p := g.output.check(unlabelled(value), l); p != nil {
		return nil, g.toolError(CodeFailed, "returned what its output schema does not allow"),
			fmt.Errorf("tools: the result of %s: %s", g.Name, p.String("the value"))
	}
	return raw, nil, nil
}
