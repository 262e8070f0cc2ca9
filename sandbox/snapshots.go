package sandbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// scriptKey names a script by what it is. Nobody can make two that share one.
type scriptKey [sha256.Size]byte

func keyOf(source string, language spi.Language) scriptKey {
	h := sha256.New()
	_, _ = h.Write([]byte(language + "\x00")) // a hash takes everything
	_, _ = h.Write([]byte(source))
	return scriptKey(h.Sum(nil))
}

// bounds are the limits that decide whether a script can be prepared. What came
// of preparing does not depend on them.
type bounds struct {
	timeout      time.Duration
	memory, fuel int64 // no fuel is no limit
}

func boundsOf(l *spi.Limits) bounds { return bounds{l.Timeout, l.MemoryBytes, l.Fuel} }

// within reports whether b allows nothing that other does not.
func (b bounds) within(other bounds) bool {
	return b.timeout <= other.timeout && b.memory <= other.memory &&
		(other.fuel == 0 || b.fuel != 0 && b.fuel <= other.fuel)
}

// widest is the least that allows whatever b or other does.
func (b bounds) widest(other bounds) bounds {
	w := bounds{timeout: max(b.timeout, other.timeout), memory: max(b.memory, other.memory)}
	if b.fuel != 0 && other.fuel != 0 {
		w.fuel = max(b.fuel, other.fuel)
	}
	return w
}

// doubled allows twice as much.
func (b bounds) doubled() bounds {
	twice := func(n int64) int64 { return n + min(n, math.MaxInt64-n) }
	return bounds{time.Duration(twice(int64(b.timeout))), twice(b.memory), twice(b.fuel)}
}

// tooBigError says that a script was prepared, and is larger than all that may be
// kept.
type tooBigError struct{}

func (tooBigError) Error() string {
	return "sandbox: prepared script is larger than all that may be kept"
}
func (tooBigError) Unwrap() error { return spi.ErrNotPrepared }

// snapshots keeps prepared scripts within a number of bytes. All methods may be
// called from any number of goroutines; it has none of its own.
type snapshots struct {
	preparer spi.Preparer
	capacity int64

	mu      sync.Mutex
	kept    *recent[scriptKey, *snapshot]
	bytes   int64 // of what is kept
	turn    int64 // counts what was looked for
	flights map[flightKey]*flight
	failed  error // the first error of closing one
}

// snapshot is a prepared script. One that is given up is closed when nobody opens
// an isolate from it any more.
type snapshot struct {
	key      scriptKey
	prepared spi.Prepared
	bytes    int64

	users int   // guarded by snapshots.mu
	used  int64 // the turn of the last use; guarded by snapshots.mu
	gone  bool  // no longer kept; guarded by snapshots.mu
}

// flight is a script that is being prepared, for all who want it within the same
// bounds.
type flight struct {
	done chan struct{} // closed at the end
	err  error         // set before that: why nobody gets it, nil if trying again is worth it
}

type flightKey struct {
	script scriptKey
	bounds bounds
}

func newSnapshots(p spi.Preparer, capacity int64) *snapshots {
	return &snapshots{
		preparer: p, capacity: capacity,
		kept: newRecent[scriptKey, *snapshot](), flights: map[flightKey]*flight{},
	}
}

// find returns the snapshot of a script if it is kept, and the number of this
// turn. The snapshot is in use until release.
func (c *snapshots) find(key scriptKey) (*snapshot, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turn++
	return c.use(key), c.turn
}

// admits reports whether a script that came at a turn before should be kept: if
// there is room, or if what would have to go has not been used since. Without
// that, more scripts than fit that come in turns would all push each other out.
func (c *snapshots) admits(before int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int64(c.kept.len())
	if n == 0 || c.bytes+c.bytes/n <= c.capacity {
		return true
	}
	_, oldest, _ := c.kept.oldest()
	return oldest.used < before
}

// use is called with mu held.
func (c *snapshots) use(key scriptKey) *snapshot {
	snap, ok := c.kept.use(key)
	if !ok {
		return nil
	}
	snap.users++
	snap.used = c.turn
	return snap
}

