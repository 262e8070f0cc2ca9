package quickjs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loom-sandbox/sandboxd/spi"
)

// hostCalls is what the host knows of the calls of its functions. The guest counts
// them as well; a guest that counts otherwise gets its replies mixed up, and
// nobody else's.
type hostCalls struct {
	last    int64          // ID of the last one
	pending []spi.HostCall // without a reply, in order
	failed  map[int64]bool // of this eval: replied with an error, and whether that was a denial

	made, bytes int64
	refused     spi.LimitName // the first that was reached
	limited     bool          // the last one that was not taken was over a limit
	handed      bool          // the script was handed functions
}

// begin starts the account of an eval.
func (c *hostCalls) begin() { *c = hostCalls{last: c.last} }

// takeCall takes a call, a JSON array of a name, a place and the arguments. It
// answers 0 where there may be no more.
func (h *Host) takeCall(text []byte) uint64 {
	c := &h.calls
	c.limited = false
	if !c.handed { // a function that an earlier script has kept: nobody expects a call
		return c.refuse(handedNothing)
	}
	if c.made >= h.limits.HostCalls {
		return c.refuse(spi.LimitHostCalls)
	}
	if int64(len(text)) > h.limits.CallBytes-c.bytes+spi.MaxFunctionNameBytes*6 { // before it is copied
		return c.refuse(spi.LimitCallBytes)
	}
	texts, args, err := headed(text, 2)
	if err != nil {
		return 0
	}
	if int64(len(args)) > h.limits.CallBytes-c.bytes {
		return c.refuse(spi.LimitCallBytes)
	}
	c.made++
	c.bytes += int64(len(args))
	c.last++
	at := placeFrom(texts[1]).in(h.source)
	c.pending = append(c.pending, spi.HostCall{
		ID: c.last, Function: bounded([]byte(texts[0]), spi.MaxFunctionNameBytes), Args: args, Line: at.line, Column: at.column,
	})
	h.countWaiting()
	return 1
}

// handedNothing stands for a limit where a script was handed no functions.
const handedNothing spi.LimitName = "none"

func (c *hostCalls) refuse(limit spi.LimitName) uint64 {
	c.limited = true
	if c.refused == "" {
		c.refused = limit
	}
	return 0
}

// countWaiting tells the driver how many calls have no reply.
func (h *Host) countWaiting() { h.inst.SetGlobal(GlobalWaiting, uint64(len(h.calls.pending))) }

// takeEvent takes an event, a JSON array of type and data, while there is room.
func (h *Host) takeEvent(text []byte) uint64 {
	s := &h.sink
	if s.eventsTruncated || int64(len(text)) > s.maxLogs-s.eventBytes || s.events >= maxLines(s.maxLogs) {
		s.eventsTruncated = true
		return 0
	}
	texts, rest, err := headed(text, 1)
	if err != nil {
		return 0
	}
	data := rest[1 : len(rest)-1]
	if len(data) == 0 {
		data = json.RawMessage("null")
	}
	if !jsontext.Value(data).IsValid() { // more than one
		return 0
	}
	s.events++
	s.eventBytes += int64(len(text))
	if h.observer != nil {
		h.observer.Notice(spi.Notice{Event: &spi.Event{Type: bounded([]byte(texts[0]), spi.MaxFunctionNameBytes), Data: data}})
	}
	return 1
}

var errNotHeaded = errors.New("quickjs: not an array that begins with texts")

// headed reads a JSON array whose first n elements are texts; the rest is an array
// again. What it returns is copied.
func headed(text []byte, n int) (texts [2]string, rest json.RawMessage, err error) {
	value, err := checkValue(bytes.Clone(text))
	if err != nil {
		return texts, nil, err
	}
	d := jsontext.NewDecoder(bytes.NewReader(value))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return texts, nil, errNotHeaded
	}
	for i := range n {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return texts, nil, errNotHeaded
		}
		texts[i] = t.String()
	}
	values := bytes.TrimLeft(value[d.InputOffset():], " \t\r\n,")
	return texts, append(json.RawMessage("["), values...), nil
}

// checkReplies returns [spi.ErrReply] unless all replies are for calls that wait.
func (c *hostCalls) checkReplies(replies []spi.Reply) error {
	seen := map[int64]bool{}
	for i := range replies {
		r := &replies[i]
		if seen[r.ID] || c.find(r.ID) < 0 {
			return fmt.Errorf("%w: call %d", spi.ErrReply, r.ID)
		}
		seen[r.ID] = true
		switch {
		case (len(r.Value) == 0) == (r.Error == nil):
			return fmt.Errorf("%w: call %d has not exactly one of a value and an error", spi.ErrReply, r.ID)
		case r.Error == nil && !jsontext.Value(r.Value).IsValid():
			return fmt.Errorf("%w: the value of call %d is not strict JSON", spi.ErrReply, r.ID)
		case r.Error != nil && (!utf8.ValidString(r.Error.Name) || !utf8.ValidString(r.Error.Message) ||
			len(r.Error.Name) > spi.MaxErrorNameBytes || len(r.Error.Message) > spi.MaxErrorMessageBytes):
			return fmt.Errorf("%w: the error of call %d is not valid UTF-8, or too long", spi.ErrReply, r.ID)
		}
	}
	return nil
}

func (c *hostCalls) find(id int64) int {
	i, ok := slices.BinarySearchFunc(c.pending, id, func(call spi.HostCall, id int64) int { return cmp.Compare(call.ID, id) })
	if !ok {
		return -1
	}
	return i
}

// settle notes that calls have their replies, and writes those for the prelude.
func (h *Host) settle(replies []spi.Reply) []byte {
	if len(replies) == 0 {
		return nil
	}
	c := &h.calls
	out := []byte{'['}
	for i := range replies {
		r := &replies[i]
		at := c.find(r.ID)
		c.pending = slices.Delete(c.pending, at, at+1)
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "[%d,", r.ID)
		if r.Error == nil {
			out = append(append(out, r.Value...), ']')
			continue
		}
		if c.failed == nil {
			c.failed = map[int64]bool{}
		}
		c.failed[r.ID] = r.Error.Denied
		name := r.Error.Name
		if name == "" {
			name = "ToolError"
		}
		// Quoting valid UTF-8 cannot fail.
		out, _ = jsontext.AppendQuote(out, name)
		out = append(out, ',')
		out, _ = jsontext.AppendQuote(out, r.Error.Message)
		out = append(out, ']')
	}
	h.countWaiting()
	return append(out, ']')
}

// uncaught is the call whose error the script let pass, as the guest says, if the
// host has given it an error: 0 is one that was not taken.
func (h *Host) uncaught() (id int64, denied, ok bool) {
	t := &h.sink.thrown
	if !t.ofCall {
		return 0, false, false
	}
	if t.call == 0 {
		return 0, true, h.calls.refused != ""
	}
	denied, ok = h.calls.failed[t.call]
	return t.call, denied, ok
}

// grantText is the list of functions as the prelude reads it.
func grantText(functions []string) []byte {
	if len(functions) == 0 {
		return []byte("[]")
	}
	return []byte(`["` + strings.Join(functions, `","`) + `"]`)
}
