package quickjs

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// say emits a text as the guest does.
func say(h *Host, inst *fakeInstance, op uint32, text string) uint64 {
	return h.emit(op, 0, uint32(copy(inst.memory, text)))
}

func TestLogsAreExactToTheByte(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(256, testLimits()) // 32 bytes
	assert.EqualValues(t, 1, say(h, inst, 0, strings.Repeat("a", 15)))
	assert.EqualValues(t, 1, say(h, inst, 2, strings.Repeat("b", 15)))
	assert.EqualValues(t, 32, h.sink.logBytes)
	assert.False(t, h.sink.truncated)
	assert.EqualValues(t, 0, say(h, inst, 0, ""))
	assert.True(t, h.sink.truncated)
	assert.Len(t, h.sink.logs, 2)
	assert.Equal(t, spi.LogLine{Level: spi.LevelWarn, Text: strings.Repeat("b", 15)}, h.sink.logs[1])
}

func TestALineThatDoesNotFitIsCutAtACharacter(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(256, testLimits())
	assert.EqualValues(t, 0, say(h, inst, 0, strings.Repeat("é", 20)))
	require.Len(t, h.sink.logs, 1)
	assert.Equal(t, strings.Repeat("é", 15), h.sink.logs[0].Text)
	assert.EqualValues(t, 31, h.sink.logBytes)
	assert.EqualValues(t, 0, say(h, inst, 0, "x"), "after a cut nothing more is kept")
	require.Len(t, h.sink.logs, 1)
}

func TestNoLogsAreKeptWhereNoneAreAllowed(t *testing.T) {
	t.Parallel()
	limits := testLimits()
	limits.LogBytes = 0
	h, inst := newTestHost(256, limits)
	assert.EqualValues(t, 0, say(h, inst, 0, ""))
	assert.Empty(t, h.sink.logs)
	assert.True(t, h.sink.truncated)
}

func TestALineThatIsNotKeptCostsNoAllocation(t *testing.T) {
	limits := testLimits()
	limits.LogBytes = 8
	h, inst := newTestHost(1<<16, limits)
	copy(inst.memory, "a line that is longer than what is left")
	h.emit(opLog, 0, 39)
	require.True(t, h.sink.truncated)
	assert.Zero(t, testing.AllocsPerRun(100, func() { h.emit(opLog, 0, 39) }))
	require.Len(t, h.sink.logs, 1)
}

func TestAResultIsTakenOnceAndOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(256, testLimits())
	assert.EqualValues(t, 0, say(h, inst, opResult+3, "1"))
	assert.False(t, h.sink.completed)
	h.inst.SetGlobal(GlobalFinishing, 1)
	assert.EqualValues(t, 1, say(h, inst, opResult+3, "2"))
	assert.EqualValues(t, 0, say(h, inst, opResult+4, "3"))
	assert.Equal(t, "2", string(h.sink.value))
	assert.Equal(t, spi.TypeNumber, h.sink.valueType)
}

func TestAResultOverTheLimitIsNotCopied(t *testing.T) {
	t.Parallel()
	h, inst := newTestHost(256, testLimits())
	h.inst.SetGlobal(GlobalFinishing, 1)
	assert.EqualValues(t, 0, say(h, inst, opResult+4, strings.Repeat("x", 65)))
	assert.True(t, h.sink.tooLarge)
	assert.Nil(t, h.sink.value)
}

func TestErrorTextsAreBoundedAndValid(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"long": strings.Repeat("x", 1000), "long wide": strings.Repeat("€", 300), "broken": strings.Repeat("\xff", 300),
		"broken at the cut": strings.Repeat("x", 254) + "\xe2\x82",
	} {
		got := bounded([]byte(text), 256)
		assert.LessOrEqual(t, len(got), 256, name)
		assert.True(t, utf8.ValidString(got), name)
	}
	assert.Equal(t, "short", bounded([]byte("short"), 256))
	assert.True(t, strings.HasSuffix(bounded([]byte(strings.Repeat("x", 257)), 256), "x…"))
}

func TestPlaceIsTheScriptsFirstFrame(t *testing.T) {
	t.Parallel()
	for stack, want := range map[string]place{
		"    at f (script.js:3:7)\n    at <eval> (script.js:9:1)\n": {3, 7},
		"    at apply (native)\n    at g (script.js:2:1)":           {2, 1},
		"    at script.js:4:5\n":                                    {4, 5},
		"script.js:":                                                {},
		"script.js:7":                                               {},
		"script.js:7:":                                              {},
		"script.js:0:1\nscript.js:1:0\nscript.js:5:6":               {5, 6},
		"script.js:99999999999999:1":                                {},
		"script.js:-1:2":                                            {},
		"":                                                          {},
	} {
		s := thrown{stack: stack}
		assert.Equal(t, want, s.place(), "%q", stack)
	}
}

func TestTheConstructorsOfAnErrorAreNotWhereItWasThrown(t *testing.T) {
	t.Parallel()
	s := thrown{stack: "    at Base (script.js:1:2)\n    at Own (script.js:2:3)\n    at Base (script.js:9:9)\n    at <eval> (script.js:5:1)\n", classes: []string{"Own", "Base", ""}}
	assert.Equal(t, place{9, 9}, s.place(), "each of them once")
	s.classes = []string{"Other"}
	assert.Equal(t, place{1, 2}, s.place())
}

