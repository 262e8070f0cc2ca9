package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/loom-sandbox/sandboxd/spi"
)

// preparer is the backend as one that prepares.
func (s *subject) preparer() (spi.Preparer, error) {
	p, ok := s.backend.(spi.Preparer)
	if !ok {
		return nil, errors.New("the descriptor says that the backend prepares, and it is no spi.Preparer")
	}
	return p, nil
}

// prepare prepares a script within roomy limits; it is closed at the check's end.
func (s *subject) prepare(ctx context.Context, source string, changes ...func(*spi.Config)) (spi.Prepared, error) {
	preparer, err := s.preparer()
	if err != nil {
		return nil, err
	}
	limits := s.config(append([]func(*spi.Config){s.withLeisure()}, changes...)...).Limits
	p, err := preparer.Prepare(ctx, &limits, source, spi.JavaScript)
	switch {
	case err != nil:
		return nil, fmt.Errorf("Prepare of %s: %w", clip(source), err)
	case p == nil:
		return nil, fmt.Errorf("Prepare of %s returned nothing and no error", clip(source))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, p)
	return p, nil
}

// openFrom opens an isolate of a prepared script that the caller closes.
func (s *subject) openFrom(ctx context.Context, p spi.Prepared, changes ...func(*spi.Config)) (spi.Isolate, error) {
	return opened(p.Open(ctx, s.config(changes...)))
}

// from opens isolates of a prepared script; they are closed at the check's end.
func (s *subject) from(p spi.Prepared) opener {
	return func(ctx context.Context, changes ...func(*spi.Config)) (spi.Isolate, error) {
		iso, err := s.openFrom(ctx, p, changes...)
		if err != nil {
			return nil, err
		}
		s.closeLater(iso)
		return iso, nil
	}
}

// evalFrom runs a prepared script in an isolate of its own, which is closed
// before it returns.
func (s *subject) evalFrom(ctx context.Context, p spi.Prepared, source, input string, changes ...func(*spi.Config)) (*spi.Outcome, error) {
	iso, err := s.openFrom(ctx, p, changes...)
	if err != nil {
		return nil, err
	}
	return s.evalOnce(ctx, iso, source, input)
}

// asPlain demands that the outcome of a prepared script is the one that it has
// when it is not prepared.
func (s *subject) asPlain(plain, out *spi.Outcome) error {
	if err := s.sameButStack(plain, out); err != nil {
		return fmt.Errorf("prepared, it is another outcome: %w", err)
	}
	return nil
}

// sameButStack is same, and where no image is declared, a stack may differ.
func (s *subject) sameButStack(plain, out *spi.Outcome) error {
	if !NeedImage.declaredBy(&s.descriptor) && plain.Error != nil && out.Error != nil {
		a, b, likePlain := *plain.Error, *out.Error, *out
		b.Stack = a.Stack
		likePlain.Error = &b
		out = &likePlain
	}
	return s.same(plain, out)
}

// bothWays evaluates a script as it is and prepared, under the same
// configuration, and demands the same.
func (s *subject) bothWays(ctx context.Context, p spi.Prepared, source, input string, changes ...func(*spi.Config)) (plain *spi.Outcome, err error) {
	plain, err = s.eval(ctx, source, input, changes...)
	if err != nil {
		return nil, err
	}
	out, err := s.evalFrom(ctx, p, source, input, changes...)
	if err != nil {
		return nil, fmt.Errorf("prepared: %w", err)
	}
	return plain, s.asPlain(plain, out)
}

// wantNotPrepared demands that a script cannot be prepared.
func (s *subject) wantNotPrepared(ctx context.Context, source string, changes ...func(*spi.Config)) error {
	_, err := s.prepare(ctx, source, changes...)
	if err == nil {
		return fmt.Errorf("%s was prepared, wanted %w", clip(source), spi.ErrNotPrepared)
	}
	return wantOneOf("Prepare", err, spi.ErrNotPrepared)
}
