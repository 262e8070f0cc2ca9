package quickjs

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/loom-sandbox/sandboxd/spi"
)

// watched keeps what an observer is told.
type watched struct{ notices []spi.Notice }

func (w *watched) Notice(n spi.Notice) { w.notices = append(w.notices, n) }

// callingHost may call n times, with so many bytes.
func callingHost(n, bytes int64) (*Host, *fakeInstance) {
	limits := testLimits()
	limits.HostCalls, limits.CallBytes = n, bytes
	h, inst := newTestHost(1<<16, limits)
	h.calls.handed = true
	return h, inst
}

func TestACallIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(10, 1000)
	h.source = "\n\nabc tools.a(1)"
	for _, text := range []string{
		`["tools.a","3:5"]`, `["tools.b.c","",1,{"x":[null]}]`, `[ "n" , "9:9" , 1 , 2 ]`, `["\u0000é","x",12345678901234567890,1.0]`, `["","3:99999999999"]`,
	} {
		require.EqualValues(t, 1, say(h, inst, opCall, text), text)
	}
	var got []string
	for _, c := range h.calls.pending {
		text, err := json.Marshal(c)
		require.NoError(t, err)
		got = append(got, string(text))
	}
	assert.Equal(t, []string{
		`{"ID":1,"Function":"tools.a","Args":[],"Line":3,"Column":5}`,
		`{"ID":2,"Function":"tools.b.c","Args":[1,{"x":[null]}],"Line":0,"Column":0}`,
		`{"ID":3,"Function":"n","Args":[1,2],"Line":0,"Column":0}`,
		`{"ID":4,"Function":"\u0000é","Args":[12345678901234567890,1.0],"Line":0,"Column":0}`,
		`{"ID":5,"Function":"","Args":[],"Line":0,"Column":0}`,
	}, got)
	assert.EqualValues(t, 5, inst.Global(GlobalWaiting), "what the driver knows")
}

func TestWhatIsNoCallIsNotTaken(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(10, 1000)
	for _, text := range []string{
		"", "1", `"tools.a"`, "{}", "[]", "[1]", `["a"]`, `["a",1]`, `["a",""`, `["a","",]`, `["a","",{"x":1,"x":2}]`, `["a",""] 1`, "[\"a\",\"\",\"\xff\"]",
		`["a","",` + strings.Repeat("[", MaxValueDepth) + strings.Repeat("]", MaxValueDepth) + "]",
	} {
		h.limits.CallBytes = 1 << 20
		assert.EqualValues(t, 0, say(h, inst, opCall, text), text)
	}
	assert.Empty(t, h.calls.pending)
	assert.Zero(t, h.calls.made)
	assert.Empty(t, h.calls.refused, "no limit was in the way")
}

func TestCallsAreBoundedExactly(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(2, 1000)
	assert.EqualValues(t, 1, say(h, inst, opCall, `["a",""]`))
	assert.EqualValues(t, 1, say(h, inst, opCall, `["a",""]`))
	assert.EqualValues(t, 0, say(h, inst, opCall, `["a",""]`))
	assert.Equal(t, spi.LimitHostCalls, h.calls.refused)

	h, inst = callingHost(10, 10)
	assert.EqualValues(t, 1, say(h, inst, opCall, `["name does not count","",123]`)) // [123]
	assert.EqualValues(t, 0, say(h, inst, opCall, `["a","",1234]`))
	assert.Equal(t, spi.LimitCallBytes, h.calls.refused)
	assert.EqualValues(t, 1, say(h, inst, opCall, `["a","",456]`))
	assert.EqualValues(t, 10, h.calls.bytes)
	assert.EqualValues(t, 0, say(h, inst, opCall, `["a","","`+strings.Repeat("x", 1<<14)+`"]`))

	h, inst = callingHost(0, 0)
	assert.EqualValues(t, 0, say(h, inst, opCall, `["a",""]`), "none is allowed")
}

