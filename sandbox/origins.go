package sandbox

import (
	"fmt"
	"maps"
	"slices"

	"github.com/loom-sandbox/sandboxd/taint"
)

// maxOrigins is how many origins of one eval are told apart, of each sort: many
// more than a label can name, and few enough that no input makes the host keep much.
const maxOrigins = 256

// origins is where everything that an eval was given came from. It only grows:
// whatever the script says later may depend on it. It is not safe for concurrent
// use.
//
// What the host itself knows is apart from what labels within data say. A label
// has room for few names, and whoever writes the data could fill it with others
// than the one that gives him away.
type origins struct {
	known   map[string]struct{} // by the host: of tools
	claimed map[string]struct{} // by labels in data
	joined  string              // the label; empty when it has to be made again
}

// originLists are origins as they are kept, sorted.
type originLists struct {
	Known, Claimed []string `json:",omitempty"`
}

// add takes origins that labels in data have, and know those that the host itself
// gives. Each may be a join; empty ones are none. Where there are too many, one
// origin stands for all that come later.
func (o *origins) add(claimed ...string) { o.take(&o.claimed, claimed) }

func (o *origins) know(origins ...string) { o.take(&o.known, origins) }

func (o *origins) take(into *map[string]struct{}, given []string) {
	for _, origin := range given {
		if _, there := (*into)[origin]; there || origin == "" || origin == taint.OriginSandbox {
			continue
		}
		if len(*into) >= maxOrigins {
			origin = taint.OriginBoundExceeded
			if _, there := (*into)[origin]; there {
				continue // and the label stays as it is
			}
		}
		if *into == nil {
			*into = map[string]struct{}{}
		}
		(*into)[origin] = struct{}{}
		o.joined = ""
	}
}

// label is the origin of what the script says. It names what the host knows
// before what data claims.
func (o *origins) label() string {
	if len(o.known)+len(o.claimed) == 0 {
		return taint.OriginSandbox
	}
	if o.joined == "" {
		o.joined = o.join()
	}
	return o.joined
}

func (o *origins) join() string {
	all := append([]string{taint.OriginSandbox}, sorted(o.known)...)
	named := map[string]struct{}{}
	for _, origin := range all {
		parts, _ := taint.Origins(origin)
		for _, part := range parts {
			named[part] = struct{}{}
		}
	}
	left, more := map[string]struct{}{}, 0
	for _, origin := range sorted(o.claimed) {
		parts, n := taint.Origins(origin)
		more += n
		for _, part := range parts {
			if _, there := named[part]; there {
				continue
			}
			if len(named) >= taint.MaxJoinedOrigins {
				left[part] = struct{}{}
				continue
			}
			named[part] = struct{}{}
			all = append(all, part)
		}
	}
	if more += len(left); more > 0 {
		all = append(all, fmt.Sprintf("%s, +%d more", taint.OriginSandbox, min(more, maxLeft)))
	}
	return taint.Join(all...)
}

// maxLeft bounds how many origins a label counts that it does not name.
const maxLeft = 999_999_999

// lists are what was taken.
func (o *origins) lists() originLists { return originLists{sorted(o.known), sorted(o.claimed)} }

// recall takes what lists returned, here or elsewhere.
func (o *origins) recall(l originLists) {
	o.know(l.Known...)
	o.add(l.Claimed...)
}

func sorted(set map[string]struct{}) []string { return slices.Sorted(maps.Keys(set)) }
