package sandbox

import (
	"maps"
	"slices"

	"github.com/loom-sandbox/sandboxd/taint"
)

// maxOrigins is how many origins of one eval are told apart: many more than a
// label can name, and few enough that no input makes the host keep much.
const maxOrigins = 256

// origins is where everything that an eval was given came from. It only grows:
// whatever the script says later may depend on it. It is not safe for concurrent
// use.
type origins struct {
	seen   map[string]struct{}
	joined string // the label; empty when it has to be made again
}

func newOrigins(given ...string) *origins {
	o := &origins{}
	o.add(given...)
	return o
}

// add takes origins, each of which may be a join; empty ones are none. Where there
// are too many, one origin stands for all that come later.
func (o *origins) add(given ...string) {
	for _, origin := range given {
		if _, known := o.seen[origin]; known || origin == "" || origin == taint.OriginSandbox {
			continue
		}
		if o.seen == nil {
			o.seen = map[string]struct{}{}
		}
		if len(o.seen) >= maxOrigins {
			origin = taint.OriginBoundExceeded
		}
		o.seen[origin] = struct{}{}
		o.joined = ""
	}
}

// label is the origin of what the script says.
func (o *origins) label() string {
	if len(o.seen) == 0 {
		return taint.OriginSandbox
	}
	if o.joined == "" {
		o.joined = taint.Join(append([]string{taint.OriginSandbox}, o.list()...)...)
	}
	return o.joined
}

// list is what add took, sorted.
func (o *origins) list() []string { return slices.Sorted(maps.Keys(o.seen)) }