// get returns the snapshot of a script, which it prepares if it is not kept. It
// is in use until release. Callers that want the same wait for the one that came
// first; if that one goes away, the next takes over. The error is or wraps
// [spi.ErrNotPrepared], the context's, or the backend's.
func (c *snapshots) get(ctx context.Context, key scriptKey, limits *spi.Limits, source string, language spi.Language) (*snapshot, error) {
	fk := flightKey{key, boundsOf(limits)}
	for {
		c.mu.Lock()
		if snap := c.use(key); snap != nil {
			c.mu.Unlock()
			return snap, nil
		}
		f, underway := c.flights[fk]
		if !underway {
			f = &flight{done: make(chan struct{})}
			c.flights[fk] = f
		}
		c.mu.Unlock()
		if !underway {
			defer c.land(fk, f) // also where the backend panics
			snap, err := c.prepare(ctx, key, limits, source, language)
			if err != nil && ctx.Err() != nil {
				return nil, ctx.Err() // says nothing about the script
			}
			f.err = err
			return snap, err
		}
		select {
		case <-f.done:
			if f.err != nil {
				return nil, f.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (c *snapshots) land(fk flightKey, f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.flights, fk)
	close(f.done)
}

// prepare prepares a script and keeps it.
func (c *snapshots) prepare(ctx context.Context, key scriptKey, limits *spi.Limits, source string, language spi.Language) (*snapshot, error) {
	own := *limits // a backend may be careless with what it is given
	prepared, err := c.preparer.Prepare(ctx, &own, source, language)
	if err != nil {
		return nil, err
	}
	if prepared == nil {
		return nil, errors.New("prepared nothing, without an error")
	}
	room := c.capacity - int64(len(source))
	bytes := prepared.Bytes()
	if bytes < 0 || bytes > room {
		c.note(prepared.Close())
		return nil, tooBigError{}
	}
	snap := &snapshot{key: key, prepared: prepared, bytes: bytes + int64(len(source)), users: 1}
	snap, idle := c.keep(snap)
	c.closeAll(idle)
	return snap, nil
}

// keep adds a snapshot and gives up what there is no room for; it returns those
// that are to be closed. If somebody else was faster, that one stays.
func (c *snapshots) keep(snap *snapshot) (kept *snapshot, idle []*snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.use(snap.key); other != nil {
		return other, []*snapshot{snap}
	}
	snap.used = c.turn
	c.kept.put(snap.key, snap)
	c.bytes += snap.bytes
	for c.bytes > c.capacity { // ends before snap, which is the last used and fits
		_, oldest, _ := c.kept.oldest()
		if c.giveUp(oldest) {
			idle = append(idle, oldest)
		}
	}
	return snap, idle
}

// giveUp is called with mu held. It reports whether the snapshot is to be closed
// now, since nobody uses it.
func (c *snapshots) giveUp(snap *snapshot) bool {
	if snap.gone {
		return false
	}
	snap.gone = true
	c.kept.remove(snap.key)
	c.bytes -= snap.bytes
	return snap.users == 0
}

// open opens an isolate and ends the use of the snapshot. It returns nil if that
// does not work; unless ctx is why, the snapshot is then not used again.
func (c *snapshots) open(ctx context.Context, snap *snapshot, cfg *spi.Config) spi.Isolate {
	useless := false
	defer func() { c.release(snap, useless) }() // also where the backend panics
	own := *cfg
	iso, err := snap.prepared.Open(ctx, &own)
	if err == nil && iso != nil {
		return iso
	}
	useless = ctx.Err() == nil
	return nil
}

// release ends a use.
func (c *snapshots) release(snap *snapshot, useless bool) {
	c.mu.Lock()
	if useless {
		c.giveUp(snap)
	}
	snap.users--
	last := snap.gone && snap.users == 0
	c.mu.Unlock()
	if last {
		c.closeAll([]*snapshot{snap})
	}
}

// closeAll is called without mu: closing may take a while.
func (c *snapshots) closeAll(idle []*snapshot) {
	for _, snap := range idle {
		c.note(snap.prepared.Close())
	}
}

// note keeps the first error of closing. Whoever happens to bring it about has
// nothing to do with it.
func (c *snapshots) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
}

// close gives up everything, once nobody uses the cache any more.
func (c *snapshots) close() error {
	c.mu.Lock()
	var idle []*snapshot
	for c.kept.len() > 0 {
		_, snap, _ := c.kept.oldest()
		if c.giveUp(snap) {
			idle = append(idle, snap)
		}
	}
	c.mu.Unlock()
	c.closeAll(idle)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
