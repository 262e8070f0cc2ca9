package sandbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
	"github.com/loom-sandbox/sandboxd/tools"
)

// Reply answers a pending call. Exactly one of Value, Error and Allow is set.
type Reply struct {
	// ID is that of the [PendingCall].
	ID int64
	// Value is the result, strict JSON as the tool returns it; it counts against
	// ReplyBytes. Labels in it are taken off, and their origins and that of the tool
	// become a part of the label of whatever the script says from then on. So does
	// "tool:" and the name where results of the tool are trusted, unless it is
	// [tools.Remote]: whoever replies is not the tool.
	Value json.RawMessage
	// Error makes the call fail.
	Error *ReplyError
	// Allow has the tool run now: somebody who may has allowed this call, and the
	// policy is not asked again. Not for [tools.Remote].
	Allow bool
}

// ReplyError is how a call failed, as the script sees it.
type ReplyError struct {
	// Name is an identifier of at most 64 letters, digits and _; empty means
	// "ToolError". "DeniedError" says that the call was refused.
	Name string
	// Message is valid UTF-8 of at most [spi.MaxErrorMessageBytes].
	Message string
}

// settled is a reply that was checked.
type settled struct {
	call    *call
	value   json.RawMessage
	failure *tools.Failure
	claimed []string // origins of labels in value
	known   string   // the origin of the reply
}

// reopen takes up the calls that waited.
func (c *calls) reopen(pending []pendingCall) {
	for _, p := range pending {
		c.keep(&call{id: p.ID, function: p.Function, tool: c.job.granted[p.Function], args: p.Args, at: p.At, state: callSuspended})
	}
}

// settle checks all replies, before anything is done with one. Each call is taken
// by one reply.
func (c *calls) settle(replies []Reply) ([]settled, error) {
	all := make([]settled, 0, len(replies))
	taken := make(map[int64]bool, len(replies))
	bytes := c.ledger.ReplyBytes
	for i := range replies {
		r := &replies[i]
		field := fmt.Sprintf("replies[%d]", i)
		open := c.open[r.ID]
		switch {
		case open == nil:
			return nil, &RequestError{field + ".id", "is not that of a pending call"}
		case taken[r.ID]:
			return nil, &RequestError{field + ".id", "was replied to before; allowed is one reply to a call"}
		}
		taken[r.ID] = true
		s, err := c.settleOne(field, r, open)
		if err != nil {
			return nil, err
		}
		if bytes += int64(len(s.value)); bytes > c.job.limits.ReplyBytes {
			return nil, &RequestError{field + ".value", fmt.Sprintf("makes the results of all calls larger than %s of %d", LimitReplyBytes, c.job.limits.ReplyBytes)}
		}
		all = append(all, s)
	}
	return all, nil
}

func (c *calls) settleOne(field string, r *Reply, open *call) (settled, error) {
	s := settled{call: open}
	info, _ := c.job.tools.Tool(open.tool)
	switch {
	case len(r.Value) > 0 && r.Error == nil && !r.Allow:
		if err := c.takeValue(field, r, &s); err != nil {
			return s, err
		}
	case r.Error != nil && len(r.Value) == 0 && !r.Allow:
		if !isErrorName(r.Error.Name) {
			return s, &RequestError{field + ".error.name", "is not allowed; allowed is an identifier of up to 64 letters, digits and _"}
		}
		if len(r.Error.Message) > spi.MaxErrorMessageBytes || !utf8.ValidString(r.Error.Message) {
			return s, &RequestError{field + ".error.message", fmt.Sprintf("must be at most %d bytes of UTF-8", spi.MaxErrorMessageBytes)}
		}
		s.failure = &tools.Failure{Name: r.Error.Name, Message: r.Error.Message, Code: tools.CodeFailed}
		if r.Error.Name == tools.NameDenied {
			s.failure.Denied, s.failure.Code = true, tools.CodePolicy
		}
		s.known = replyOrigin(&info)
	case r.Allow && len(r.Value) == 0 && r.Error == nil:
		if info.Remote {
			return s, &RequestError{field + ".allow", "is not possible: the tool is run by the client; allowed is value or error"}
		}
	default:
		return s, &RequestError{field, "must have exactly one of value, error and allow"}
	}
	return s, nil
}

// takeValue checks a result that came from elsewhere like one of the tool's own.
func (c *calls) takeValue(field string, r *Reply, s *settled) error {
	stripped, claimed, err := unlabel(field+".value", r.Value)
	if err != nil {
		return err
	}
	info, _ := c.job.tools.Tool(s.call.tool)
	a := c.job.tools.AnswerWith(c.asked(s.call), stripped)
	if a.Failure != nil {
		return &RequestError{field + ".value", "is not what the tool returns: " + a.Failure.Message}
	}
	s.value, s.claimed, s.known = a.Value, claimed, replyOrigin(&info)
	return nil
}

// replyOrigin is the label of what somebody replies for a tool.
func replyOrigin(tool *tools.Info) string {
	if tool.Origin == "" && !tool.Remote {
		return "tool:" + tool.Name
	}
	return tool.Origin
}

// apply gives the script what was settled, and has the calls that were allowed
// begin.
func (c *calls) apply(all []settled) {
	for i := range all {
		s := &all[i]
		c.from.know(s.known)
		c.from.add(s.claimed...)
		switch {
		case s.failure != nil:
			c.fail(s.call, s.failure, 0)
		case s.value != nil:
			c.fulfil(s.call, s.value, 0)
		default:
			s.call.state, s.call.allowed = callQueued, true
			c.queue = append(c.queue, s.call)
		}
	}
}

func isErrorName(name string) bool {
	const most = 64
	return len(name) <= most && strings.IndexFunc(name, func(r rune) bool {
		return r > unicode.MaxASCII || r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}
