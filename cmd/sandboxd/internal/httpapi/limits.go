package httpapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loom-sandbox/sandboxd/sandbox"
	"github.com/loom-sandbox/sandboxd/spi"
)

// limitRange is what a request may ask for. Above its ceiling a limit is
// capped; beyond this range it is a mistake and refused.
type limitRange struct {
	name     spi.LimitName
	min, max int64
	set      func(*sandbox.Limits, int64)
	doc      string
}

func limitRanges(backends []spi.Descriptor) []limitRange {
	// A request may name any backend; the exact bounds of memory are the
	// widest, and the sandbox of the chosen one has the last word.
	minMemory, maxMemory := backends[0].MinMemoryBytes, backends[0].MaxMemoryBytes
	for _, d := range backends[1:] {
		minMemory, maxMemory = min(minMemory, d.MinMemoryBytes), max(maxMemory, d.MaxMemoryBytes)
	}
	return []limitRange{
		{spi.LimitTimeout, 1, sandbox.MaxTimeout.Milliseconds(),
			func(l *sandbox.Limits, v int64) { l.Timeout = time.Duration(v) * time.Millisecond }, "Wall time of the script in milliseconds."},
		{spi.LimitMemory, minMemory, maxMemory,
			func(l *sandbox.Limits, v int64) { l.MemoryBytes = v }, "The script's whole memory, engine included, in bytes."},
		{spi.LimitFuel, 0, math.MaxInt64,
			func(l *sandbox.Limits, v int64) { l.Fuel = v }, "Units of work; 0 is as if it were left out."},
		{spi.LimitOutput, 1, sandbox.MaxOutputBytes,
			func(l *sandbox.Limits, v int64) { l.OutputBytes = v }, "Result as JSON, in bytes."},
		{spi.LimitLogs, 1, sandbox.MaxLogBytes,
			func(l *sandbox.Limits, v int64) { l.LogBytes = v }, "Log lines kept, in bytes."},
		{spi.LimitHostCalls, 1, sandbox.MaxHostCalls,
			func(l *sandbox.Limits, v int64) { l.HostCalls = v }, "Calls of tools."},
		{spi.LimitCallBytes, 1, sandbox.MaxArgumentBytes,
			func(l *sandbox.Limits, v int64) { l.ArgumentBytes = v }, "Arguments of all calls together as JSON, in bytes."},
		{sandbox.LimitReplyBytes, 1, sandbox.MaxReplyBytes,
			func(l *sandbox.Limits, v int64) { l.ReplyBytes = v }, "Results of all calls together as JSON, in bytes."},
		{sandbox.LimitTotalTime, 1, sandbox.MaxTotalTime.Milliseconds(),
			func(l *sandbox.Limits, v int64) { l.TotalTime = time.Duration(v) * time.Millisecond },
			"Wall time of a script that is handed tools, with all its parts, in milliseconds. Time while it is suspended does not count."},
	}
}

func (d *decoder) decodeLimits(raw json.RawMessage, l *sandbox.Limits, faults *faultList) {
	members, ok := object(raw)
	if !ok {
		faults.add("limits", "must be an object")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i := slices.IndexFunc(d.limits, func(f limitRange) bool { return string(f.name) == name })
		if i < 0 {
			faults.unknown("limits.", name, d.limitNames())
			continue
		}
		f := &d.limits[i]
		v, ok := integer(members[name])
		if !ok || v < f.min || v > f.max {
			faults.add("limits."+name, fmt.Sprintf("must be a whole number from %d to %d", f.min, f.max))
			continue
		}
		f.set(l, v)
	}
}

func (d *decoder) limitNames() string {
	names := make([]string, len(d.limits))
	for i := range d.limits {
		names[i] = string(d.limits[i].name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
