package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/loom-sandbox/sandboxd/spi"
)

// subject is the backend as one check sees it. Its methods may be called from
// several goroutines.
type subject struct {
	backend    spi.Backend
	descriptor spi.Descriptor
	slow       float64
	another    func(context.Context) (spi.Backend, error) // makes one more; the check closes it

	mu   sync.Mutex
	open []spi.Isolate  // guarded by mu
	kept []spi.Prepared // guarded by mu
}

// cleanUp closes what the check opened and prepared. Whether that works is
// judged by the checks of the group CLOSE.
func (s *subject) cleanUp() {
	s.mu.Lock()
	open, kept := s.open, s.kept
	s.open, s.kept = nil, nil
	s.mu.Unlock()
	for _, iso := range open {
		_ = iso.Close()
	}
	for _, p := range kept {
		_ = p.Close()
	}
}

// allow is a time that a check gives, on a machine as slow as the harness says.
func (s *subject) allow(d time.Duration) time.Duration {
	return time.Duration(float64(d) * s.slow)
}

// slack is for a busy machine, where a program gets no processor now and then.
const slack = 2 * time.Second

// latest is when an eval with this timeout must have returned: what the
// descriptor says, and the slack.
func (s *subject) latest(timeout time.Duration) time.Duration {
	e, _ := s.descriptor.EnforcementOf(spi.LimitTimeout)
	return timeout + time.Duration(e.Granularity) + s.allow(slack)
}

// Where the checks' clocks and random numbers start.
func checkTime() time.Time { return time.Date(2031, 3, 14, 15, 9, 26, 535_000_000, time.UTC) }

const checkSeed = 271828

// cramped reports whether even the usual cap is so small that a script of some
// size may run out of memory.
func (s *subject) cramped() bool { return s.config().Limits.MemoryBytes < 16<<20 }

// memory is a cap that the backend offers, as near as possible to want.
func (s *subject) memory(want int64) int64 {
	return min(max(want, s.descriptor.MinMemoryBytes), s.descriptor.MaxMemoryBytes)
}

// config is what a check opens an isolate with unless it says otherwise: the
// limits are roomy and finite.
func (s *subject) config(changes ...func(*spi.Config)) *spi.Config {
	cfg := &spi.Config{
		Limits: spi.Limits{
			Timeout: s.allow(10 * time.Second), MemoryBytes: s.memory(64 << 20),
			OutputBytes: 1 << 20, LogBytes: 64 << 10,
		},
		Now: checkTime(), Seed: checkSeed,
	}
	for _, change := range changes {
		change(cfg)
	}
	return cfg
}

// isolate opens one; it is closed at the check's end.
func (s *subject) isolate(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
	iso, err := s.openIsolate(ctx, changes...)
	if err != nil {
		return nil, err
	}
	s.closeLater(iso)
	return iso, nil
}

func (s *subject) closeLater(iso spi.Isolate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = append(s.open, iso)
}

// openIsolate opens one that the caller closes.
func (s *subject) openIsolate(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
	return opened(s.backend.Open(ctx, s.config(changes...)))
}

// opened demands an isolate or an error.
func opened(iso spi.Isolate, err error) (spi.Isolate, error) {
	switch {
	case err != nil:
		return nil, fmt.Errorf("Open: %w", err)
	case iso == nil:
		return nil, errors.New("Open returned no isolate and no error")
	}
	return iso, nil
}

// request is a script with its input, null if empty.
func request(source, input string) *spi.Request {
	if input == "" {
		input = "null"
	}
	return &spi.Request{Source: source, Language: spi.JavaScript, Input: json.RawMessage(input)}
}

