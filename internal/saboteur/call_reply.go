package saboteur

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// replyDefects break what becomes of replies.
func replyDefects() []Defect {
	return []Defect{
		{
			Name: "replies-lose-proto", Wrong: "A property __proto__ of a reply is lost.",
			CaughtBy: []string{"CALL-005"}, Seen: `wanted {"__proto__":{"a":1}`,
			build: replying(func(replies []spi.Reply) []spi.Reply {
				for n := range replies {
					members := map[string]json.RawMessage{}
					if json.Unmarshal(replies[n].Value, &members) != nil || members["__proto__"] == nil {
						continue
					}
					delete(members, "__proto__")
					if text, err := json.Marshal(members); err == nil {
						replies[n].Value = text
					}
				}
				return replies
			}),
		},
		{
			Name: "cuts-large-replies", Wrong: "A reply of more than 64 KiB is null.",
			CaughtBy: []string{"CALL-006"}, Seen: "ended with exception",
			build: replying(func(replies []spi.Reply) []spi.Reply {
				for n := range replies {
					if len(replies[n].Value) > 64<<10 {
						replies[n].Value = json.RawMessage("null")
					}
				}
				return replies
			}),
		},
		{
			Name: "one-name-for-errors", Wrong: "Every call that failed is a ToolError.",
			CaughtBy: []string{"CALL-007"}, Seen: `wanted ["DeniedError"`,
			build: callErrors(func(e *spi.CallError) { e.Name = "" }),
		},
		{
			Name: "errors-without-message", Wrong: "The error of a call has no message.",
			CaughtBy: []string{"CALL-007"}, Seen: `value is ["ToolError",""`,
			build: callErrors(func(e *spi.CallError) { e.Message = "" }),
		},
		{
			Name: "error-without-call", Wrong: "An error does not say which call it is of.",
			CaughtBy: []string{"CALL-008"}, Seen: "error is of call 0, wanted 2",
			build: failure(func(_ *isolate, e *spi.ScriptError) { e.Call = 0 }),
		},
		{
			Name: "denials-are-exceptions", Wrong: "A call that was denied is an exception like others.",
			CaughtBy: []string{"CALL-008", "CALL-024"}, Seen: "ended with exception",
			build: relabel(spi.KindDenied, spi.KindException),
		},
		{
			Name: "denied-by-name", Wrong: "Whatever is called DeniedError ends a script as denied.",
			CaughtBy: []string{"CALL-008", "CALL-009", "CALL-024"}, Seen: "ended with denied (DeniedError",
			build: failure(func(_ *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindException && e.Name == "DeniedError" {
					e.Kind = spi.KindDenied
				}
			}),
		},
		{
			Name: "blames-the-last-call", Wrong: "An exception after a call is an error of that call.",
			CaughtBy: []string{"CALL-009"}, Seen: "error is of call 1, wanted 0",
			build: failure(func(i *isolate, e *spi.ScriptError) {
				if e.Kind == spi.KindException && e.Call == 0 && i.ran.Functions != nil {
					e.Call = 1
				}
			}),
		},
		{
			Name: "settles-in-order-of-calls", Wrong: "Replies are settled in the order of the calls.",
			CaughtBy: []string{"CALL-011"}, Seen: `value is [3,1,"4",2]`,
			build: replying(func(replies []spi.Reply) []spi.Reply {
				slices.SortStableFunc(replies, func(a, b spi.Reply) int { return cmp.Compare(a.ID, b.ID) })
				return replies
			}),
		},
		{
			Name: "wants-a-reply", Wrong: "Continue without replies is refused.",
			CaughtBy: []string{"CALL-011"}, Seen: "Continue: spi: reply to no pending call",
			build: goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				if len(replies) == 0 {
					return nil, spi.ErrReply
				}
				return goOn(ctx, i, replies)
			}),
		},
		{
			Name: "ignores-wrong-replies", Wrong: "Replies that are wrong are as if they were not there.",
			CaughtBy: []string{"CALL-012"}, Seen: "Continue ended with waiting, wanted the error",
			build: insteadOfContinue(spi.ErrReply, func(ctx context.Context, i *isolate, _ []spi.Reply) (*spi.Outcome, error) {
				return goOn(ctx, i, nil)
			}),
		},
		{
			Name: "takes-right-replies-beside-wrong", Wrong: "Where one reply is wrong the others are taken all the same.",
			CaughtBy: []string{"CALL-012"}, Seen: "calls without a reply are [1 tools.a [1]]",
			build: insteadOfContinue(spi.ErrReply, func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
				for n := range replies {
					_, _ = goOn(ctx, i, replies[n:n+1])
				}
				return nil, spi.ErrReply
			}),
		},
		{
			Name: "refuses-replies-to-nobody-as-wrong", Wrong: "A reply where no script waits is ErrReply.",
			CaughtBy: []string{"CALL-013"}, Seen: "error is spi: reply to no pending call",
			build: insteadOfContinue(spi.ErrNotWaiting, func(context.Context, *isolate, []spi.Reply) (*spi.Outcome, error) {
				return nil, spi.ErrReply
			}),
		},
		{
			Name: "fetches-without-status", Wrong: "A response that was fetched has the status 200.",
			CaughtBy: []string{"CALL-038"}, Seen: "value is [200,true",
			build: replying(func(replies []spi.Reply) []spi.Reply {
				for n := range replies {
					replies[n].Value = bytes.Replace(replies[n].Value, []byte(`"status":404`), []byte(`"status":200`), 1)
				}
				return replies
			}),
		},
		{
			Name: "mixes-up-replies", Wrong: "The first reply to a call is that of all calls with its ID, in every isolate.",
			CaughtBy: []string{"CALL-021"}, Seen: "calls without a reply are",
			build: func() hooks {
				var mu sync.Mutex
				first := map[int64]json.RawMessage{}
				return replying(func(replies []spi.Reply) []spi.Reply {
					mu.Lock()
					defer mu.Unlock()
					for n := range replies {
						r := &replies[n]
						if first[r.ID] == nil {
							first[r.ID] = r.Value
						}
						r.Value = first[r.ID]
					}
					return replies
				})()
			},
		},
	}
}

// callErrors changes errors in replies.
func callErrors(f func(e *spi.CallError)) func() hooks {
	return replying(func(replies []spi.Reply) []spi.Reply {
		for n := range replies {
			if replies[n].Error != nil {
				e := *replies[n].Error
				f(&e)
				replies[n].Error = &e
			}
		}
		return replies
	})
}

// insteadOfContinue has Continue do something else where the good one returns an
// error.
func insteadOfContinue(refused error, f goOnFunc) func() hooks {
	return goingOn(func(ctx context.Context, i *isolate, replies []spi.Reply) (*spi.Outcome, error) {
		out, err := goOn(ctx, i, replies)
		if errors.Is(err, refused) {
			return f(ctx, i, replies)
		}
		return out, err
	})
}
