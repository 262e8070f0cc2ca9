package subject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/loom-sandbox/sandboxd/bench/internal/work"
)

type memoryRequest struct {
	Job work.Job
	N   int
}

// Child is what this program does as a child of itself: args are what to do
// ("start" or "memory"), the subject's name and the folder with compiled code.
func Child(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 3 {
		return fmt.Errorf("subject: a child needs 3 arguments, got %d", len(args))
	}
	local, err := find(args[1])
	if err != nil {
		return err
	}
	e, err := local.Open(ctx, args[2])
	if err != nil {
		return err
	}
	answer := map[string]any{}
	switch args[0] {
	case "start":
		got, err := e.Eval(ctx, work.SmallEval())
		if err != nil {
			return err
		}
		answer["value"] = got.Value
		return json.NewEncoder(out).Encode(answer) // what follows is not the start
	case "memory":
		defer e.Close()
		var request memoryRequest
		if err := json.NewDecoder(in).Decode(&request); err != nil {
			return err
		}
		bytes, err := growth(ctx, e, request)
		if err != nil {
			answer["error"] = err.Error()
		}
		answer["bytes"] = bytes
		return json.NewEncoder(out).Encode(answer)
	default:
		return fmt.Errorf("subject: a child cannot do %q; allowed is start or memory", args[0])
	}
}

// growth is by how much the process grows by n instances.
func growth(ctx context.Context, e Evaluator, request memoryRequest) (int64, error) {
	var releases []func() error
	hold := func() error {
		release, err := e.Hold(ctx, request.Job)
		if err == nil {
			releases = append(releases, release)
		}
		return err
	}
	if err := hold(); err != nil { // what is loaded once does not count
		return 0, err
	}
	before, err := resident()
	if err != nil {
		return 0, err
	}
	for range request.N {
		if err := hold(); err != nil {
			return 0, err
		}
	}
	after, err := resident()
	for _, release := range releases {
		err = errors.Join(err, release())
	}
	return after - before, err
}

// resident is the size of this process in memory, garbage collected.
func resident() (int64, error) {
	if runtime.GOOS != "linux" {
		return 0, fmt.Errorf("resident memory is read from /proc, which %s has not", runtime.GOOS)
	}
	runtime.GC()
	debug.FreeOSMemory()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, errors.New("subject: /proc/self/statm is not understood")
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
