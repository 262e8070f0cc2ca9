package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// grace is how long what was told to stop has to return before it is abandoned.
const grace = 50 * time.Millisecond

// Errors of what runs guarded.
var (
	errTimeOver = errors.New("tools: its time was over")
	errExited   = errors.New("tools: its goroutine ended without a result")
)

// PanicError is in [Answer.Cause] where a handler or a policy panicked.
type PanicError struct {
	// Value is what it panicked with.
	Value any
	// Stack is the stack of its goroutine.
	Stack []byte
}

// Error returns one line with the type of the value and, where it is a text or
// an error of the runtime, the text.
func (e *PanicError) Error() string {
	switch v := e.Value.(type) {
	case string:
		return "tools: panic: " + oneLine(v)
	case runtime.Error:
		return "tools: panic: " + oneLine(v.Error())
	}
	return fmt.Sprintf("tools: panic with a value of type %T", e.Value)
}

// guarded runs work in a goroutine of its own and waits for it until ctx ends, or
// for limit and then a moment longer. The error says why there is no
// result: errTimeOver, the cause of ctx, errExited or a [*PanicError]. Work that
// has not returned is abandoned: it goes on, and its result is dropped.
func guarded[T any](caller context.Context, limit time.Duration, work func(context.Context) T) (result T, abandoned bool, err error) {
	ctx, cancel := context.WithTimeoutCause(caller, limit, errTimeOver)
	type end struct {
		result T
		err    error
	}
	done := make(chan end, 1) // nobody may be there to receive
	go func() {
		defer cancel()
		ending := end{err: errExited}
		defer func() {
			if value := recover(); value != nil {
				ending.err = &PanicError{Value: value, Stack: debug.Stack()}
			}
			done <- ending
		}()
		ending = end{result: work(ctx)}
	}()
	select {
	case e := <-done:
		return e.result, false, e.err
	case <-ctx.Done():
	}
	if caller.Err() != nil { // who has no time left has none for this either
		select {
		case e := <-done:
			return e.result, false, e.err
		default:
			return result, true, context.Cause(ctx)
		}
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case e := <-done:
		return e.result, false, e.err
	case <-timer.C:
		return result, true, context.Cause(ctx)
	}
}
