package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/loom-sandbox/sandboxd/spi"
)

// stateOf is the state of an isolate in which a script ran; the isolate is open.
func (s *subject) stateOf(ctx context.Context, source string, changes ...func(*spi.Config)) (spi.Isolate, []byte, error) {
	iso, err := s.isolate(ctx, append([]func(*spi.Config){s.withLeisure(), s.withWaits()}, changes...)...)
	if err != nil {
		return nil, nil, err
	}
	out, err := s.evalIn(ctx, iso, source, "")
	if err == nil && out.Error != nil {
		err = fmt.Errorf("%s: ended with %s (%s)", clip(source), out.Error.Kind, clip(out.Error.Message))
	}
	if err != nil {
		return nil, nil, err
	}
	state, err := suspend(ctx, iso)
	return iso, state, err
}

// states are some of every kind: of an isolate in which nothing ran, one that ran
// and, where there are calls, one that waits.
func (s *subject) states(ctx context.Context) (map[string][]byte, error) {
	fresh, err := s.isolate(ctx)
	if err != nil {
		return nil, err
	}
	untouched, err := suspend(ctx, fresh)
	if err != nil {
		return nil, err
	}
	_, ran, err := s.stateOf(ctx, "globalThis.kept = Array.from({ length: 2000 }, (_, i) => ({ i })); kept.length")
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{"an isolate in which nothing ran": untouched, "an isolate": ran}
	if NeedHostCalls.declaredBy(&s.descriptor) {
		iso, err := s.isolate(ctx, s.withWaits())
		if err == nil {
			_, err = s.beginWaiting(ctx, iso, "console.log('x'); await tools.echo(1)")
		}
		if err == nil {
			all["a script that waits"], err = suspend(ctx, iso)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func stateTooLarge(ctx context.Context, s *subject) error {
	iso, state, err := s.stateOf(ctx, "globalThis.n = 'x'.repeat(100000); n.length")
	if err != nil {
		return err
	}
	sus, err := suspenderOf(iso)
	if err != nil {
		return err
	}
	size := int64(len(state))
	for _, most := range []int64{size - 1, size / 2, 1, 0, -1, size, size + 1, size - 1, 1 << 62} {
		got, err := sus.Suspend(ctx, most)
		switch {
		case most >= size && err != nil:
			return fmt.Errorf("a state of %d bytes, %d allowed: %w", size, most, err)
		case most >= size && int64(len(got)) != size:
			return fmt.Errorf("a state of %d bytes has %d another time", size, len(got))
		case most < size && err == nil:
			return fmt.Errorf("Suspend gave %d bytes, allowed were %d", len(got), most)
		case most < size:
			if err := wantOneOf("Suspend within too few bytes", err, spi.ErrStateTooLarge); err != nil {
				return err
			}
		}
	}
	return s.walk(ctx, iso, s.goesAway(), step{"n += 'y'; n.length", "100001"}, step{"n.length", "100001"})
}

// cuts are lengths of a state that was cut: every one at the beginning, some of
// all sizes after that, and the last.
func cuts(size int) []int {
	var lengths []int
	for n := 0; n < size; n += 1 + n/40 {
		lengths = append(lengths, n)
	}
	for n := max(0, size-20); n < size; n++ {
		lengths = append(lengths, n)
	}
	return lengths
}

func notAState(ctx context.Context, s *subject) error {
	for what, bytes := range map[string][]byte{
		"nothing": nil, "no bytes": {}, "a byte": {0}, "a text": []byte("state"), "JSON": []byte(`{"format":1,"image":"x"}`), "zeros": make([]byte, 1<<20),
		"noise": []byte(strings.Repeat("\x9e\x37\x79\xb9\x7f\x4a\x7c\x15", 10_000)), "a program": append([]byte("\x00asm\x01\x00\x00\x00"), make([]byte, 1000)...),
		"large numbers": slices.Repeat([]byte{0xff}, 5000),
	} {
		if err := s.wantNotResumed(ctx, what, s.resumption(bytes), spi.ErrState); err != nil {
			return err
		}
	}
	all, err := s.states(ctx)
	if err != nil {
		return err
	}
	for what, state := range all {
		for _, n := range cuts(len(state)) {
			cut := fmt.Sprintf("the state of %s, cut to %d of %d bytes", what, n, len(state))
			if err := s.wantNotResumed(ctx, cut, s.resumption(state[:n:n]), spi.ErrState); err != nil {
				return err
			}
		}
		for _, c := range []struct {
			what  string
			bytes []byte
		}{
			{"and a byte", append(slices.Clone(state), 0)}, {"twice", slices.Concat(state, state)}, {"after a byte", append([]byte{0}, state...)},
			{"without its first byte", state[1:]}, {"without its middle", slices.Concat(state[:len(state)/2], state[len(state)/2+1:])},
		} {
			if err := s.wantNotResumed(ctx, fmt.Sprintf("the state of %s %s", what, c.what), s.resumption(c.bytes), spi.ErrState); err != nil {
				return err
			}
		}
		if _, err := s.resume(ctx, state); err != nil { // and the whole is one
			return err
		}
	}
	return s.healthy(ctx)
}

func changedState(ctx context.Context, s *subject) error {
	resumer, err := s.resumer()
	if err != nil {
		return err
	}
	all, err := s.states(ctx)
	if err != nil {
		return err
	}
	for what, state := range all {
		other := slices.Clone(state)
		for i := range min(64, len(other)) {
			other[i] ^= 0xff
		}
		if err := s.wantNotResumed(ctx, "the state of "+what+" with another beginning", s.resumption(other), spi.ErrState); err != nil {
			return err
		}
		// The rest may say anything: whoever resumes it has authenticated it.
		for n := 0; n < len(state); n += 1 + n/60 {
			for _, mask := range []byte{0x01, 0x80, 0xff} {
				changed := slices.Clone(state)
				changed[n] ^= mask
				iso, err := resumer.Resume(ctx, s.resumption(changed))
				switch {
				case err != nil:
					// A state may also say that it needs more memory than there is.
					err = wantOneOf(fmt.Sprintf("Resume of the state of %s with byte %d changed", what, n), err, spi.ErrState, spi.ErrUnsupported)
				case iso == nil:
					err = errors.New("Resume returned no isolate and no error")
				default:
					err = iso.Close()
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return s.healthy(ctx)
}

func stateIsTheCallers(ctx context.Context, s *subject) error {
	iso, state, err := s.stateOf(ctx, "globalThis.text = 'kept'.repeat(30000); globalThis.n = 5; n")
	if err != nil {
		return err
	}
	same := slices.Clone(state)
	given := slices.Clone(state)
	r := s.resumption(given)
	sameLimits, seed := r.Limits, uint64(9)
	r.Seed = &seed
	resumer, err := s.resumer()
	if err != nil {
		return err
	}
	resumed, err := resumer.Resume(ctx, r)
	if err != nil {
		return fmt.Errorf("Resume: %w", err)
	}
	s.closeLater(resumed)
	if !bytes.Equal(given, same) || r.Limits != sameLimits || seed != 9 || !r.Now.IsZero() {
		return errors.New("Resume changed what it was given")
	}
	clear(given)
	r.Limits, seed = spi.Limits{}, 0
	clear(state)
	const whole = "[text === 'kept'.repeat(30000), n++]"
	for i, steps := range []struct {
		iso  spi.Isolate
		want string
	}{{resumed, "[true,5]"}, {iso, "[true,5]"}, {resumed, "[true,6]"}, {iso, "[true,6]"}} {
		out, err := s.evalIn(ctx, steps.iso, whole, "")
		if err == nil {
			err = wantValue(out, steps.want)
		}
		if err != nil {
			return fmt.Errorf("eval %d, after the caller changed a state that it has: %w", i+1, err)
		}
	}
	// Nor does what goes on change a state.
	again, err := suspend(ctx, resumed)
	if err != nil {
		return err
	}
	copied := slices.Clone(again)
	for range 2 {
		if _, err := s.evalIn(ctx, resumed, "text = 'other'.repeat(30000); n = 0", ""); err != nil {
			return err
		}
		if _, err := suspend(ctx, resumed); err != nil {
			return err
		}
	}
	if err := resumed.Close(); err != nil {
		return err
	}
	if !bytes.Equal(again, copied) {
		return errors.New("a state changed as its isolate went on")
	}
	return nil
}