// evalIn runs a script in an isolate and holds the outcome to what every
// outcome must be.
func (s *subject) evalIn(ctx context.Context, iso spi.Isolate, source, input string) (*spi.Outcome, error) {
	out, err := iso.Eval(ctx, request(source, input))
	if err != nil {
		return nil, fmt.Errorf("Eval: %w", err)
	}
	if err := wellFormed(out); err != nil {
		return nil, err
	}
	if out.Error != nil {
		if err := withinSource(out.Error, source); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// eval runs a script in an isolate of its own, which is closed before it returns.
func (s *subject) eval(ctx context.Context, source, input string, changes ...func(*spi.Config)) (*spi.Outcome, error) {
	iso, err := s.openIsolate(ctx, changes...)
	if err != nil {
		return nil, err
	}
	return s.evalOnce(ctx, iso, source, input)
}

// evalOnce runs a script in an isolate and closes that.
func (s *subject) evalOnce(ctx context.Context, iso spi.Isolate, source, input string) (out *spi.Outcome, err error) {
	defer func() { // also where Eval panics
		if closeErr := iso.Close(); err == nil && closeErr != nil {
			out, err = nil, fmt.Errorf("closing the isolate: %w", closeErr)
		}
	}()
	return s.evalIn(ctx, iso, source, input)
}

// wellFormed checks what holds for every outcome of a script that was handed no
// functions, whatever the script.
func wellFormed(out *spi.Outcome) error {
	if out != nil && out.Waits() {
		return fmt.Errorf("the script waits for the reply to %s, and it was handed no functions", clip(out.Pending[0].Function))
	}
	return wellFormedPart(out)
}

// wellFormedPart checks what holds for every outcome.
func wellFormedPart(out *spi.Outcome) error {
	if out == nil {
		return errors.New("Eval returned no outcome and no error")
	}
	switch {
	case len(out.Value) == 0 && out.Error == nil && !out.Waits():
		return errors.New("outcome has neither a value nor an error")
	case len(out.Value) != 0 && out.Error != nil:
		return fmt.Errorf("outcome has a value and an error (%s)", out.Error.Kind)
	}
	u := &out.Usage
	if min(u.Fuel, int64(u.Wall), u.MemoryPeakBytes, u.OutputBytes, u.LogBytes, u.HostCalls, u.CallBytes) < 0 {
		return fmt.Errorf("usage has a negative part: %+v", *u)
	}
	var logBytes int64
	for i, l := range out.Logs {
		if !slices.Contains([]spi.Level{spi.LevelLog, spi.LevelInfo, spi.LevelWarn, spi.LevelError, spi.LevelDebug}, l.Level) {
			return fmt.Errorf("log line %d has the level %q", i+1, l.Level)
		}
		if !utf8.ValidString(l.Text) {
			return fmt.Errorf("log line %d is not valid UTF-8: %q", i+1, clip(l.Text))
		}
		logBytes += int64(len(l.Text)) + 1
	}
	if logBytes != u.LogBytes {
		return fmt.Errorf("usage says %d bytes of logs, the lines have %d", u.LogBytes, logBytes)
	}
	if err := wellFormedCalls(out); err != nil || out.Waits() {
		return err
	}
	if out.Error != nil {
		return wellFormedError(out.Error)
	}
	return wellFormedValue(out)
}

func wellFormedError(e *spi.ScriptError) error {
	if !slices.Contains(spi.Kinds(), e.Kind) {
		return fmt.Errorf("error has the kind %q, which is not one of the frozen kinds", e.Kind)
	}
	for _, part := range []struct {
		what, text string
		most       int
	}{
		{"name", e.Name, spi.MaxErrorNameBytes}, {"message", e.Message, spi.MaxErrorMessageBytes}, {"stack", e.Stack, spi.MaxErrorStackBytes},
	} {
		switch {
		case len(part.text) > part.most:
			return fmt.Errorf("error's %s has %d bytes; allowed is %d", part.what, len(part.text), part.most)
		case !utf8.ValidString(part.text):
			return fmt.Errorf("error's %s is not valid UTF-8: %q", part.what, clip(part.text))
		}
	}
	noLimit := []spi.Kind{
		spi.KindSyntax, spi.KindException, spi.KindUnserializable, spi.KindDeadlock, spi.KindDenied, spi.KindCancelled, spi.KindKilled, spi.KindBackend,
	}
	// A call that a limit refuses is a denial, and no other is for a limit.
	ofCalls := e.Kind == spi.KindDenied && e.Limit != nil && (e.Limit.Name == spi.LimitHostCalls || e.Limit.Name == spi.LimitCallBytes)
	if e.Limit != nil && slices.Contains(noLimit, e.Kind) && !ofCalls {
		return fmt.Errorf("error of the kind %s names the limit %s", e.Kind, e.Limit.Name)
	}
	if e.Line < 0 || e.Column < 0 || e.Line == 0 && e.Column != 0 {
		return fmt.Errorf("error is at line %d, column %d", e.Line, e.Column)
	}
	return nil
}

func wellFormedValue(out *spi.Outcome) error {
	types := []spi.ValueType{
		spi.TypeUndefined, spi.TypeNull, spi.TypeBoolean, spi.TypeNumber, spi.TypeString, spi.TypeArray,
		spi.TypeObject, spi.TypeFunction, spi.TypeSymbol,
	}
	if err := strictJSON(out.Value); err != nil {
		return fmt.Errorf("value %w", err)
	}
	switch {
	case !slices.Contains(types, out.ValueType):
		return fmt.Errorf("value has the type %q, which is not one of the value types", out.ValueType)
	case out.Usage.OutputBytes != int64(len(out.Value)):
		return fmt.Errorf("usage says %d bytes of output, the value has %d", out.Usage.OutputBytes, len(out.Value))
	}
	return nil
}

// clip keeps details short; what it cuts is not needed to see what is wrong.
func clip(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

// sameText compares two texts of JSON but for the blanks between their tokens.
func sameText(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// sameJSON compares two texts by meaning, numbers by their digits. What is not
// strict has no single meaning and is the same as nothing.
func sameJSON(a, b []byte) bool {
	decode := func(text []byte) (string, error) {
		if err := strictJSON(text); err != nil {
			return "", err
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			return "", err
		}
		canonical, err := json.Marshal(v)
		return string(canonical), err
	}
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && x == y
}
