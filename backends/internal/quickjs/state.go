package quickjs

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/loom-sandbox/sandboxd/spi"
)

// stateMagic begins the state of an isolate; the format's version follows.
const stateMagic = "sandboxd state\n"

// State is an isolate as bytes: what the host knows of it, and its memory. The
// native stack is empty between two parts of an eval, so that there is no more.
type State struct {
	img    *Image
	record record
	memory []byte
}

// record is what the host knows of an isolate. Its JSON is the format.
type record struct {
	Format int    `json:"format"`
	Image  string `json:"image"`

	// The clock and the random numbers.
	Epoch   time.Time     `json:"epoch"`
	Skipped time.Duration `json:"skipped,omitempty"`
	Earlier int64         `json:"earlier,omitempty"`
	Random  uint64        `json:"random"`
	Seed    uint64        `json:"seed,omitempty"` // that is still to be planted
	Begun   bool          `json:"begun,omitempty"`
	Handed  bool          `json:"handed,omitempty"`

	LastCall int64    `json:"lastCall,omitempty"`
	Leftover bool     `json:"leftover,omitempty"`
	Burnt    int64    `json:"burnt,omitempty"`   // by the last eval, or by this one so far
	Result   jsValue  `json:"result,omitempty"`  // GlobalPromise
	Waiting  *waiting `json:"waiting,omitempty"` // a script that waits
}

// waiting is what there is of an eval that goes on.
type waiting struct {
	Source      string         `json:"source"`
	Spent       time.Duration  `json:"spent"`
	Phase       uint64         `json:"phase"`
	StackLow    uint64         `json:"stackLow,omitempty"`
	GrowRefused uint64         `json:"growRefused,omitempty"`
	Logs        []spi.LogLine  `json:"logs,omitempty"`
	LogBytes    int64          `json:"logBytes,omitempty"`
	Truncated   bool           `json:"truncated,omitempty"`
	Events      int64          `json:"events,omitempty"`
	EventBytes  int64          `json:"eventBytes,omitempty"`
	EventsOver  bool           `json:"eventsOver,omitempty"`
	Pending     []spi.HostCall `json:"pending"`
	Failed      map[int64]bool `json:"failed,omitempty"`
	Made        int64          `json:"made,omitempty"`
	Bytes       int64          `json:"bytes,omitempty"`
	Refused     spi.LimitName  `json:"refused,omitempty"`
}

// Suspend implements [spi.Suspender].
func (i *Isolate) Suspend(ctx context.Context, maxBytes int64) ([]byte, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.done:
		return nil, spi.ErrClosed
	case i.spent:
		return nil, spi.ErrIsolateSpent
	case i.parsed != nil:
		return nil, fmt.Errorf("quickjs: an isolate of a prepared script that has not run: %w", spi.ErrUnsupported)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h := i.host
	r := record{
		Format: FormatVersion, Image: i.img.SHA256,
		Epoch: h.epoch, Skipped: h.skipped, Earlier: h.earlier, Random: uint64(h.random), Seed: i.seed,
		LastCall: h.calls.last, Leftover: i.leftover, Burnt: h.granted, Begun: i.begun, Handed: i.handed, Result: h.inst.Global(GlobalPromise),
	}
	if i.waiting != nil {
		s, c := &h.sink, &h.calls
		r.Waiting = &waiting{
			Source: *i.waiting, Spent: h.spent, Phase: h.inst.Global(GlobalPhase),
			StackLow: h.inst.Global(GlobalStackLow), GrowRefused: h.inst.Global(GlobalGrowRefused),
			Logs: s.logs, LogBytes: s.logBytes, Truncated: s.truncated,
			Events: s.events, EventBytes: s.eventBytes, EventsOver: s.eventsTruncated,
			Pending: c.pending, Failed: c.failed, Made: c.made, Bytes: c.bytes, Refused: c.refused,
		}
	}
	var head bytes.Buffer
	e := json.NewEncoder(&head)
	e.SetEscapeHTML(false) // arguments stay as they were made: their length counts
	if err := e.Encode(r); err != nil {
		return nil, fmt.Errorf("quickjs: %w", err)
	}
	out := binary.AppendUvarint([]byte(stateMagic), FormatVersion)
	out = binary.AppendUvarint(out, uint64(head.Len()))
	out = i.lease.Save(append(out, head.Bytes()...), i.img.deadMemory())
	if int64(len(out)) > maxBytes {
		return nil, fmt.Errorf("quickjs: %w: %d bytes, allowed are %d", spi.ErrStateTooLarge, len(out), maxBytes)
	}
	return out, nil
}