func TestPreludeAndHostUseTheSameNumbers(t *testing.T) {
	t.Parallel()
	text := ""
	for _, name := range []string{"primordials", "main"} {
		b, err := os.ReadFile("prelude/" + name + ".js")
		require.NoError(t, err)
		text += string(b)
	}
	for name, want := range map[string]int{
		"ADVANCE": opAdvance, "ERROR_NAME": opErrorName, "ERROR_MESSAGE": opErrorMessage, "ERROR_STACK": opErrorStack,
		"ERROR_BRAND": opErrorBrand, "UNSERIALIZABLE": opUnserial, "ERROR_CLASSES": opErrorClasses, "RESULT": opResult,
		"LOG": 0, "INFO": 1, "WARN": 2, "ERROR": 3, "DEBUG": 4,
	} {
		re := regexp.MustCompile(`(?m)^(?:OP\.|\s+)` + name + `(?::| =) (\d+)[,;]`)
		found := re.FindStringSubmatch(text)
		require.NotNil(t, found, name)
		assert.EqualValues(t, json.Number(found[1]), json.Number(jsonNumber(want)), name)
	}
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

func TestValuesAreCheckedAndRepaired(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for name, c := range map[string]struct{ in, out, problem string }{
		"number":                    {`1`, `1`, ""},
		"object":                    {`{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, ""},
		"lone surrogate":            {`"a\ud800b"`, "\"a\ufffdb\"", ""},
		"upper-case lone surrogate": {`"\uDC00"`, "\"\ufffd\"", ""},
		"pair":                      {`"\ud83d\ude00"`, `"😀"`, ""},
		"escaped backslash":         {`"\\ud800"`, `"\\ud800"`, ""},
		"names that become equal":   {`{"\ud800":1,"\ud801":2}`, "", "two names"},
		"equal names":               {`{"a":1,"a":2}`, "", "two names"},
		"as deep as allowed":        {deep(MaxValueDepth), deep(MaxValueDepth), ""},
		"too deep":                  {deep(MaxValueDepth + 1), "", "nested deeper than 5000"},
		"far too deep":              {deep(200_000), "", "nested deeper than 5000"},
		"nothing":                   {``, "", "not valid JSON"},
		"two values":                {`1 2`, "", "not one JSON value"},
		"open":                      {`[1`, "", "not valid JSON"},
		"not JSON":                  {`undefined`, "", "not valid JSON"},
		"invalid UTF-8":             {"\"\xff\"", "", "not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := checkValue([]byte(c.in))
			if c.problem != "" {
				require.ErrorContains(t, err, c.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.out, string(got))
		})
	}
}

// FuzzOutcomeDecode: whatever an owned guest emits, with whatever pointers,
// lengths and texts, and however its functions answer, the outcome is bounded,
// valid, and never a success without a completion.
func FuzzOutcomeDecode(f *testing.F) {
	message := func(op, address, length uint32) []byte {
		var b []byte
		for _, v := range []uint32{op, address, length} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		return b
	}
	f.Add(message(opResult+3, 0, 1), []byte("1"), uint8(0), uint64(0))
	f.Add(append(message(0, 0, 1<<31), message(opResult+6, 4, 20)...), []byte("    {\"a\":\"\\ud800\"}     "), uint8(0), uint64(jsException))
	f.Add(append(message(opErrorStack, 0, 40), message(opErrorBrand, 0, 0)...), []byte("    at f (script.js:3:7)\n"), uint8(1), uint64(1))
	f.Add(message(opUnserial, 2, 6), []byte("\xff\xfe\xfd\x80\x80\x80\x80"), uint8(2), ^uint64(0))
	f.Fuzz(func(t *testing.T, messages, memory []byte, ending uint8, answer uint64) {
		h, inst := newTestHost(0, testLimits())
		inst.memory = memory
		h.inst.SetGlobal(GlobalFinishing, 1)
		for len(messages) >= 12 {
			h.emit(binary.LittleEndian.Uint32(messages), binary.LittleEndian.Uint32(messages[4:]), binary.LittleEndian.Uint32(messages[8:]))
			messages = messages[12:]
		}
		completed := h.sink.completed
		// A guest whose exports answer anything, too.
		calls := 0
		inst.call = func(stack []uint64) error {
			if calls++; calls > 50 {
				return errStopped
			}
			stack[0] = answer
			return nil
		}
		e := &eval{img: &Image{handles: handles{Scratch: uint32(answer)}}, inst: inst, h: h}
		failure := []error{nil, errThrown, errUnserializable, errTrapped, errTooLarge, errSyntax, errDeadlock, errCorrupt}[int(ending)%8]
		if ending >= 128 {
			var p program
			if p, failure = e.compile("1"); failure == nil {
				failure = e.run(p, []byte("null"))
			}
			completed = h.sink.completed
		}
		out := e.outcome(failure, "1")
		require.NotEqual(t, out.Value == nil, out.Error == nil)
		if out.Error == nil {
			require.True(t, completed)
			require.NoError(t, failure)
			require.True(t, json.Valid(out.Value))
			require.LessOrEqual(t, int64(len(out.Value)), int64(64))
			require.Contains(t, valueTypes(), out.ValueType)
		} else {
			require.Contains(t, spi.Kinds(), out.Error.Kind)
			require.LessOrEqual(t, len(out.Error.Name), spi.MaxErrorNameBytes)
			require.LessOrEqual(t, len(out.Error.Message), spi.MaxErrorMessageBytes)
			require.LessOrEqual(t, len(out.Error.Stack), spi.MaxErrorStackBytes)
			for _, s := range []string{out.Error.Name, out.Error.Message, out.Error.Stack} {
				require.True(t, utf8.ValidString(s))
			}
			require.True(t, out.Error.Line >= 0 && out.Error.Line <= 1)
		}
		kept := int64(0)
		for _, l := range out.Logs {
			require.Contains(t, levels(), l.Level)
			require.True(t, utf8.ValidString(l.Text))
			kept += int64(len(l.Text)) + 1
		}
		require.LessOrEqual(t, kept, int64(32))
		require.Equal(t, kept, out.Usage.LogBytes)
	})
}
