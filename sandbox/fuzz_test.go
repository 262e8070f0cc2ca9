package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/taint"
	"github.com/loom-sandbox/sandboxd/tools"
)

// FuzzSuspendingChangesNothing lets each byte be a step of a script: a call, or
// waiting for one. Some calls are let wait for somebody, who replies with some of
// them at a time, with what the tool would say or by letting it run. Whatever is
// suspended, the script must end with what it ends with when nothing is.
func FuzzSuspendingChangesNothing(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03"), uint64(0))
	f.Add([]byte("\x00\x00\x00\x81\x00\x82\x00\x83"), uint64(0xaaaa))
	f.Add([]byte("\x00\x00\x80\x00\x80\x80\x00\x00\x81\x82\x83\x84"), ^uint64(0))
	f.Fuzz(func(t *testing.T, steps []byte, asked uint64) {
		if len(steps) > 40 {
			return
		}
		script := func(g *guest) (any, error) {
			var ids []int64
			var said []string
			for _, step := range steps {
				if step&0x80 == 0 {
					ids = append(ids, g.call("tools.t", fmt.Sprintf(`[{"n":%d}]`, step)))
				} else if len(ids) > 0 {
					v, err := g.await(ids[int(step&0x7f)%len(ids)])
					said = append(said, fmt.Sprint(v, err, g.tick()))
				}
			}
			g.log(fmt.Sprint(len(said)))
			return said, nil
		}
		answer := func(c *tools.Call) (any, error) {
			if c.ID%5 == 4 {
				return nil, tools.Failf("no")
			}
			return fmt.Sprint(c.ID, string(c.Args)), nil
		}
		set, err := tools.NewSet(tools.Tool{Name: "t", Handler: func(_ context.Context, c *tools.Call) (any, error) { return answer(c) }})
		require.NoError(t, err)
		run := func(suspends uint64) *Result {
			s, err := New(one(script), &Options{Policy: func(_ context.Context, c *tools.Call) tools.Decision {
				if suspends&(1<<(c.ID%64)) != 0 {
					return tools.Suspend()
				}
				return tools.Allow()
			}})
			require.NoError(t, err)
			res, err := s.Eval(t.Context(), Request{Script: "s", Tools: set, Seed: "s", Now: time.UnixMilli(1)})
			require.NoError(t, err)
			for round := 0; res.Status == StatusSuspended; round++ {
				require.Less(t, round, 200)
				var replies []Reply
				for i, p := range res.Pending {
					if len(res.Pending) > 1 && (i+round)%2 == 0 {
						continue // another time
					}
					r := Reply{ID: p.ID, Allow: true}
					v, err := answer(&tools.Call{ID: p.ID, Args: taint.Unwrap(p.Args)})
					if err == nil && p.ID%2 == 0 {
						text, err := json.Marshal(v)
						require.NoError(t, err)
						r = Reply{ID: p.ID, Value: text}
					}
					replies = append(replies, r)
				}
				res, err = s.Resume(t.Context(), ResumeRequest{Continuation: res.Continuation, Tools: set, Replies: replies})
				require.NoError(t, err)
			}
			require.NoError(t, s.Close())
			return res
		}
		want, got := run(0), run(asked)
		require.Equal(t, StatusOK, want.Status)
		require.Equal(t, StatusOK, got.Status)
		require.Equal(t, string(taint.Unwrap(*want.Value)), string(taint.Unwrap(*got.Value)))
		require.Equal(t, string(taint.Unwrap(want.Logs)), string(taint.Unwrap(got.Logs)))
		require.Equal(t, want.Usage.HostCalls, got.Usage.HostCalls)
		if slices.ContainsFunc(steps, func(s byte) bool { return s&0x80 == 0 }) {
			require.Contains(t, []string{"sandbox", "sandbox, tool:t"}, got.Value.Origin)
		}
	})
}
