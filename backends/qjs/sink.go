package qjs

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// sink takes what the guest tells in one eval, within bounds, copied.
type sink struct {
	limits spi.Limits

	mu        sync.Mutex // a guest that is not waited for may still tell
	over      bool       // nobody listens any more
	logs      []spi.LogLine
	logBytes  int64
	truncated bool
	// The first ending told is the one that counts: a value, or a failure.
	ended     bool
	value     []byte
	valueType spi.ValueType
	tooLarge  bool
	failure   *failure
}

// failure is an error of the script's as the prelude tells it.
type failure struct {
	kind                 spi.Kind
	Name, Message, Stack string
	Shift                int // columns of line 1 that are the prelude's
}

// take takes one message: an operation and JSON text, which is the guest's and
// valid only while this runs. What an honest prelude does not say is dropped. It
// reports whether no more log lines are kept.
func (s *sink) take(op string, payload []byte) (full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return false
	}
	switch op {
	case "log", "info", "warn", "error", "debug":
		s.log(spi.Level(op), payload)
	default:
		s.end(op, payload)
	}
	return s.truncated
}

// end takes how the script ended, the first time.
func (s *sink) end(op string, payload []byte) {
	if s.ended {
		return
	}
	switch kind := spi.Kind(op); kind {
	case spi.KindSyntax, spi.KindException, spi.KindUnserializable:
		f := &failure{kind: kind}
		if len(payload) < 256<<10 && json.Unmarshal(payload, f) == nil {
			s.failure, s.ended = f, true
		}
		return
	}
	t, ok := strings.CutPrefix(op, "result:")
	if !ok {
		return
	}
	switch spi.ValueType(t) {
	case spi.TypeUndefined, spi.TypeNull, spi.TypeBoolean, spi.TypeNumber, spi.TypeString,
		spi.TypeArray, spi.TypeObject, spi.TypeFunction, spi.TypeSymbol:
	default:
		return
	}
	s.ended, s.valueType = true, spi.ValueType(t)
	if s.tooLarge = int64(len(payload)) > s.limits.OutputBytes; !s.tooLarge {
		s.value = wholePairs(bytes.Clone(payload))
	}
}

// log keeps a line while there is room, with one byte for its line end. The
// line that does not fit is cut at a character, and no later one is kept. The
// number of lines is bounded, too: an empty one costs more than its byte.
func (s *sink) log(level spi.Level, payload []byte) {
	room := s.limits.LogBytes - s.logBytes - 1
	full := s.truncated || room < 0 || int64(len(s.logs)) >= 1024+s.limits.LogBytes/64
	// A byte of text is at most six of JSON, and the prelude cuts.
	if full || int64(len(payload)-3)/6 >= s.limits.LogBytes {
		s.truncated = true
		return
	}
	var text string
	if json.Unmarshal(payload, &text) != nil {
		return
	}
	if int64(len(text)) > room {
		text, s.truncated = cut(text, int(room)), true
	}
	s.logs = append(s.logs, spi.LogLine{Level: level, Text: text})
	s.logBytes += int64(len(text)) + 1
}

// close ends the listening and fills in what the eval leaves on every path.
func (s *sink) close(out *spi.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	out.Logs, out.LogsTruncated, out.Usage.LogBytes = s.logs, s.truncated, s.logBytes
}

// wholePairs replaces, in place, escaped halves of surrogate pairs by U+FFFD:
// JSON.stringify lets them through, and strict decoders refuse them.
func wholePairs(text []byte) []byte {
	for i := 0; i < len(text)-1; i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // what is escaped
		switch half(text[i:]) {
		case 0:
		case 1:
			if next := i + 5; next < len(text) && text[next] == '\\' && half(text[next+1:]) == 2 {
				i = next + 5
				continue
			}
			fallthrough
		default:
			copy(text[i:], "ufffd")
		}
	}
	return text
}

// half tells whether "uXXXX" is the first (1) or second (2) half of a pair.
func half(text []byte) int {
	if len(text) < 5 || text[0] != 'u' || text[1]|0x20 != 'd' {
		return 0
	}
	switch c := text[2] | 0x20; {
	case c == '8' || c == '9' || c == 'a' || c == 'b':
		return 1
	case c >= 'c' && c <= 'f':
		return 2
	}
	return 0
}

// cut shortens to at most n bytes without splitting a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// bounded is at most limit bytes of valid UTF-8; what is cut ends with "…".
func bounded(text string, limit int) string {
	const mark = "…"
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	return cut(text, limit-len(mark)) + mark
}