// deadMemory are the parts of a memory that mean nothing while no call is in
// progress: the stack, and the inbox.
func (img *Image) deadMemory() [][2]int64 {
	const page = 4096
	inbox := [2]int64{(int64(img.handles.Inbox) + page - 1) / page * page, (int64(img.handles.Inbox) + inboxBytes) / page * page}
	stack := [2]int64{int64(img.layout.StackLow), int64(img.layout.StackTop)}
	if inbox[0] < stack[0] {
		return [][2]int64{inbox, stack}
	}
	return [][2]int64{stack, inbox}
}

// ReadState reads what [Isolate.Suspend] wrote for the same image. What it is not
// is [spi.ErrState].
func (img *Image) ReadState(data []byte) (*State, error) {
	refuse := func(why string) (*State, error) { return nil, fmt.Errorf("quickjs: %w: %s", spi.ErrState, why) }
	rest, ok := bytes.CutPrefix(data, []byte(stateMagic))
	if !ok {
		return refuse("it does not begin like one")
	}
	version, n := binary.Uvarint(rest)
	if n <= 0 || version != FormatVersion {
		return refuse("it has another format")
	}
	rest = rest[n:]
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n) {
		return refuse("it is cut")
	}
	s := &State{img: img, memory: rest[n+int(length):]}
	if err := json.Unmarshal(rest[n:n+int(length)], &s.record); err != nil {
		return refuse("its record cannot be read")
	}
	if s.record.Image != img.SHA256 || s.record.Format != FormatVersion {
		return refuse("it is of another image")
	}
	return s, nil
}

// Memory is what [Lease.Save] has appended.
func (s *State) Memory() []byte { return s.memory }

// Host makes the host side of the isolate.
func (s *State) Host(r *spi.Resumption) *Host {
	rec := &s.record
	h := NewHost(&spi.Config{Limits: r.Limits, Now: rec.Epoch, Observer: r.Observer})
	h.random, h.skipped, h.earlier, h.granted = splitMix(rec.Random), rec.Skipped, rec.Earlier, rec.Burnt
	h.calls.last = rec.LastCall
	if w := rec.Waiting; w != nil {
		h.spent = w.Spent
		h.sink = sink{
			maxOutput: r.Limits.OutputBytes, maxLogs: r.Limits.LogBytes,
			logs: w.Logs, logBytes: w.LogBytes, truncated: w.Truncated,
			events: w.Events, eventBytes: w.EventBytes, eventsTruncated: w.EventsOver,
		}
		h.calls.pending, h.calls.failed, h.calls.refused = w.Pending, w.Failed, w.Refused
		h.calls.made, h.calls.bytes, h.calls.handed = w.Made, w.Bytes, true
	}
	if !r.Now.IsZero() {
		// The fuel account is settled: nothing is granted that is not burnt.
		h.epoch = r.Now.Add(-(time.Duration(rec.Earlier+rec.Burnt)*nanosPerFuel + rec.Skipped))
	}
	if r.Seed != nil {
		h.random = splitMix(*r.Seed)
	}
	return h
}

// Isolate makes the isolate of an instance whose memory is the state's.
func (s *State) Isolate(lease Lease, h *Host, r *spi.Resumption) *Isolate {
	rec := &s.record
	h.inst, h.running, h.watcher = lease.Instance, &s.img.running, lease.Watch
	i := &Isolate{host: h, img: s.img, lease: lease, seed: rec.Seed, begun: rec.Begun, handed: rec.Handed, leftover: rec.Leftover}
	if r.Seed != nil {
		i.seed = h.random.next() | 1
	}
	h.inst.SetGlobal(GlobalPromise, rec.Result)
	if w := rec.Waiting; w != nil {
		i.waiting = &w.Source
		h.inst.SetGlobal(GlobalPhase, w.Phase)
		h.inst.SetGlobal(GlobalStackLow, w.StackLow)
		h.inst.SetGlobal(GlobalGrowRefused, w.GrowRefused)
		h.countWaiting()
	}
	return i
}