func TestEventsHaveABudgetOfTheirOwn(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(0, 0) // 32 bytes of logs
	w := &watched{}
	h.observer = w
	assert.EqualValues(t, 1, say(h, inst, opLog, strings.Repeat("l", 31)))
	assert.EqualValues(t, 1, say(h, inst, opEvent, `["progress",{"a":1}]`))
	assert.EqualValues(t, 1, say(h, inst, opEvent, `["x",null]`))
	assert.EqualValues(t, 0, say(h, inst, opEvent, `["y"]`), "there is no room")
	assert.EqualValues(t, 0, say(h, inst, opEvent, `[""]`), "and none comes later")
	assert.True(t, h.sink.eventsTruncated)
	assert.False(t, h.sink.truncated)
	require.Len(t, w.notices, 3)
	assert.Len(t, w.notices[0].Log.Text, 31)
	assert.Equal(t, &spi.Event{Type: "progress", Data: json.RawMessage(`{"a":1}`)}, w.notices[1].Event)
	assert.Equal(t, &spi.Event{Type: "x", Data: json.RawMessage("null")}, w.notices[2].Event)
}

func TestRepliesAreForCallsThatWait(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(10, 1000)
	for range 3 {
		require.EqualValues(t, 1, say(h, inst, opCall, `["a",""]`))
	}
	ok := json.RawMessage("1")
	long := strings.Repeat("x", spi.MaxErrorMessageBytes)
	for name, replies := range map[string][]spi.Reply{
		"unknown":        {{ID: 4, Value: ok}},
		"zero":           {{Value: ok}},
		"negative":       {{ID: -1, Value: ok}},
		"huge":           {{ID: 1<<63 - 1, Value: ok}},
		"twice":          {{ID: 1, Value: ok}, {ID: 1, Value: ok}},
		"nothing":        {{ID: 1}},
		"both":           {{ID: 1, Value: ok, Error: &spi.CallError{}}},
		"no JSON":        {{ID: 1, Value: json.RawMessage("{")}},
		"two values":     {{ID: 1, Value: json.RawMessage("1 2")}},
		"the same names": {{ID: 1, Value: json.RawMessage(`{"a":1,"a":2}`)}},
		"no UTF-8":       {{ID: 1, Error: &spi.CallError{Message: "\xff"}}},
		"a long message": {{ID: 1, Error: &spi.CallError{Message: long + "x"}}},
		"a long name":    {{ID: 1, Error: &spi.CallError{Name: long}}},
		"one of two":     {{ID: 1, Value: ok}, {ID: 9, Value: ok}},
	} {
		require.ErrorIs(t, h.calls.checkReplies(replies), spi.ErrReply, name)
	}
	require.NoError(t, h.calls.checkReplies(nil))
	replies := []spi.Reply{
		{ID: 3, Value: json.RawMessage(`{"a":[1]}`)},
		{ID: 1, Error: &spi.CallError{Message: `no "x"`, Denied: true, Name: "DeniedError"}},
	}
	require.NoError(t, h.calls.checkReplies(replies))
	assert.Equal(t, `[[3,{"a":[1]}],[1,"DeniedError","no \"x\""]]`, string(h.settle(replies)))
	assert.EqualValues(t, 1, inst.Global(GlobalWaiting))
	require.ErrorIs(t, h.calls.checkReplies(replies[:1]), spi.ErrReply, "it was answered")
	assert.Equal(t, `[[2,"ToolError",""]]`, string(h.settle([]spi.Reply{{ID: 2, Error: &spi.CallError{}}})))
	assert.Nil(t, h.settle(nil))
}

