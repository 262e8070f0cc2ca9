package quickjs

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// Operations of the prelude's host.emit(op, text). The prelude has the same
// table; a test compares them.
const (
	opLog          = 0 // and one for each level of levels
	opAdvance      = 16
	opErrorName    = 32
	opErrorMessage = 33
	opErrorStack   = 34
	opErrorBrand   = 35 // the error is one that the engine throws when its stack is used up
	opUnserial     = 36 // the result cannot be JSON; the text says what and where
	opErrorClasses = 37 // names of the error's class and those it extends, a line each
	opCall         = 48 // a host function is called: its name and arguments
	opEvent        = 49 // an event of the script's: its type and data
	opCallLimited  = 51 // was the call that was not taken one too many, or too large?
	opErrorCall    = 50 // the error is one that the host gave: the ID of its call, or 0
	opResult       = 64 // and one for each type of valueTypes
)

func levels() []spi.Level {
	return []spi.Level{spi.LevelLog, spi.LevelInfo, spi.LevelWarn, spi.LevelError, spi.LevelDebug}
}

func valueTypes() []spi.ValueType {
	return []spi.ValueType{
		spi.TypeUndefined, spi.TypeNull, spi.TypeBoolean, spi.TypeNumber, spi.TypeString,
		spi.TypeArray, spi.TypeObject, spi.TypeFunction, spi.TypeSymbol,
	}
}

// sink takes what the guest emits in one eval, within bounds, copied.
type sink struct {
	maxOutput, maxLogs int64

	logs      []spi.LogLine
	logBytes  int64
	truncated bool

	events, eventBytes int64
	eventsTruncated    bool

	completed bool
	value     []byte
	valueType spi.ValueType
	tooLarge  bool
	unserial  bool

	thrown thrown
}

// thrown is an error as the prelude describes it.
type thrown struct {
	name, message, stack string
	engine               bool // opErrorBrand
	classes              []string
	line                 int // in the script, where the host knows it better than the stack
	ofCall               bool
	call                 int64
}

// emit takes one message. It answers 1, or 0 where the guest need not go on
// with this kind: a log line that is not kept.
func (h *Host) emit(op, address, length uint32) uint64 {
	text, ok := window(h.inst.Memory(), address, length)
	if !ok {
		return 0
	}
	s := &h.sink
	switch {
	case op < uint32(len(levels())):
		return h.log(levels()[op], text)
	case op == opCall:
		return h.takeCall(text)
	case op == opCallLimited:
		if !h.calls.limited {
			return 0
		}
	case op == opEvent:
		return h.takeEvent(text)
	case op == opErrorCall:
		id, err := strconv.ParseInt(string(cut(text, 20)), 10, 64)
		s.thrown.call, s.thrown.ofCall = id, err == nil
	case op == opAdvance:
		if len(text) > 32 {
			return 0
		}
		ms, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return 0
		}
		h.advance(ms)
	case op == opErrorName:
		s.thrown.name = bounded(text, spi.MaxErrorNameBytes)
	case op == opErrorMessage:
		s.thrown.message = bounded(text, spi.MaxErrorMessageBytes)
	case op == opErrorStack:
		s.thrown.stack = bounded(ownFrames(cut(text, 4*spi.MaxErrorStackBytes)), spi.MaxErrorStackBytes)
	case op == opErrorClasses:
		s.thrown.classes = strings.Split(bounded(text, spi.MaxErrorNameBytes), "\n")
	case op == opErrorBrand:
		s.thrown.engine = true
	case op == opUnserial:
		s.unserial = true
		s.thrown.message = bounded(text, spi.MaxErrorMessageBytes)
	case op >= opResult && op < opResult+uint32(len(valueTypes())) && h.inst.Global(GlobalFinishing) != 0:
		// A result is only taken while the driver asks for it.
		return s.result(valueTypes()[op-opResult], text)
	default:
		return 0
	}
	return 1
}

// log keeps a line while there is room, with one byte for its line end. The
// line that does not fit is cut at a character, and no later one is kept.
func (h *Host) log(level spi.Level, text []byte) uint64 {
	s := &h.sink
	room := s.maxLogs - s.logBytes - 1
	if s.truncated || room < 0 || int64(len(s.logs)) >= maxLines(s.maxLogs) {
		s.truncated = true
		return 0
	}
	if int64(len(text)) > room {
		text = cut(text, int(room))
		s.truncated = true
	}
	line := valid(text)
	if int64(len(line)) > room { // repairing made it longer
		line = string(cut([]byte(line), int(room)))
		s.truncated = true
	}
	s.logs = append(s.logs, spi.LogLine{Level: level, Text: line})
	s.logBytes += int64(len(line)) + 1
	if h.observer != nil {
		kept := s.logs[len(s.logs)-1]
		h.observer.Notice(spi.Notice{Log: &kept})
	}
	if s.truncated {
		return 0
	}
	return 1
}

// maxLines bounds the number of lines kept: an empty one costs its reader and us
// more than the byte that it counts for.
func maxLines(maxLogs int64) int64 { return 1024 + maxLogs/128 }

// result takes the value, once. What is too large is not copied.
func (s *sink) result(t spi.ValueType, text []byte) uint64 {
	if s.completed {
		return 0
	}
	s.completed = true
	s.valueType = t
	if int64(len(text)) > s.maxOutput && (int64(len(text)) > 2*s.maxOutput || !halfPairs(text)) {
		s.tooLarge = true
		return 0
	}
	s.value = append(make([]byte, 0, len(text)), text...)
	return 1
}

// bounded is valid UTF-8 of at most limit bytes; what is cut ends with "…".
func bounded(text []byte, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		if s := valid(text); len(s) <= limit {
			return s
		}
	}
	s := valid(cut(text, limit))
	return string(cut([]byte(s), limit-len(mark))) + mark
}

// valid replaces what is not UTF-8, such as half of a surrogate pair, by U+FFFD.
func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\ufffd") }

// cut shortens to at most n bytes without splitting a character.
func cut(text []byte, n int) []byte {
	if n < 0 {
		n = 0
	}
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// preludeName is what error stacks call the prelude.
const preludeName = "sandboxd"

// ownFrames leaves the prelude's frames out of a stack: they say nothing to
// whoever wrote the script.
func ownFrames(stack []byte) []byte {
	ours := []byte("(" + preludeName + ":")
	if !bytes.Contains(stack, ours) {
		return stack
	}
	var kept []byte
	for line := range bytes.Lines(stack) {
		if !bytes.Contains(line, ours) {
			kept = append(kept, line...)
		}
	}
	return kept
}
