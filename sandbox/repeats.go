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
	seen *recent[scriptKey, refusal]
}

// refusal is within what bounds a script could not be prepared.
type refusal struct {
	any    bool // it was tried, and could not
	always bool // whatever the bounds
	most   bounds
}

func newRepeats(most int) *repeats {
	return &repeats{most: most, seen: newRecent[scriptKey, refusal]()}
}

// worth notes a script and reports whether to prepare it: it came before, and
// that was not in vain.
func (r *repeats) worth(key scriptKey, b bounds) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.seen.use(key)
	if !ok {
		r.remember(key, refusal{})
		return false
	}
	return !before.any || !before.always && !b.within(before.most)
}

// refused notes that a script could not be prepared.
func (r *repeats) refused(key scriptKey, b bounds, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, _ := r.seen.use(key)
	if before.any {
		b = b.widest(before.most)
	}
	r.remember(key, refusal{any: true, always: before.always || errors.Is(err, tooBigError{}), most: b})
}

// remember is called with mu held.
func (r *repeats) remember(key scriptKey, what refusal) {
	r.seen.put(key, what)
	for r.seen.len() > r.most {
		oldest, _, _ := r.seen.oldest()
		r.seen.remove(oldest)
	}
}