func TestWhichCallFailedIsTheHostsToSay(t *testing.T) {
	t.Parallel()
	h, inst := callingHost(2, 1000)
	for range 2 {
		require.EqualValues(t, 1, say(h, inst, opCall, `["a",""]`))
	}
	h.settle([]spi.Reply{{ID: 1, Error: &spi.CallError{Denied: true}}, {ID: 2, Value: json.RawMessage("1")}})
	claims := func(text string) (int64, bool, bool) {
		h.sink.thrown = thrown{}
		say(h, inst, opErrorCall, text)
		return h.uncaught()
	}
	for text, want := range map[string]bool{"1": true, "2": false, "3": false, "-1": false, "": false, "1x": false, "0": false, strings.Repeat("9", 30): false} {
		_, _, ok := claims(text)
		assert.Equal(t, want, ok, text)
	}
	require.EqualValues(t, 0, say(h, inst, opCall, `["a",""]`))
	_, denied, ok := claims("0")
	assert.True(t, ok && denied, "one was refused for a limit")
	h.sink.thrown = thrown{}
	_, _, ok = h.uncaught()
	assert.False(t, ok, "the guest claims nothing")
}

// FuzzTakeCall: whatever a guest says, what is taken is within the limits and JSON.
func FuzzTakeCall(f *testing.F) {
	for _, seed := range []string{`["tools.a","1:2",{"x":1}]`, `["",""]`, `["a","b",]`, `[[],[]]`, "[\"\\ud800\",\"\",\"\\udc00\"]"} {
		f.Add(uint32(opCall), seed)
		f.Add(uint32(opEvent), seed)
		f.Add(uint32(opErrorCall), seed)
	}
	f.Fuzz(func(t *testing.T, op uint32, text string) {
		h, inst := callingHost(3, 64)
		w := &watched{}
		h.observer = w
		for range 5 {
			say(h, inst, op, text)
		}
		require.LessOrEqual(t, h.calls.made, int64(3))
		require.LessOrEqual(t, h.calls.bytes, int64(64))
		for _, c := range h.calls.pending {
			var args []json.RawMessage
			require.NoError(t, json.Unmarshal(c.Args, &args))
			require.LessOrEqual(t, len(c.Function), spi.MaxFunctionNameBytes)
		}
		for _, n := range w.notices {
			if n.Event != nil {
				require.True(t, json.Valid(n.Event.Data))
			}
		}
	})
}

func TestWhatIsNoStateIsRefused(t *testing.T) {
	t.Parallel()
	img := &Image{SHA256: "abc"}
	state := suspended(t, img)
	s, err := img.ReadState(state)
	require.NoError(t, err)
	assert.Equal(t, "memory", string(s.Memory()))
	for n := range len(state) - len("memory") {
		_, err := img.ReadState(state[:n])
		require.ErrorIs(t, err, spi.ErrState, "the first %d bytes", n)
	}
	for _, other := range []*Image{{SHA256: "abd"}, {}} {
		_, err := other.ReadState(state)
		require.ErrorIs(t, err, spi.ErrState)
	}
	for _, at := range []int{0, len(stateMagic), len(stateMagic) + 1, len(stateMagic) + 3} {
		changed := []byte(string(state))
		changed[at] ^= 0x55
		_, err := img.ReadState(changed)
		require.ErrorIs(t, err, spi.ErrState, "byte %d", at)
	}
}

// suspended is an isolate of an image as bytes, with a memory that is a text.
func suspended(t testing.TB, img *Image) []byte {
	t.Helper()
	h, inst := callingHost(3, 64)
	iso := NewIsolate(img, Lease{Instance: inst, Save: func(out []byte, _ [][2]int64) []byte { return append(out, "memory"...) }}, h, nil)
	state, err := iso.Suspend(context.Background(), 1<<20)
	require.NoError(t, err)
	_, err = iso.Suspend(context.Background(), int64(len(state))-1)
	require.ErrorIs(t, err, spi.ErrStateTooLarge)
	return state
}

// FuzzReadState: reading never panics, and what is read is of the image.
func FuzzReadState(f *testing.F) {
	img := &Image{SHA256: "abc"}
	f.Add(suspended(f, img))
	f.Add([]byte(stateMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := img.ReadState(data)
		if err != nil {
			require.ErrorIs(t, err, spi.ErrState)
			return
		}
		require.Equal(t, img.SHA256, s.record.Image)
		require.Equal(t, FormatVersion, s.record.Format)
	})
}
