package sandbox

import (
	"errors"
	"sync"
)

// maxRepeats is how many scripts are remembered as seen: some 800 KiB.
const maxRepeats = 4096

// repeats remembers which scripts came before, and which could not be prepared.
type repeats struct {
	most int

	mu   sync.Mutex
	seen *recent[scriptKey, sighting]
}

// sighting is the last time that a script came, and what came of preparing it.
type sighting struct {
	turn int64
	refusal
}

// refusal is within what bounds a script could not be prepared.
type refusal struct {
	any    bool // it was tried, and could not
	always bool // whatever the bounds
	most   bounds
}

func newRepeats(most int) *repeats {
	return &repeats{most: most, seen: newRecent[scriptKey, sighting]()}
}

// worth notes a script that comes at a turn, and reports whether to prepare it,
// and when it came before: it did, and preparing it was not in vain, or not
// within bounds that were half as wide.
func (r *repeats) worth(key scriptKey, turn int64, b bounds) (before int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.seen.use(key)
	r.remember(key, sighting{turn, last.refusal})
	return last.turn, ok && (!last.any || !last.always && !b.within(last.most.doubled()))
}

// refused notes that a script could not be prepared.
func (r *repeats) refused(key scriptKey, b bounds, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, _ := r.seen.use(key)
	if before.any {
		b = b.widest(before.most)
	}
	before.refusal = refusal{any: true, always: before.always || errors.Is(err, tooBigError{}), most: b}
	r.remember(key, before)
}

// remember is called with mu held.
func (r *repeats) remember(key scriptKey, what sighting) {
	r.seen.put(key, what)
	for r.seen.len() > r.most {
		oldest, _, _ := r.seen.oldest()
		r.seen.remove(oldest)
	}
}
