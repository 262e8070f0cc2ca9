package saboteur

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/loom-sandbox/sandboxd/spi"
)

// leakDefects let one isolate see something of another.
func leakDefects() []Defect {
	return []Defect{
		{
			Name: "leaks-heap", Wrong: "A heap is used again for the next isolate.",
			CaughtBy: slices.Concat(series("LEAK", 1, 13), series("LEAK", 16, 17), series("LEAK", 19, 19)), Seen: "the next eval",
			build: func() hooks { return reuse("") },
		},
		{
			Name: "leaks-prototypes", Wrong: "A heap is used again; what a script put on the global object is deleted, what it did to the prototypes stays.",
			CaughtBy: []string{"LEAK-003", "LEAK-006", "LEAK-032"}, Seen: "value is",
			build: func() hooks {
				return reuse("for (const name of Object.keys(globalThis)) if (name !== 'input') delete globalThis[name]")
			},
		},
		{
			Name: "leaks-after-a-kill", Wrong: "What a script did that was ended by force is seen in the next isolate.",
			CaughtBy: []string{"LEAK-022", "LEAK-023", "LEAK-024"}, Seen: "left",
			build: func() hooks {
				var mu sync.Mutex
				var left string
				assignment := regexp.MustCompile(`globalThis\.\w+ = [^;\n]+`)
				return hooks{
					request: func(_ *isolate, req *spi.Request) {
						mu.Lock()
						defer mu.Unlock()
						req.Source = prefixed(left, req.Source)
					},
					outcome: func(i *isolate, out *spi.Outcome) {
						mu.Lock()
						defer mu.Unlock()
						if ended(out) {
							left = strings.Join(assignment.FindAllString(i.ran.Source, -1), ";")
						}
					},
				}
			},
		},
		{
			Name: "leaks-input", Wrong: "A script without an input sees the one of another eval.",
			CaughtBy: []string{"EVAL-041"}, Seen: "value is",
			build: func() hooks {
				var mu sync.Mutex
				last := json.RawMessage("null")
				return hooks{request: func(_ *isolate, req *spi.Request) {
					mu.Lock()
					defer mu.Unlock()
					if string(req.Input) == "null" {
						req.Input = last
					}
					last = req.Input
				}}
			},
		},
		{
			Name: "leaks-logs", Wrong: "The first eval of an isolate has the logs of the eval before, which was another isolate's.",
			CaughtBy: []string{"LEAK-035"}, Seen: "has the lines",
			build: func() hooks {
				var mu sync.Mutex
				var last []spi.LogLine
				return hooks{outcome: func(i *isolate, out *spi.Outcome) {
					mu.Lock()
					defer mu.Unlock()
					own := out.Logs
					if i.evals.Load() == 1 {
						setLogs(out, slices.Concat(last, own))
					}
					last = own
				}}
			},
		},
		{
			Name: "leaks-random-state", Wrong: "Random numbers go on where those of the last isolate ended.",
			CaughtBy: []string{"LEAK-033"}, Seen: "value is",
			build: func() hooks {
				var mu sync.Mutex
				var opened uint64
				return hooks{config: func(_ *Backend, cfg *spi.Config) {
					mu.Lock()
					defer mu.Unlock()
					cfg.Seed += opened
					opened++
				}}
			},
		},
	}
}

// reuse opens an isolate on a heap that another one with the same configuration
// left whole, after some code to clean it.
func reuse(clean string) hooks {
	var mu sync.Mutex
	pool := map[spi.Config]spi.Isolate{}
	broken := map[spi.Isolate]bool{}
	mark := func(i *isolate, b bool) {
		mu.Lock()
		defer mu.Unlock()
		broken[i.whole()] = b
	}
	return hooks{
		open: func(ctx context.Context, b *Backend, cfg *spi.Config) (spi.Isolate, error) {
			mu.Lock()
			good, ok := pool[*cfg]
			delete(pool, *cfg)
			mu.Unlock()
			if ok {
				return &isolate{backend: b, asked: *cfg, good: good}, nil
			}
			return b.open(ctx, cfg)
		},
		request: func(i *isolate, req *spi.Request) {
			mark(i, true) // it runs
			req.Source = prefixed(clean, req.Source)
		},
		outcome: func(i *isolate, out *spi.Outcome) { mark(i, out.Error != nil) },
		close: func(i *isolate) error {
			mu.Lock()
			defer mu.Unlock()
			good := i.whole()
			if i.closes.Load() > 1 || i.evals.Load() == 0 || broken[good] {
				return good.Close()
			}
			pool[i.asked] = good
			return nil
		},
	}
}
